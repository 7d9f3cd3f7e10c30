"""Real-time factor: compute time divided by the length of the sound it was spent on."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

LEAST_S = 1.0
"""Seconds of sound below which there is no figure: a first moment is always slow."""


class RtfMeter:
    """RTF over the last `window_s` seconds of *sound* (not of time: a stage that rests keeps its last figure).

    Any thread may call `add`; any thread may read `value`.
    """

    def __init__(self, name: str, window_s: float = 10.0, most: int = 2000) -> None:
        self.name, self.window_s = name, window_s
        self.added = 0
        """How often work was counted: unchanged means that the stage has rested."""
        self._spent: deque[tuple[float, float]] = deque(maxlen=most)
        self._lock = threading.Lock()

    def add(self, compute_s: float, audio_s: float) -> None:
        """Count `compute_s` seconds of work on `audio_s` seconds of sound."""
        with self._lock:
            self.added += 1
            self._spent.append((compute_s, audio_s))
            held = sum(audio for _, audio in self._spent)
            while len(self._spent) > 1 and held - self._spent[0][1] >= self.window_s:
                held -= self._spent.popleft()[1]

    @contextmanager
    def measure(self, audio_s: float) -> Iterator[None]:
        """Count the time spent inside the `with` block."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.add(time.monotonic() - began, audio_s)

    @property
    def value(self) -> float | None:
        """The RTF, or None before a second of sound was worked on."""
        with self._lock:
            compute = sum(c for c, _ in self._spent)
            audio = sum(a for _, a in self._spent)
        return compute / audio if audio >= LEAST_S else None

    def reset(self) -> None:
        """Forget all, e.g. because the level of quality changed."""
        with self._lock:
            self._spent.clear()
