"""NumPy's linear algebra starts no threads: they would spin after each product, on cores that the stages need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = """
import {first}
import os
import numpy as np
np.ones((300, 300), np.float32) @ np.ones((300, 300), np.float32)
print(len(os.listdir("/proc/self/task")))
"""


def threads(first: str) -> int:
    """Threads of a process that has multiplied two matrices, having imported `first` before NumPy."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", COUNT.format(first=first)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment,
    )
    return int(done.stdout)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_one_thread_multiplies() -> None:
    assert threads("edgevoice") == 1
