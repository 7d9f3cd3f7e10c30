"""When was this sample captured? Sample counts are steady but drift; clock readings are true but jitter."""

from __future__ import annotations

EARLY_GAIN = 0.5
"""How fast the estimate follows readings that are earlier than expected: nothing is delivered before its capture."""
PATIENCE = 25
"""Blocks that must all be late before the estimate follows: the least late of them was the least delayed."""
TOLERANCE_S = 0.002
"""Lateness that is left alone."""
GAP_S = 0.5
"""Seconds of disagreement from which the stream must have been interrupted, and the clock starts anew."""


class CaptureClock:
    """Smooths the capture times of a stream of blocks on the monotonic clock; `patience` as in PATIENCE."""

    def __init__(self, patience: int = PATIENCE) -> None:
        self._patience = patience
        self._end: float | None = None
        self._late = 0
        self._least_late = 0.0

    def reset(self) -> None:
        """The stream was opened anew."""
        self._end = None
        self._late = 0

    def block(self, seconds: float, measured_end: float) -> float:
        """Time after the last sample of the next block, which is `seconds` long and was measured to end then."""
        expected = measured_end if self._end is None else self._end + seconds
        error = measured_end - expected
        if abs(error) > GAP_S:
            expected, error = measured_end, 0.0
        if error <= TOLERANCE_S:
            self._late = 0
            self._end = expected + EARLY_GAIN * min(error, 0.0)
            return self._end
        self._least_late = min(self._least_late, error) if self._late else error
        self._late += 1
        self._end = expected
        if self._late >= self._patience:
            self._end, self._late = expected + self._least_late, 0
        return self._end
