"""Adding dictated codes to a finished language model."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

pytest.importorskip("wordsegment", reason="needs the extra `train`")

from scripts.asr import language_model
from scripts.asr.backoff import START, BackoffModel, read_arpa

BASE = """\\data\\
ngram 1=8
ngram 2=2

\\1-grams:
-99\t<s>\t-0.3
-0.8\t</s>
-0.5\tto\t-0.3
-0.6\tlight
-0.9\tturn\t-0.3
-1.5\ttwo
-1.5\tfive
-2.0\tb

\\2-grams:
-0.2\t<s> turn
-0.4\tturn to

\\end\\
"""


def probability(model: BackoffModel, *words: str) -> float:
    sentence = (START, *words)
    return math.exp(sum(model.score(sentence[max(0, i - 2) : i + 1]) for i in range(1, len(sentence))))


def test_dictated_digits_become_likelier_and_the_rest_keeps_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, out = tmp_path / "base.arpa", tmp_path / "with_codes.arpa.gz"
    base.write_text(BASE)
    monkeypatch.setattr(
        sys, "argv", ["language_model", str(out), "--base", str(base), "--codes", "0.1", "--threshold", "1e-12"]
    )
    language_model.main()
    before, after = read_arpa(base), read_arpa(out)
    assert {n for n in after.logp if len(n) == 1} == {n for n in before.logp if len(n) == 1}, "no new words"
    assert probability(after, "five", "two") > 3 * probability(before, "five", "two")
    assert probability(after, "turn", "to") == pytest.approx(0.9 * probability(before, "turn", "to"), rel=0.15)


def test_neither_a_model_nor_texts_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["language_model", "out.arpa", "--text", "a.txt"])
    with pytest.raises(SystemExit):
        language_model.main()
