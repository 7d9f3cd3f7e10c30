"""The synthesise stage's rules, with a voice that fails when it is told to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgevoice.dialog.ledger import TurnLedger
from edgevoice.errors import UnavailableError
from edgevoice.messages import AnswerFailed, Clause
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.tts.stage import SynthesiseStage
from edgevoice.tts.synthesizer import Cancelled, PcmChunk


class BadVoice:
    """Cannot speak clauses that hold "bad"."""

    last_was_cached = False

    def speak(self, text: str, cancelled: Cancelled) -> Iterator[PcmChunk]:
        if "bad" in text:
            raise UnavailableError("the voice", "is gone", "look for it")
        yield PcmChunk(np.zeros(160, np.int16), 16_000)


class Outlet:
    """Remembers what was spoken."""

    def __init__(self) -> None:
        self.spoken: list[str] = []

    def begin_clause(self, generation: int, text: str) -> None:
        self.spoken.append(text)

    def play(self, generation: int, chunk: PcmChunk, timeout: float) -> bool:
        return True

    def end_clause(self, generation: int) -> None:
        self.spoken.append("|")

    def finish(self, generation: int) -> None:
        self.spoken.append("end")


def test_after_a_clause_that_could_not_be_spoken_nothing_more_of_its_answer_is() -> None:
    ledger, outlet = TurnLedger(), Outlet()
    failures: list[AnswerFailed] = []
    stage = SynthesiseStage(
        BoundedQueue("clauses", 8, Overflow.BLOCK),
        outlet,
        BadVoice(),  # type: ignore[arg-type]
        ledger,
        failures.append,
    )
    generation = ledger.new_attempt(1)
    for index, text in enumerate(("good", "bad", "bad again", "good again", "")):
        stage.work(Clause(generation, index, text, text, last=not text))
    assert outlet.spoken == ["good", "|"] and [f.generation for f in failures] == [generation]
    stage.work(Clause(ledger.new_attempt(1), 0, "sorry", "sorry", last=True))
    assert outlet.spoken[2:] == ["sorry", "|", "end"]
