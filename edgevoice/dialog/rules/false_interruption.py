"""False interruption: the voice fell silent for something that turned out to be nothing; it goes on where it was."""

from __future__ import annotations


class FalseInterruptionRule:
    """Remembers what the voice fell silent for and says when it should go on (the player keeps the sample).

    `resume_after_s` seconds without new words are enough. What came to nothing does not silence the voice again in the
    same segment: that takes further words. Times are monotonic seconds; words are counted from the segment's beginning.
    """

    def __init__(self, resume_after_s: float = 2.0) -> None:
        self.resume_after_s = resume_after_s
        self.dismissed: int | None = None
        """Words of the segment that came to nothing; None: neither words nor sounds have come to nothing yet."""
        self._since: float | None = None
        self._words = 0

    @property
    def paused(self) -> bool:
        """True between `pause` and the end of the pause."""
        return self._since is not None

    def segment_started(self) -> None:
        """What is heard from now on is counted anew."""
        self.dismissed, self._words = None, 0

    def pause(self, now: float, words: int = 0) -> None:
        """The voice is to be silent, for so many words; new ones start the wait again."""
        if self._since is None or words > self._words:
            self._since = now
        self._words = max(words, self._words)

    def dismiss(self) -> None:
        """All that was heard has been read and is no reason to be silent: it goes on at once."""
        self.dismissed = self.dismissed or 0
        self._since = None

    def over(self) -> None:
        """The voice goes on, or its answer has ended."""
        self._since = None

    def interrupted(self) -> None:
        """It was an interruption after all: there is nothing to resume, and all of the segment counts."""
        self.dismissed = self._since = None

    def due(self, now: float) -> bool:
        """True exactly once, when the voice should go on from the same sample."""
        if self._since is None or now - self._since < self.resume_after_s:
            return False
        self._since, self.dismissed = None, self._words
        return True
