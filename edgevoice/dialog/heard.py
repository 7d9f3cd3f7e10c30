"""What the user really heard: maps played samples back to the words of the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from edgevoice.tts.synthesizer import SpokenWord, merged

CHARACTERS_PER_S = 15.0
"""How fast a voice speaks, about: as long as a clause is being made and the voice tells no word times."""

_WORD = re.compile(r"\s*\S+")


class _Timed(NamedTuple):
    """A word of the answer, as it stands in the history, with the samples of the clause that say it."""

    text: str
    start: float
    end: float


@dataclass
class _SpokenClause:
    text: str
    start: int
    words: tuple[SpokenWord, ...]
    samples: int = 0
    complete: bool = False
    """All of its sound is among `samples`."""
    told: int = 0
    """Words that were announced."""

    def timed(self, rate: int) -> list[_Timed]:
        """Its words, those that are not made yet included."""
        texts = _WORD.findall(self.text)
        if self.words:
            # The history text and the spoken text differ in numbers and the like: words are matched by their share.
            spoken, count = self.words, len(texts)
            firsts = [min(i * len(spoken) // count, len(spoken) - 1) for i in range(count)]
            lasts = [max(first, (i + 1) * len(spoken) // count - 1) for i, first in enumerate(firsts)]
            return [
                _Timed(text, spoken[first].start_sample, spoken[last].end_sample)
                for text, first, last in zip(texts, firsts, lasts, strict=True)
            ]
        length = self.samples if self.complete else max(self.samples, len(self.text) / CHARACTERS_PER_S * rate)
        share, at, found = length / max(len(self.text.rstrip()), 1), 0, []
        for text in texts:
            found.append(_Timed(text, at * share, (at + len(text)) * share))
            at += len(text)
        return found


@dataclass
class HeardTracker:
    """The sound of one answer as it is handed to the speaker, in samples at the voice's rate."""

    _clauses: list[_SpokenClause] = field(default_factory=list)
    _total: int = 0
    _rate: int = 0

    def begin_clause(self, text: str, words: tuple[SpokenWord, ...] = ()) -> None:
        """A new clause starts where the last one ended. `text` as it stands in the history."""
        self._clauses.append(_SpokenClause(text, self._total, words))

    def update_words(self, words: tuple[SpokenWord, ...]) -> None:
        """Better or further word times of the current clause."""
        if self._clauses and words:
            self._clauses[-1].words = merged(*self._clauses[-1].words, *words)

    def add_samples(self, count: int, rate: int = 0) -> None:
        """`count` more samples of the current clause, at `rate` Hz, were handed to the speaker."""
        self._total += count
        self._rate = rate or self._rate
        if self._clauses:
            self._clauses[-1].samples += count

    def end_clause(self) -> None:
        """All sound of the current clause was handed to the speaker."""
        if self._clauses:
            self._clauses[-1].complete = True

    def untold(self) -> list[tuple[str, float, float]]:
        """(text, start, end) in seconds of each word whose sound has begun to be handed over since the last call."""
        fresh = []
        for clause in self._clauses:
            for word in clause.timed(self._rate)[clause.told :] if self._rate else ():
                if word.start >= clause.samples and not clause.complete:
                    break
                clause.told += 1
                fresh.append(
                    (
                        word.text.strip(),
                        (clause.start + word.start) / self._rate,
                        (clause.start + word.end) / self._rate,
                    )
                )
        return fresh

    @property
    def full_text(self) -> str:
        """The whole answer handed over so far."""
        return "".join(clause.text for clause in self._clauses).strip()

    def text_at(self, played: int) -> str:
        """The text whose sound was audible after `played` samples; a word counts once half of it was heard."""
        heard = []
        for clause in self._clauses:
            inside = played - clause.start
            if inside <= 0:
                break
            if clause.complete and inside >= clause.samples:
                heard.append(clause.text)
            else:
                heard += [word.text for word in clause.timed(self._rate) if inside >= (word.start + word.end) / 2]
        return "".join(heard).strip()
