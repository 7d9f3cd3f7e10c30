"""A stretch of sound on the monotonic clock: written by one thread, read at any time by another."""

from __future__ import annotations

import threading

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples


class Timeline:
    """The last `seconds` of a 16 kHz signal, addressed by monotonic time; silence where nothing was written.

    Writers stamp blocks with clock readings, which jitter by some milliseconds although the samples follow each other
    without a gap. A block whose stamp lies within `jitter_s` of the end of the one before is therefore joined to it.
    Thread-safe. Memory is fixed: what is older than `seconds` is overwritten.
    """

    def __init__(self, seconds: float = 4.0, jitter_s: float = 0.03) -> None:
        self._ring: Samples = np.zeros(round(seconds * SAMPLE_RATE), dtype=np.float32)
        self._jitter = round(jitter_s * SAMPLE_RATE)
        self._lock = threading.Lock()
        self._end = 0
        """Sample number (time x 16000) after the last sample written."""
        self._written = False

    @property
    def end(self) -> float:
        """Time in seconds after the last sample written; -inf before the first."""
        with self._lock:
            return self._end / SAMPLE_RATE if self._written else float("-inf")

    def write(self, samples: Samples, start: float) -> None:
        """Put `samples` at `start` seconds, the time of their first sample; what lies there later is replaced."""
        if len(samples) == 0:
            return
        with self._lock:
            first = round(start * SAMPLE_RATE)
            if self._written and abs(first - self._end) <= self._jitter:
                first = self._end
            self._clear_gap(first)
            tail = samples[-len(self._ring) :]
            places = (first + len(samples) - len(tail) + np.arange(len(tail))) % len(self._ring)
            self._ring[places] = tail
            self._end = first + len(samples)
            self._written = True

    def add(self, samples: Samples, start: float) -> None:
        """Mix `samples` into what lies at `start` seconds. Raises ValueError when they are longer than the timeline."""
        if len(samples) > len(self._ring):
            raise ValueError(f"{len(samples)} samples do not fit a timeline of {len(self._ring)}")
        with self._lock:
            first = round(start * SAMPLE_RATE)
            self._clear_gap(max(first + len(samples), self._end))
            places = (first + np.arange(len(samples))) % len(self._ring)
            fresh = first + np.arange(len(samples)) >= self._end - len(self._ring)
            self._ring[places[fresh]] += samples[fresh]
            self._end = max(self._end, first + len(samples))
            self._written = True

    def read(self, start: float, count: int) -> Samples:
        """`count` samples from `start` seconds on; zeros for what was never written or is too old."""
        return self.read_at(round(start * SAMPLE_RATE), count)

    def read_at(self, first: int, count: int) -> Samples:
        """Like `read`, with the first sample's number instead of its time."""
        result = np.zeros(count, dtype=np.float32)
        with self._lock:
            if not self._written:
                return result
            low = max(first, self._end - len(self._ring))
            high = min(first + count, self._end)
            if high > low:
                result[low - first : high - first] = self._ring[np.arange(low, high) % len(self._ring)]
        return result

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._ring[:] = 0.0
            self._end, self._written = 0, False

    def _clear_gap(self, until: int) -> None:
        """Silence from the end to sample `until`: the ring still holds sound of one turn ago there."""
        if not self._written:
            self._end = until
            return
        gap = min(until - self._end, len(self._ring))
        if gap > 0:
            self._ring[np.arange(until - gap, until) % len(self._ring)] = 0.0
