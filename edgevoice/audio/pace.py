"""Does the voice come fast enough? Estimated from the arrival of its chunks."""

from __future__ import annotations

SLOW_BELOW = 1.05
"""Seconds of sound per second below which the voice counts as slower than real time."""
FAST_ABOVE = 1.2
"""Seconds of sound per second above which it counts as fast again."""
MIN_SECONDS = 0.1
"""Seconds of sound before a clause is judged."""


class VoicePace:
    """Judges each clause by the sound that arrived after its first chunk (the first one carries the start-up cost)."""

    def __init__(self) -> None:
        self.slow = False
        """True while the voice is slower than real time: no word is begun then before all of it is here."""
        self._clause: tuple[int, int] | None = None
        self._since = 0.0
        self._seconds = 0.0

    def arrived(self, generation: int, clause: int, seconds: float, now: float) -> None:
        """A chunk of `seconds` of sound arrived at `now`."""
        if (generation, clause) != self._clause:
            self._clause, self._since, self._seconds = (generation, clause), now, 0.0
            return
        self._seconds += seconds
        if self._seconds < MIN_SECONDS:
            return
        speed = self._seconds / max(now - self._since, 1e-6)
        if speed < SLOW_BELOW:
            self.slow = True
        elif speed > FAST_ABOVE:
            self.slow = False
