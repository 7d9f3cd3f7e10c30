"""What benchmarks say of the recordings that were not answered."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from edgevoice.bench import latency, soak
from edgevoice.bench.outcomes import Outcomes, outcomes
from edgevoice.cli import main
from edgevoice.dialog.ledger import Point, TurnRecord
from edgevoice.errors import EXIT_CANT_CREATE, EXIT_OK, EXIT_UNAVAILABLE
from edgevoice.replayer import Replayed
from tests.conftest import DATA
from tests.documented import documented


def turn(recording: int, e2e: float | None = 0.5, reply: str = "Yes.", **facts: int | str) -> TurnRecord:
    record = TurnRecord(recording, facts={"recording": recording, **facts}, transcript="hello", reply=reply)
    record.times[Point.SPEECH_END] = 1.0
    if e2e is not None:
        record.times[Point.FIRST_AUDIBLE] = 1.0 + e2e
    return record


def test_apologies_silence_and_lost_recordings_are_failures_and_no_words_is_none() -> None:
    turns = [turn(0), turn(1, fixed=1, cached=1, failed="generate"), turn(2, e2e=None, reply="")]
    found = outcomes(5, turns, ["no_words", "barge_in"])
    assert (found.asked, found.answered, found.wordless, found.failed, found.apologies) == (5, 1, 1, 3, 1)
    assert (found + found).as_json()["events"] == {"no_words": 2, "barge_in": 2}


def test_a_recording_that_held_words_once_holds_them_in_every_round() -> None:
    found = outcomes(4, [turn(0), turn(2)], ["no_words", "no_words"], different=2)
    assert (found.answered, found.wordless, found.failed) == (2, 2, 0), "the second of the two never held any"
    found = outcomes(4, [turn(0), turn(1)], ["no_words", "no_words"], different=2)
    assert (found.answered, found.wordless, found.failed) == (2, 0, 2)


def test_the_serial_pipeline_is_compared_on_what_both_answered() -> None:
    ours = latency.by_recording([[turn(0, 9.0), turn(1, 0.2), turn(2, 0.4), turn(3, 0.1, failed="generate")]])
    assert ours == pytest.approx({1: 200.0, 2: 400.0})
    assert latency.ratio(ours, {2: 2000.0, 3: 100.0}) == (5.0, 1)
    assert latency.ratio(ours, {}) == (None, 0)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One recording is answered, one gets an apology, one vanishes."""

    def replay(*_: object, **__: object) -> Replayed:
        return Replayed([turn(0), turn(1, cached=1, failed="generate")], 100.0, 1.0, 1.0, 1.0, True)

    monkeypatch.setattr(latency, "replay", replay)
    monkeypatch.setattr(soak, "replay", replay)


FILES = [str(DATA / "question.flac")] * 3


@pytest.mark.usefixtures("replayed")
def test_latency_reports_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "latency", "--runs", "2", "--json", *FILES]) == EXIT_OK
    result = json.loads(capsys.readouterr().out)
    assert [result[key] for key in ("asked", "answered", "failed", "apologies")] == [6, 2, 4, 2]
    assert result["cached"]["e2e"]["n"] == 0, "an apology is no answer from the cache"
    assert main(["bench", "latency", "--runs", "2", *FILES]) == EXIT_OK
    assert "6 asked, 2 answered, 0 wordless, 4 failed" in capsys.readouterr().out


@pytest.mark.usefixtures("replayed")
def test_a_soak_of_failures_is_not_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "soak", "--turns", "3", "--model-runs", "0", "--json", *FILES]) == EXIT_OK
    result = json.loads(capsys.readouterr().out)
    assert not result["ok"] and (result["asked"], result["failed"], result["apologies"]) == (3, 2, 1)
    assert documented("bench") - set(result) == {"models"}


@pytest.mark.parametrize("subject", ["latency", "soak"])
def test_a_picture_that_cannot_be_made_is_told_before_measuring(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, subject: str
) -> None:
    def measured(*_: object, **__: object) -> Any:
        raise AssertionError("measured first")

    monkeypatch.setattr(latency, "replay", measured)
    monkeypatch.setattr(soak, "replay", measured)
    assert main(["bench", subject, "--png", str(tmp_path / "absent" / "x.png"), *FILES]) == EXIT_CANT_CREATE
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["bench", subject, "--png", str(tmp_path / "x.png"), *FILES]) == EXIT_UNAVAILABLE
    assert "matplotlib" in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.usefixtures("replayed")
def test_figures_come_before_the_picture(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    printed: list[str] = []
    monkeypatch.setattr("edgevoice.bench.waterfall.draw", lambda *_: printed.append(capsys.readouterr().out))
    assert main(["bench", "latency", "--runs", "1", "--png", str(tmp_path / "x.png"), *FILES]) == EXIT_OK
    assert "latency over 1 runs" in printed[0]


def test_nothing_asked_is_nothing() -> None:
    assert Outcomes().failed == 0
