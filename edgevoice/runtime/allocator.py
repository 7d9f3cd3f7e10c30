"""Two requests to glibc's allocator; where there is another one they do nothing."""

from __future__ import annotations

import ctypes
from typing import Any

_M_ARENA_MAX = -8
"""From glibc's malloc.h."""
ARENAS = 2


def limit_arenas() -> None:
    """Few arenas for all threads; to be called before there are any.

    Each thread would get its own otherwise, and keep in it whatever its largest turn ever needed.
    """
    if mallopt := _glibc("mallopt"):
        mallopt(_M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """Return free memory to the system; takes some milliseconds."""
    if malloc_trim := _glibc("malloc_trim"):
        malloc_trim(ctypes.c_size_t(0))


def _glibc(name: str) -> Any:
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):  # no dynamic loader, or Windows
        return None
