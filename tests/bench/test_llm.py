"""`bench llm` on the real model, two questions long."""

from __future__ import annotations

import argparse

import pytest

from edgevoice.bench import llm
from edgevoice.llm.generator import PromptUse
from edgevoice.settings import LlmSettings, Settings


def test_every_figure_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(llm, "QUESTIONS", llm.QUESTIONS[:2])
    settings = Settings(llm=LlmSettings(context=512, max_tokens=6, threads=1, prefix_cache=False))
    result = llm.run(settings, argparse.Namespace(rounds=1, threads=[1]))
    row = result["threads"][0]
    assert row["threads"] == 1 and row["prefill_tokens_per_s"] > row["decode_tokens_per_s"] > 0
    assert result["reuse"] > 0.9 and result["prefix"]["tokens"] > 100
    assert 0 < result["ttft_prefilled"]["p50_ms"] < result["ttft"]["p50_ms"]
    assert 100 < result["model_mb"] < 900
    llm.show(result)
    assert "prefill tok/s" in capsys.readouterr().out


def test_a_model_that_gives_no_token_is_measured_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    class Silent:
        def generate(self, *_: object) -> tuple[()]:
            return ()

        def prefill(self, *_: object) -> PromptUse:
            return PromptUse(9, 9, 0)

        def rollback(self, *_: object) -> None: ...

    row = llm._Row()
    llm._round(Silent(), row)  # type: ignore[arg-type]
    none = row.result()
    assert none["ttft"]["p50_ms"] is None and none["decode_tokens_per_s"] == 0
    prefix = {"tokens": 9, "evaluate_ms": 1.0}
    rows = [{"threads": 1, **none}]
    llm.show(
        {"threads": rows, "ttft_prefilled": none["ttft"], "prefix": prefix, "reuse": 1.0, "model_mb": 1, "rss_mb": 1}
    )
    assert "–" in capsys.readouterr().out
