"""What became of the recordings that a benchmark said: figures of those that were answered tell nothing of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from edgevoice.dialog.ledger import TurnRecord

NOTHING = ("no_input", "no_words")
"""Events of a segment in which the recogniser found no words."""


@dataclass(frozen=True)
class Outcomes:
    """`asked` is `answered` + `wordless` + `failed`."""

    asked: int = 0
    """Recordings that were said; one said twice counts twice."""
    answered: int = 0
    """Those after which an answer was heard that was no apology."""
    wordless: int = 0
    """Those of which the recogniser never found any words, so that there was nothing to answer."""
    apologies: int = 0
    """Answers that were a fixed sentence because another could not be made (too late, too slow a machine, an error)."""
    events: Counter[str] = field(default_factory=Counter)
    """How often each small thing happened (`no_words`, `answer_failed` …)."""

    @property
    def failed(self) -> int:
        """Recordings that held words and got an apology, no sound, or no turn at all."""
        return self.asked - self.wordless - self.answered

    def __add__(self, other: Outcomes) -> Outcomes:
        return Outcomes(
            self.asked + other.asked,
            self.answered + other.answered,
            self.wordless + other.wordless,
            self.apologies + other.apologies,
            self.events + other.events,
        )

    def as_json(self) -> dict[str, int | dict[str, int]]:
        """Flat figures and the events."""
        figures = {name: getattr(self, name) for name in ("asked", "answered", "wordless", "failed", "apologies")}
        return {**figures, "events": dict(self.events)}


def apology(turn: TurnRecord) -> bool:
    """Whether the answer was a fixed sentence because another could not be made."""
    return "failed" in turn.facts or "reduced" in turn.facts


def outcomes(asked: int, turns: Sequence[TurnRecord], events: Sequence[str], different: int = 0) -> Outcomes:
    """Count them. `different`: recordings that were said round and round, where that are fewer than `asked`.

    One that held words in any round holds them in every round.
    """
    different = different or asked
    answered = {turn.facts["recording"] for turn in turns if turn.reply and not apology(turn)}
    with_words = {int(turn.facts["recording"]) % different for turn in turns}
    without = sum(number % different not in with_words for number in range(asked))
    wordless = min(without, sum(event in NOTHING for event in events))
    return Outcomes(asked, len(answered), wordless, sum(map(apology, turns)), Counter(events))
