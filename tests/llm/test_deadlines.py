"""The deadline of the first token: one retry, then the conversation is told (and says a fixed sentence)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from edgevoice.dialog.ledger import TurnLedger
from edgevoice.llm.generator import Cancelled, Exchange, PromptUse, Token
from edgevoice.llm.stage import GenerateStage
from edgevoice.messages import AnswerFailed, AnswerText, Ask
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.settings import LlmSettings

DEADLINE_MS = 60


class Slow:
    """Is late with the first token as often as told; honours the cancel signal."""

    name = "slow"

    def __init__(self, late: int) -> None:
        self.late, self.prefilled, self.waited = late, 0, 0.0

    def prefill(self, history: Sequence[Exchange], words: str, cancelled: Cancelled) -> PromptUse:
        self.prefilled += 1
        began = time.monotonic()
        while self.prefilled <= self.late and not cancelled() and time.monotonic() - began < 5:
            time.sleep(0.002)
        self.waited += time.monotonic() - began
        return self.last_use()

    def generate(
        self, history: Sequence[Exchange], words: str, cancelled: Cancelled, max_tokens: int
    ) -> Iterator[Token]:
        yield Token("Noon.", 1)

    def completeness(self) -> float:
        return 1.0

    def last_use(self) -> PromptUse:
        return PromptUse(0, 0, 0)


def ask(late: int) -> tuple[Slow, list[AnswerFailed], BoundedQueue[AnswerText]]:
    ledger, generator, failures = TurnLedger(), Slow(late), []
    tokens: BoundedQueue[AnswerText] = BoundedQueue("tokens", 16, Overflow.BLOCK)
    stage = GenerateStage(
        BoundedQueue("requests", 4, Overflow.REPLACE),
        tokens,
        generator,  # type: ignore[arg-type]
        ledger,
        failures.append,
        LlmSettings(first_token_deadline_ms=DEADLINE_MS),
    )
    stage.work(Ask(ledger.new_attempt(1), 1, "what time is it", ()))
    return generator, failures, tokens


def test_in_time_asks_once() -> None:
    generator, failures, tokens = ask(late=0)
    assert generator.prefilled == 1 and not failures and len(tokens) == 2


def test_late_once_is_tried_again() -> None:
    generator, failures, tokens = ask(late=1)
    assert generator.prefilled == 2 and not failures
    first = tokens.get(0.1)
    assert first is not None and first.text == "Noon."


def test_e6_late_twice_is_given_up_and_told_once() -> None:
    generator, failures, tokens = ask(late=9)
    assert generator.prefilled == 2, "one retry, not more"
    assert [f.reason for f in failures] == ["first token too late"] and failures[0].stage == "generate"
    assert len(tokens) == 0
    # Not absolute speed: it cannot give up before two deadlines have passed.
    assert generator.waited >= 2 * DEADLINE_MS / 1000
