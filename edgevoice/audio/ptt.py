"""Push-to-talk: the microphone counts only while a key is held. Key, GPIO pin and SIGUSR1 all end in the same state."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class PushToTalk:
    """Whether the user holds the talk key. Thread-safe and safe to call from a signal handler; no thread of its own.

    GPIO: give `press` and `release` as callbacks to whatever watches the pin. A key that is stuck lets go by itself
    after `longest_s` seconds.
    """

    def __init__(self, longest_s: float = 30.0, now: Callable[[], float] = time.monotonic) -> None:
        self.longest_s = longest_s
        self._now = now
        self._since: float | None = None

    @property
    def held(self) -> bool:
        """True while the key is held."""
        since = self._since
        return since is not None and self._now() - since < self.longest_s

    def press(self) -> None:
        """The key went down; again while it is held changes nothing."""
        if not self.held:
            self._since = self._now()

    def release(self) -> None:
        """The key went up."""
        self._since = None

    def toggle(self) -> None:
        """One press to begin, one to end: for a signal or a terminal, which know no release."""
        if self.held:
            self.release()
        else:
            self.press()


@contextmanager
def terminal_key(ptt: PushToTalk | None, deadline_s: float = 2.0) -> Iterator[None]:
    """While the block runs, the space bar toggles `ptt`, if there is one and a terminal to type at."""
    stopping = threading.Event()
    watcher: threading.Thread | None = None
    if ptt is not None and sys.stdin.isatty():
        watcher = threading.Thread(target=watch_terminal, args=(ptt, stopping), name="talk-key", daemon=True)
        watcher.start()
    try:
        yield
    finally:
        stopping.set()
        if watcher is not None:
            watcher.join(deadline_s)


def watch_terminal(ptt: PushToTalk, stopping: threading.Event, key: str = " ") -> None:
    """Toggle whenever `key` is typed, until `stopping`. Returns at once when standard input is no terminal.

    Runs in the caller's (named) thread; the terminal's mode is restored at the end.
    """
    if not sys.stdin.isatty():
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        while not stopping.is_set():
            ready, _, _ = select.select([descriptor], [], [], 0.2)
            # Not through sys.stdin, which would keep to itself whatever was typed beside this one.
            if ready and os.read(descriptor, 1) == key.encode():
                ptt.toggle()
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
