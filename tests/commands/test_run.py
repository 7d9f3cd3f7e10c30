"""The end of `edgevoice run` outside systemd when a thread hangs: the process ends all the same, with the right code."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading, time
from edgevoice.cli import main
from edgevoice.commands import run
from edgevoice.errors import DeviceError

class Service:
    def __init__(self, load): pass

    def run(self):
        if {hangs}:
            threading.Thread(target=time.sleep, args=(60,)).start()
        {end}

run.Service = Service
sys.exit(main(["run"]))
"""
REFUSED = 'raise DeviceError("microphone", "is gone", "plug it in")'


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize(
    ("end", "code", "says"),
    [
        ("return 0", 0, ""),
        ("return 70", 70, ""),
        (REFUSED, 69, "edgevoice: microphone: is gone — plug it in\n"),
    ],
)
def test_d7_a_hanging_thread_does_not_keep_the_process(hangs: bool, end: str, code: int, says: str) -> None:
    environment = {name: text for name, text in os.environ.items() if name not in ("NOTIFY_SOCKET", "SYSTEMD_EXEC_PID")}
    program = PROGRAM.format(hangs=hangs, end=end)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (code, says)


def test_a_defect_with_a_hanging_thread_shows_its_trace() -> None:
    program = PROGRAM.format(hangs=True, end='raise ValueError("oops")')
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 70 and "ValueError: oops" in done.stderr
