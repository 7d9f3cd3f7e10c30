from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from edgevoice import cli
from edgevoice.asr.normalize import scoring_form
from edgevoice.errors import EXIT_CONFIG, EXIT_DATA, EXIT_NO_INPUT
from tests.conftest import DATA
from tests.documented import documented, leaves

HELP = str(DATA / "help_you_pack.flac")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["transcribe", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_json_has_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, HELP, "--json")
    assert code == 0
    assert leaves(json.loads(out)) == documented("transcribe")
    (row,) = json.loads(out)["files"]
    assert scoring_form(row["transcript"]) == scoring_form(row["first_pass"]) == "can i help you pack"
    assert row["seconds"] == pytest.approx(2.976, abs=0.01)


def test_any_format_rate_and_channel_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import soxr

    sound, rate = soundfile.read(HELP, dtype="float32")
    files = []
    for name, new_rate, channels, subtype in (
        ("a.wav", 8000, 1, "PCM_U8"),
        ("b.wav", 48_000, 8, "PCM_24"),
        ("c.ogg", 44_100, 2, None),
    ):
        resampled = soxr.resample(sound, rate, new_rate)
        files.append(str(tmp_path / name))
        soundfile.write(files[-1], np.tile(resampled[:, None], (1, channels)), new_rate, subtype=subtype)
    code, out, _ = run(capsys, *files, "--json")
    assert code == 0
    assert [scoring_form(row["transcript"]) for row in json.loads(out)["files"]] == ["can i help you pack"] * 3


def test_one_bad_file_does_not_lose_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.wav").write_text("no sound here")
    (tmp_path / "empty.wav").write_bytes(b"")
    soundfile.write(tmp_path / "nan.wav", np.full(16_000, np.nan, np.float32), 16_000, subtype="FLOAT")
    soundfile.write(tmp_path / "silent.wav", np.zeros(32_000, np.float32), 16_000)
    names = [str(tmp_path / name) for name in ("text.wav", "empty.wav", "nan.wav", "silent.wav")]
    code, out, err = run(capsys, *names, HELP)
    assert code == EXIT_DATA
    assert out.splitlines() == [f"{names[3]}: (no speech)", f"{HELP}: Can I help you pack?"]
    assert [name in line for name, line in zip(names[:3], err.splitlines(), strict=True)] == [True] * 3


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "/nowhere/a.wav")
    assert code == EXIT_NO_INPUT
    assert err.startswith("edgevoice: /nowhere/a.wav:")


def test_a_missing_model_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, HELP, "--set", "asr.model=/nowhere/model")
    assert code == EXIT_NO_INPUT
    assert "/nowhere/model" in err


def test_an_unknown_back_end_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, HELP, "--set", "asr.backend=siri")
    assert code == EXIT_CONFIG
    assert "ctc" in err


def test_the_whisper_back_end_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, HELP, "--set", "asr.backend=whisper")
    assert (code, out) == (0, "Can I help you pack?\n")
