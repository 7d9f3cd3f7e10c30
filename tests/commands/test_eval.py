from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from edgevoice import cli
from edgevoice.asr.evaluation import mix, read_manifest
from edgevoice.errors import EXIT_DATA, EXIT_NO_INPUT
from tests.conftest import DATA
from tests.documented import documented, leaves


def test_scores_of_both_passes_clean_and_with_noise(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["eval", "asr", str(DATA / "manifest.jsonl"), "--limit", "2", "--snr", "15", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert code == 0 and leaves(report) == documented("eval")
    assert {(s["condition"], s["recognizer"]) for s in report["scores"]} == {
        (condition, name) for condition in ("clean", "15 dB") for name in ("first pass", "second pass")
    }
    for score in report["scores"]:
        assert score["source"] == "bundled"
        assert (score["utterances"], score["rtf"] > 0) == (2, True)
        assert 0 <= score["cer"] <= score["wer"] + 0.2 < 1.2
    assert report["memory"]["all_mb"] > report["memory"]["before_mb"] > 10


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["eval", "asr", str(DATA / "manifest.jsonl"), "--limit", "1", "--set", "asr.second_pass=off"]) == 0
    out = capsys.readouterr().out
    assert "WER %" in out
    assert "second pass" not in out


def test_a_missing_manifest_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["eval", "asr", "/nowhere/manifest.jsonl"]) == EXIT_NO_INPUT
    assert "/nowhere/manifest.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{}", "no json", '{"audio": 1, "text": "a"}', '{"audio": "a.wav"}'])
def test_a_bad_manifest_is_named_with_its_line(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "manifest.jsonl"
    path.write_text(content)
    assert cli.main(["eval", "asr", str(path)]) == EXIT_DATA
    assert str(path) in capsys.readouterr().err


def test_a_limit_takes_utterances_from_the_whole_manifest() -> None:
    every = read_manifest(DATA / "manifest.jsonl")
    assert [u.audio for u in read_manifest(DATA / "manifest.jsonl", 2)] == [every[0].audio, every[2].audio]


@pytest.mark.parametrize("ratio", [0, 10, 30])
def test_noise_is_mixed_at_the_ratio_asked_for(ratio: float) -> None:
    random = np.random.default_rng(0)
    sound = (random.standard_normal(16_000) * 0.01).astype(np.float32)
    noise = mix(sound, ratio, random) - sound
    assert 10 * np.log10(np.mean(sound**2) / np.mean(noise**2)) == pytest.approx(ratio, abs=0.1)
