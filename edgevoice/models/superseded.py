"""What no process needs any more: prepared forms that a newer one has replaced, and what killed processes left half-made."""

from __future__ import annotations

import contextlib
import logging
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger(__name__)

KEEP = 2
"""Prepared forms kept of each kind: the one in use, and the one before it for whoever goes back."""

ABANDONED_S = 3600.0
"""Seconds without a change after which what was being made is nobody's any more."""


def remove_abandoned(temporary: Iterable[Path]) -> None:
    """Delete those of the `temporary` files and folders that have not changed for an hour. Raises nothing."""
    for path in temporary:
        if not 0 < _changed(path) < time.time() - ABANDONED_S:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
        log.info("removed %s, which a process that was killed had left", path.name)


def remove_superseded(folders: Iterable[Path], in_use: Path, keep: int = KEEP) -> None:
    """Delete the oldest of `folders` until `keep` are left, `in_use` among them. Raises nothing.

    Another process may do the same at the same time. One that is half deleted counts as damaged and is made again.
    """
    others = sorted((folder for folder in folders if folder != in_use), key=_changed, reverse=True)
    for folder in others[keep - 1 :]:
        shutil.rmtree(folder, ignore_errors=True)
        log.info("removed %s, which %s has replaced", folder.name, in_use.name)


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
