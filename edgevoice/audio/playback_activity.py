"""When is the speaker's own sound in the room? Pure bookkeeping of intervals; no audio."""

from __future__ import annotations

import threading
from collections import deque


class PlaybackActivity:
    """The last intervals in which something audible was played.

    `hold_s`: seconds after the last audible sample during which it may still be heard or still be recognised: device
    latency + recogniser lag + room tail. Pauses shorter than the hold do not end an interval. Thread-safe, bounded.
    """

    EARLY_S = 0.05
    """Time stamps of the speaker may be this much too late."""

    def __init__(self, hold_s: float) -> None:
        self.hold_s = hold_s
        self._intervals: deque[tuple[float, float]] = deque(maxlen=32)
        self._lock = threading.Lock()

    def audible(self, start: float, end: float) -> None:
        """Something audible goes to the speaker from `start` to `end` seconds."""
        with self._lock:
            if self._intervals and start <= self._intervals[-1][1] + self.hold_s:
                first, last = self._intervals.pop()
                start, end = min(first, start), max(last, end)
            self._intervals.append((start, end))

    def cut(self, time: float) -> None:
        """Playback was cut off at `time`: what was announced after it is never heard."""
        with self._lock:
            kept = [(start, min(end, time)) for start, end in self._intervals if start < time]
            self._intervals.clear()
            self._intervals.extend(kept)

    def covers(self, start: float, end: float) -> bool:
        """True if own sound may be heard at any moment from `start` to `end`, the hold included."""
        with self._lock:
            return any(a - self.EARLY_S < end and start < b + self.hold_s for a, b in self._intervals)
