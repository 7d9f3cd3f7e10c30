"""Follow-up window: after an answer the user may go on without the wake word."""

from __future__ import annotations


class FollowUpWindow:
    """Open for `seconds` after an answer has ended, as long as nothing else happens. Times are monotonic seconds.

    Speech that begins inside the window counts whole, however long it lasts. 0 seconds: never open.
    """

    def __init__(self, seconds: float = 8.0) -> None:
        self.seconds = seconds
        self._until = float("-inf")

    def answer_started(self) -> None:
        """An answer is being spoken: the window opens when it has ended."""
        self._until = float("-inf")

    def answer_ended(self, now: float) -> None:
        """The answer's sound has left the device, or was cut off: who says "stop" may go on as well."""
        self._until = now + self.seconds

    def close(self) -> None:
        """The user has said that it is enough, or the microphone was muted."""
        self._until = float("-inf")

    def open_at(self, time: float) -> bool:
        """True if speech that begins at `time` needs no wake word."""
        return time < self._until
