"""The generate stage's rules, with a generator whose work is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from edgevoice.dialog.ledger import TurnLedger
from edgevoice.llm.generator import Cancelled, Exchange, PromptUse, Token
from edgevoice.llm.stage import GenerateStage
from edgevoice.messages import AnswerFailed, AnswerText, Ask
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.settings import LlmSettings


class ThreeTokens:
    """Writes three tokens (or others) and notes the threads each was made with."""

    name = "three"

    def __init__(self, *texts: str) -> None:
        self.texts = texts or ("It", " is", " noon.")
        self.threads = 0
        self.used: list[int] = []

    def set_threads(self, threads: int) -> None:
        self.threads = threads

    def prefill(self, history: Sequence[Exchange], words: str, cancelled: Cancelled) -> PromptUse:
        self.used.append(self.threads)
        return self.last_use()

    def generate(
        self, history: Sequence[Exchange], words: str, cancelled: Cancelled, max_tokens: int
    ) -> Iterator[Token]:
        for index, text in enumerate(self.texts):
            self.used.append(self.threads)
            yield Token(text, index)

    def completeness(self) -> float:
        return 1.0

    def last_use(self) -> PromptUse:
        return PromptUse(0, 0, 0)


def test_every_evaluation_uses_the_cores_that_are_free_just_then() -> None:
    ledger, generator = TurnLedger(), ThreeTokens()
    tokens: BoundedQueue[AnswerText] = BoundedQueue("tokens", 16, Overflow.BLOCK)
    stage = GenerateStage(
        BoundedQueue("requests", 4, Overflow.REPLACE), tokens, generator, ledger, print, LlmSettings()
    )  # type: ignore[arg-type]
    free = iter([1, 1, 2, 1])
    stage.threads = lambda: next(free, 2)
    stage.work(Ask(ledger.new_attempt(1), 1, "what time is it", ()))
    assert generator.used == [1, 1, 1, 2]


@pytest.mark.parametrize("texts", [("",), ("", " \n")])
def test_an_answer_without_a_word_is_a_failure(texts: tuple[str, ...]) -> None:
    ledger, failures = TurnLedger(), list[AnswerFailed]()
    tokens: BoundedQueue[AnswerText] = BoundedQueue("tokens", 16, Overflow.BLOCK)
    stage = GenerateStage(
        BoundedQueue("requests", 4, Overflow.REPLACE),
        tokens,
        ThreeTokens(*texts),  # type: ignore[arg-type]
        ledger,
        failures.append,
        LlmSettings(),
    )
    stage.work(Ask(ledger.new_attempt(1), 1, "what time is it", ()))
    assert [failure.reason for failure in failures] == ["no answer"]
    while len(tokens):
        assert not tokens.get(0.1).last  # type: ignore[union-attr]
