"""The prepared forms of a voice on disk, without making any."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from edgevoice.tts.vits import prepare as module
from edgevoice.tts.vits.prepare import prepare


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Preparing writes a folder at once, and what does not matter here is left out."""
    numbers = {"channels": 1, "hop": 1, "flow_reach": 1, "vocoder_reach": 1, "tiers": "fine", "embedding_rows": 1}

    def make(model: Path, config: object, digest: str, tiers: Mapping[str, Path], folder: Path, block: int) -> None:
        folder.mkdir(parents=True)
        (folder / "meta.json").write_text(json.dumps({**numbers, "sha256": {}}))
        os.utime(folder, (block, block))

    monkeypatch.setattr(module, "_make", make)
    monkeypatch.setattr(module, "read_config", lambda model: None)
    monkeypatch.setattr(module, "check_fit", lambda *_, **__: None)


@pytest.mark.usefixtures("made")
def test_older_forms_of_the_same_voice_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, other = tmp_path / "voice.onnx", tmp_path / "other.onnx"
    model.write_bytes(b"voice")
    other.write_bytes(b"other voice")
    kept = prepare(other, tmp_path).folder
    forms = []
    for version in range(1, 5):
        monkeypatch.setattr(module, "FORMAT", version)
        monkeypatch.setattr(module, "block_size", lambda version=version: 1000 + version)
        forms.append(prepare(model, tmp_path).folder)
    assert sorted((tmp_path / "voices").iterdir()) == sorted([kept, *forms[-2:]])


@pytest.mark.usefixtures("made")
def test_what_a_killed_process_left_half_made_is_removed(tmp_path: Path) -> None:
    old, young = (tmp_path / "voices" / f".making-{name}" for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "flow.onnx").write_bytes(b"half")
    os.utime(old, (1000, 1000))
    model = tmp_path / "voice.onnx"
    model.write_bytes(b"voice")
    prepare(model, tmp_path)
    assert young.exists() and not old.exists()
