"""The compose stage's rules."""

from __future__ import annotations

import pytest

from edgevoice.dialog.ledger import TurnLedger
from edgevoice.messages import AnswerFailed, AnswerText, Clause
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.tts.compose import ComposeStage


def composed(*texts: str) -> tuple[list[Clause], list[AnswerFailed]]:
    """What becomes of an answer that is written in these pieces."""
    ledger, failures = TurnLedger(), list[AnswerFailed]()
    clauses: BoundedQueue[Clause] = BoundedQueue("clauses", 16, Overflow.BLOCK)
    inbox: BoundedQueue[AnswerText] = BoundedQueue("tokens", 16, Overflow.BLOCK)
    stage, generation = ComposeStage(inbox, clauses, ledger, failures.append, 0.25, "en"), ledger.new_attempt(1)
    for number, text in enumerate(texts, 1):
        stage.work(AnswerText(generation, text, last=number == len(texts)))
    made = []
    while len(clauses):
        clause = clauses.get(0.1)
        assert clause is not None
        made.append(clause)
    return made, failures


def test_an_answer_becomes_clauses_and_an_end() -> None:
    clauses, failures = composed("It is", " noon. And", " it rains.", "")
    assert "".join(c.text for c in clauses) == "It is noon. And it rains."
    assert [c.last for c in clauses] == [False] * (len(clauses) - 1) + [True] and not failures


@pytest.mark.parametrize("texts", [("",), ("😀", ""), ("***", " \n", "..."), ("Привет",)])
def test_an_answer_that_no_voice_can_say_is_a_failure(texts: tuple[str, ...]) -> None:
    clauses, failures = composed(*texts)
    assert [failure.reason for failure in failures] == ["nothing to say"] and not any(c.last for c in clauses)
