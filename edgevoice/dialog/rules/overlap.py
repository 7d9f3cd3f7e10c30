"""What counts as an interruption: echo guard, back-channels and barge-in, in this order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from edgevoice.dialog.rules.backchannel import BackchannelFilter
from edgevoice.dialog.rules.barge_in import BargeInRule
from edgevoice.settings import DialogSettings


class WordGuard(Protocol):
    """Knows the assistant's own words: see `edgevoice.audio.echo_guard`."""

    def remove(self, text: str, end: float) -> str:
        """The user's share of `text`, heard until `end` (monotonic seconds)."""

    def strange(self, text: str, end: float) -> bool:
        """True if `text` holds a word that the assistant did not say."""


class OverlapRules:
    """Judges words that are heard while the assistant speaks. `now` gives monotonic seconds."""

    def __init__(
        self, settings: DialogSettings, guard: WordGuard | None, now: Callable[[], float], language: str = "en"
    ) -> None:
        self._guard, self._now = guard, now
        self.backchannels = BackchannelFilter(language, settings.backchannels)
        self.barge_in = BargeInRule(self.backchannels, settings.interrupt_words, language, settings.stop_words)

    def interrupts(
        self, text: str, final: bool, confidence: float = 0.0, first_pass: str = "", read: bool = True
    ) -> bool:
        """True if these words are meant to stop the answer.

        `confidence` in [0, 1] and `first_pass`, the first pass's words, of words that were `read` at a pause or at the end.
        """
        return self.barge_in.interrupts(self.own(text), final, confidence, first_pass, read)

    def pauses(self, text: str, phones: int = 0, heard_s: float = 0.0) -> bool:
        """True if the voice should fall silent until it is clear; `phones`: sounds of speech in the first `heard_s`."""
        own = self.own(text)
        if text and not own and self._guard and not self._guard.strange(text, self._now()):
            phones = 0  # all of it is what it says itself
        return self.barge_in.pauses(own, phones, heard_s)

    def own(self, text: str) -> str:
        """The user's share of the words: the segment's words are not timed, so all of them are taken to be recent."""
        return self._guard.remove(text, self._now()) if self._guard else text
