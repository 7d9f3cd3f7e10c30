from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FREED = """
import psutil
from edgevoice.runtime.allocator import give_back, limit_arenas
limit_arenas()
rss = lambda: psutil.Process().memory_info().rss
pieces = [bytes(50_000) for _ in range(2000)]
kept = pieces[-1]
full = rss()
del pieces
give_back()
print((full - rss()) / 1e6)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
def test_free_memory_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, timeout=60, check=True)
    assert float(done.stdout) > 50


def test_it_does_nothing_without_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    from edgevoice.runtime import allocator

    monkeypatch.setattr(allocator, "_glibc", lambda name: None)
    allocator.limit_arenas()
    allocator.give_back()
