"""Each level of the governor really changes what is done: the same question on every level, with the real models."""

from __future__ import annotations

import pytest

from edgevoice.assistant import Assistant
from edgevoice.dialog.ledger import TurnRecord
from edgevoice.llm.phrases import phrase
from edgevoice.replayer import replay
from edgevoice.runtime.ladder import Quality, ladder
from tests.conftest import DATA
from tests.e2e.conftest import patient

SETTINGS = patient(dialog={"history_pairs": 0})


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[TurnRecord, list[str]]]:
    """Level -> its turn, and the clauses that were spoken."""
    levels = list(ladder(SETTINGS))
    found: dict[str, tuple[TurnRecord, list[str]]] = {}
    clauses: list[str] = []
    assistants: list[Assistant] = []
    waiting: list[Quality] = list(levels)

    def loaded(assistant: Assistant) -> None:
        assistants.append(assistant)
        begin_clause = assistant.mouth.begin_clause
        assistant.mouth.begin_clause = lambda g, text: (clauses.append(text), begin_clause(g, text))[1]  # type: ignore[method-assign]
        assistant.apply(levels[0])

    def finished(record: TurnRecord) -> None:
        found[waiting.pop(0).name] = record, [*clauses]
        clauses.clear()
        if waiting:
            assistants[0].apply(waiting[0])

    replay(SETTINGS, [DATA / "question.flac"] * len(levels), pace="fast", on_turn=finished, on_loaded=loaded)
    return found


@pytest.mark.timeout(300)
def test_second_pass_on_the_top_level_only(answers: dict[str, tuple[TurnRecord, list[str]]]) -> None:
    assert set(answers) == {"full", "brisk", "lean", "bare"}
    assert answers["full"][0].transcript != answers["full"][0].first_pass, "the second pass writes capitals and marks"
    for level in ("brisk", "lean", "bare"):
        assert answers[level][0].transcript == answers[level][0].first_pass


def test_answers_get_shorter_and_at_last_are_a_fixed_sentence(
    answers: dict[str, tuple[TurnRecord, list[str]]],
) -> None:
    for quality in ladder(SETTINGS)[:-1]:
        record, _ = answers[quality.name]
        assert 0 < int(record.facts["tokens"]) <= quality.llm_max_tokens
    bare, clauses = answers["bare"]
    assert bare.facts.get("reduced") and "tokens" not in bare.facts and bare.facts["cached"]
    assert "".join(clauses).strip() == phrase("reduced", "en")


def test_answers_are_begun_early_as_long_as_the_model_answers(
    answers: dict[str, tuple[TurnRecord, list[str]]],
) -> None:
    for level in ("full", "brisk", "lean"):
        assert answers[level][0].facts.get("speculative"), level
    assert "speculative" not in answers["bare"][0].facts
