"""The compose stage: turns the model's raw text into clauses that a voice can speak."""

from __future__ import annotations

import time
from collections.abc import Callable

from edgevoice.dialog.ledger import Point, TurnLedger
from edgevoice.messages import AnswerFailed, AnswerText, Clause
from edgevoice.runtime.queues import BoundedQueue
from edgevoice.runtime.stage import Stage
from edgevoice.tts.clauses import ClauseBuffer
from edgevoice.tts.normalize import for_speech
from edgevoice.tts.reading import spoken_clauses
from edgevoice.tts.sanitize import Sanitizer
from edgevoice.tts.speakable import speakable

FIRST_MIN = 1
"""Words before a comma that may be the first clause: "Yes," is heard while the rest is being written."""
LONG, HARD = 24, 64
"""Tokens after which a clause without any mark ends at a good border between two words, and at any."""


class ComposeStage(Stage[AnswerText]):
    """Sanitises, cuts into clauses and normalises for speech. `clauses` is its outbox; `on_failed` hears of answers that
    hold nothing a voice can say."""

    name = "compose"
    tick = 0.05

    def __init__(
        self,
        inbox: BoundedQueue[AnswerText],
        clauses: BoundedQueue[Clause],
        ledger: TurnLedger,
        on_failed: Callable[[AnswerFailed], None],
        flush_after_s: float,
        language: str,
    ) -> None:
        super().__init__(inbox)
        self._clauses, self._ledger, self._on_failed = clauses, ledger, on_failed
        self.long = LONG
        """Tokens from which a clause ends at any good border; the quality governor lowers it: heard sooner, less fluent."""
        self._new_buffer: Callable[[], ClauseBuffer] = lambda: ClauseBuffer(
            FIRST_MIN, self.long, max(HARD, self.long), idle_s=flush_after_s
        )
        self._language = language
        self._generation = -1
        self._start(-1)

    def turn_of(self, item: AnswerText) -> int:
        """The ledger knows whose attempt it is."""
        return self._ledger.turn_of(item.generation)

    def work(self, item: AnswerText) -> None:
        """Take the next piece of the answer."""
        if self._ledger.stale(item.generation):
            return
        if item.generation != self._generation:
            self._start(item.generation)
        ready = self._buffer.feed(self._sanitizer.feed(item.text), time.monotonic())
        if item.last:
            ready += self._buffer.feed(self._sanitizer.flush(), time.monotonic())
            ready += self._buffer.flush()
        self._send(ready, item.last)

    def idle(self) -> None:
        """Speak a waiting clause when the model has been silent for long."""
        if not self._ledger.stale(self._generation):
            self._send(self._buffer.tick(time.monotonic()), last=False)

    def _start(self, generation: int) -> None:
        self._generation, self._index, self._speakable = generation, 0, False
        self._buffer, self._sanitizer = self._new_buffer(), Sanitizer()

    def _send(self, texts: list[str], last: bool) -> None:
        for text in texts:
            spoken = for_speech(text, self._language)
            self._speakable = self._speakable or not speakable(spoken, self._language).empty
            self._put(Clause(self._generation, self._index, text, spoken))
        if last and not self._speakable:
            self._on_failed(AnswerFailed(self._generation, self.name, "nothing to say"))
        elif last:
            self._put(Clause(self._generation, self._index, "", "", last=True))

    def _put(self, clause: Clause) -> None:
        if clause.text:
            self._ledger.mark(clause.generation, Point.FIRST_CLAUSE)
        self._index += 1
        self.hand_on(self._clauses, clause, lambda: not (self.stopping or self._ledger.stale(clause.generation)))


def clauses_of(text: str, language: str) -> list[str]:
    """The spoken clauses of a text that is known as a whole, exactly as the stage would make them."""
    return list(spoken_clauses([text], language, FIRST_MIN))
