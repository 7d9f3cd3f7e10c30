"""Push-to-talk at a real (pseudo) terminal."""

from __future__ import annotations

import os
import pty
import sys
import threading

import pytest

from edgevoice.audio.ptt import PushToTalk, terminal_key
from tests.audio.sound import until


def test_the_space_bar_toggles_it_and_the_terminal_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    import termios

    keyboard, terminal = pty.openpty()
    ptt = PushToTalk()
    with os.fdopen(terminal, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        before = termios.tcgetattr(terminal)
        with terminal_key(ptt):
            assert until(lambda: termios.tcgetattr(terminal) != before, 5), "each key counts at once"
            os.write(keyboard, b"x ")
            assert until(lambda: ptt.held, 5)
            os.write(keyboard, b" ")
            assert until(lambda: not ptt.held, 5)
        assert termios.tcgetattr(terminal) == before
    os.close(keyboard)
    assert "talk-key" not in {thread.name for thread in threading.enumerate()}


def test_without_a_terminal_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with terminal_key(PushToTalk()):
            assert "talk-key" not in {thread.name for thread in threading.enumerate()}
