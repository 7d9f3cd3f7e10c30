"""`edgevoice say`, on the real voice."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import soundfile

from edgevoice.cli import main
from tests.documented import documented, leaves


@pytest.mark.parametrize("name", ["reply.wav", "reply.flac", "reply.ogg"])
def test_writes_a_sound_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / name
    assert main(["say", "It is half past nine.", "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["clauses"] == 1
    assert leaves(said) == documented("say")
    assert soundfile.info(out).duration == pytest.approx(said["seconds"], abs=0.05)


@pytest.mark.parametrize("text", ["", "🙂🎉", "***"])
def test_nothing_to_speak_is_said_once(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", text, "--out", str(tmp_path / "x.wav")]) == 0
    assert capsys.readouterr().err.count("nothing to speak") == 1
    assert list(tmp_path.iterdir()) == []


def test_full_disk_is_an_io_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", "It is half past nine.", "--out", "/dev/full"]) == 74
    assert "/dev/full" in capsys.readouterr().err


def test_reads_files_and_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("One. **Two** and three.")
    assert main(["say", "--file", str(text), "--out", str(tmp_path / "a.wav"), "--json"]) == 0
    from_file = json.loads(capsys.readouterr().out)
    monkeypatch.setattr("sys.stdin", io.StringIO("One. **Two** and three."))
    assert main(["say", "-", "--out", str(tmp_path / "b.wav"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"] == from_file["seconds"]


def test_wrong_input_has_its_exit_code(tmp_path: Path) -> None:
    assert main(["say"]) == 2
    assert main(["say", "--file", str(tmp_path / "none.txt"), "--out", str(tmp_path / "x.wav")]) == 66
    (tmp_path / "latin1.txt").write_bytes(b"caf\xe9")
    assert main(["say", "--file", str(tmp_path / "latin1.txt"), "--out", str(tmp_path / "x.wav")]) == 65
    assert main(["say", "hi", "--voice", "nobody", "--out", str(tmp_path / "x.wav")]) == 66
    assert main(["say", "hi", "--out", str(tmp_path / "x.docx")]) == 73


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", "--list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["voices"]
    assert {"piper", "hibari", "espeak"} <= {row["engine"] for row in rows}
