"""`edgevoice replay`: a recorded question goes in, a spoken answer comes out, all of it real."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import soundfile

from edgevoice.assistant import Assistant
from edgevoice.cli import main
from edgevoice.replayer import Replayed, replay
from tests.conftest import DATA, ROOT
from tests.e2e.conftest import PATIENT, RECORDINGS, edgevoice, patient, set_flags, word_error_rate

FAST_FILES = ("question.flac", "when_back.flac", "help_you_pack.flac")


@pytest.fixture(scope="module")
def reply_wav(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(tmp_path_factory.mktemp("replay")) / "reply.wav"


@pytest.fixture(scope="module")
def process(reply_wav: Path) -> subprocess.CompletedProcess[str]:
    """The demo's command, in real time."""
    return edgevoice("replay", DATA / "question.flac", "--json", "--out", reply_wav, *set_flags(*PATIENT))


@pytest.fixture(scope="module")
def report(process: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert process.returncode == 0, process.stderr
    result: dict[str, Any] = json.loads(process.stdout)
    return result


@dataclass
class Conversation:
    replayed: Replayed
    assistant: Assistant


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    """Three questions and a silence in one run, as fast as it goes."""
    quiet = Path(tmp_path_factory.mktemp("fast")) / "quiet.wav"
    soundfile.write(quiet, [0.0] * 32_000, 16_000)
    files = [DATA / FAST_FILES[0], quiet, *(DATA / name for name in FAST_FILES[1:])]
    assistants: list[Assistant] = []
    yield Conversation(replay(patient(), files, pace="fast", on_loaded=assistants.append), assistants[0])


def documented_keys() -> set[str]:
    """Keys of the replay's table in docs/json.md, those inside `ledger` included."""
    section = (ROOT / "docs" / "json.md").read_text().split("## `edgevoice replay")[1].split("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    keys = {name for row in rows for name in re.findall(r"`([^`]+)`", row[1])}
    ledger = next(row[2] for row in rows if "turns[].ledger" in row[1])
    return keys | {f"turns[].ledger.{name}" for name in re.findall(r"`(\w+_ms)`", ledger)}


def test_keys_are_the_documented_ones(report: dict[str, Any]) -> None:
    turn = report["turns"][0]
    for key in documented_keys():
        name = key.removesuffix("[]")
        if name.startswith("turns[].ledger."):
            assert name.rpartition(".")[2] in turn["ledger"], key
        elif name.startswith("turns[]."):
            assert name.removeprefix("turns[].") in turn, key
        else:
            assert name in report, key
    assert set(turn["partials"][0]) == {"text", "ms"}


def test_standard_output_holds_the_object_and_nothing_else(process: subprocess.CompletedProcess[str]) -> None:
    assert process.stdout.startswith("{\n") and process.stdout.endswith("}\n")
    assert "Traceback" not in process.stderr


def test_the_question_is_understood_and_answered(report: dict[str, Any]) -> None:
    (turn,) = report["turns"]
    assert word_error_rate(RECORDINGS["question.flac"], turn["transcript"]) <= 0.2
    assert len(turn["reply"].split()) >= 2 and turn["complete"]
    assert len(turn["partials"]) >= 2 and turn["partials"][0]["ms"] < turn["partials"][-1]["ms"]
    assert report["stopped_cleanly"]


def test_the_ledger_is_in_the_order_of_events(report: dict[str, Any]) -> None:
    ledger = report["turns"][0]["ledger"]
    assert all(value is not None and value >= 0 for value in ledger.values()), ledger
    assert ledger["ttft_ms"] + ledger["first_clause_ms"] + ledger["ttfb_ms"] <= ledger["ttfa_ms"] + 1
    assert ledger["eou_ms"] + ledger["eou_to_ttfa_ms"] == pytest.approx(ledger["e2e_ms"], abs=1)


def test_f8_the_log_holds_no_words(process: subprocess.CompletedProcess[str], report: dict[str, Any]) -> None:
    turn = report["turns"][0]
    for words in (turn["transcript"], turn["first_pass"], turn["reply"], *(p["text"] for p in turn["partials"])):
        assert words.lower() not in process.stderr.lower()


def test_the_answer_can_be_understood(report: dict[str, Any], reply_wav: Path, listener: Callable[[Path], str]) -> None:
    assert word_error_rate(report["turns"][0]["reply"], listener(reply_wav)) <= 0.25
    assert not list(reply_wav.parent.glob(".*partial"))


def test_several_files_are_one_conversation(conversation: Conversation) -> None:
    turns = conversation.replayed.turns
    assert len(turns) == len(FAST_FILES), "the silence makes no turn"
    for turn, name in zip(turns, FAST_FILES, strict=True):
        assert word_error_rate(RECORDINGS[name], turn.transcript) <= 0.35, turn.transcript
        assert turn.reply and turn.complete
    history = conversation.assistant.conversation.history
    assert [exchange.assistant for exchange in history] == [turn.reply for turn in turns]
    evaluated = [int(turn.facts["tokens_evaluated"]) for turn in turns if not turn.facts.get("fixed")]
    assert all(tokens <= 64 for tokens in evaluated), "earlier turns are in the KV cache, not evaluated again"


def test_both_paces_give_the_same_words(conversation: Conversation, report: dict[str, Any]) -> None:
    fast, real = conversation.replayed.turns[0], report["turns"][0]
    assert (fast.transcript, fast.first_pass) == (real["transcript"], real["first_pass"])


def test_d3_the_last_word_is_kept(conversation: Conversation, report: dict[str, Any]) -> None:
    assert report["turns"][0]["transcript"].lower().rstrip("?.!").endswith("statue")
    assert conversation.replayed.turns[1].transcript.lower().rstrip("?.!").endswith("back")


def test_d2_a_silent_file_makes_no_turn(silence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    light = set_flags("llm.backend=template", "asr.second_pass=off", "tts.backend=off")
    assert main(["replay", str(silence), "--pace", "fast", "--json", *light]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["turns"] == [] and result["pace"] == "fast"
