"""The `chat` verb, with the real model."""

from __future__ import annotations

import io
import json

import pytest

from edgevoice.cli import main
from tests.documented import documented, leaves


def test_lines_from_a_pipe_make_a_conversation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("What is the capital of Spain?\n\nwhat is two plus two\nand of Italy\n")
    )
    assert main(["chat", "--json", "--set", "llm.max_tokens=12"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(answers) == 3 and all(leaves(answer) == documented("chat") for answer in answers)
    assert "Madrid" in answers[0]["reply"] and answers[0]["prompt_tokens_evaluated"] > 0
    assert answers[1]["reply"] == "Two plus two is 4." and answers[1]["prompt_tokens"] == 0
    assert answers[2]["prompt_tokens_evaluated"] < answers[2]["prompt_tokens"] / 2


def test_one_question_streams_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "--set", "llm.backend=template", "how", "are", "bees"]) == 0
    assert capsys.readouterr().out == "I am too busy to think about that right now.\n"


def test_a_missing_model_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "--set", "llm.model=/nowhere/m.gguf", "hello"]) == 66
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "/nowhere/m.gguf" in error and "Traceback" not in error
