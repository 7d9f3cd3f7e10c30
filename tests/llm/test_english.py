"""The English version of the language model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgevoice.llm import english
from edgevoice.llm.engine import Engine
from edgevoice.models.store import find

SENTENCES = (
    "What is the capital of France?",
    "User: How do I boil an egg?\nAssistant: Boil one egg in two cups of water for fifteen minutes.",
    "It is 9:30 a.m. on Tuesday, the 3rd of May 1987; that costs $12.50 — about 10 € now.",
    "J. R. R. Tolkien's café isn't here (yet)!",
    "Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich. 你好",
)


@pytest.fixture(scope="module")
def models() -> tuple[Engine, Engine]:
    whole = find("gemma3-270m", "llm")
    engines = []
    for path in (whole, english.english_model(whole)):
        engine = Engine(path, 256, 1)
        engine.load()
        engines.append(engine)
    return engines[0], engines[1]


def test_it_is_made_once_and_much_smaller() -> None:
    whole = find("gemma3-270m", "llm")
    small = english.english_model(whole)
    assert small != whole and small.stat().st_size < 0.55 * whole.stat().st_size
    made = small.stat().st_mtime_ns
    assert english.english_model(whole) == small and small.stat().st_mtime_ns == made


def test_the_list_is_ascending_and_holds_the_bytes() -> None:
    kept = english.english_tokens()
    assert (np.diff(kept.astype(np.int64)) > 0).all() and kept[-1] < english.GEMMA_3_TOKENS


@pytest.mark.parametrize("text", SENTENCES)
def test_every_text_is_still_written_exactly(models: tuple[Engine, Engine], text: str) -> None:
    small = models[1]
    tokens = small.tokenize(text)
    assert b"".join(small.piece(t) for t in tokens).decode() == text


@pytest.mark.parametrize("text", SENTENCES[:3])
def test_english_is_cut_into_the_same_pieces(models: tuple[Engine, Engine], text: str) -> None:
    pieces = [[engine.piece(t) for t in engine.tokenize(text)] for engine in models]
    assert pieces[0] == pieces[1]


def test_the_scores_of_the_tokens_that_stay_are_the_same(models: tuple[Engine, Engine]) -> None:
    rows = []
    for engine in models:
        tokens = engine.tokenize(SENTENCES[0], start=True)
        engine.evaluate(tokens, lambda: False)
        row = engine.scores(len(tokens) - 1)
        assert row is not None
        rows.append(np.array(row))
    assert np.allclose(rows[0][english.english_tokens()], rows[1], atol=0.15)


def test_a_damaged_version_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = find("gemma3-270m", "llm")
    monkeypatch.setattr(english, "cache_dir", lambda: tmp_path)
    made: list[Path] = []
    monkeypatch.setattr(
        english, "_trim", lambda source, target: made.append(target) or target.write_bytes(b"ok") or True
    )
    (tmp_path / "models").mkdir()
    target = english.english_model(whole)
    english.english_model(whole)
    assert len(made) == 1
    target.write_bytes(b"damaged")
    english.english_model(whole)
    assert len(made) == 2
