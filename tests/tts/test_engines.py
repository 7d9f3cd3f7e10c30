"""Engines behind the contract, chosen by setting."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from edgevoice.errors import SettingsError, UnavailableError
from edgevoice.settings import Settings
from edgevoice.tts.factory import ENGINES, build_synthesizer
from edgevoice.tts.synthesizer import Synthesizer


def engine(name: str) -> Synthesizer:
    return build_synthesizer(replace(Settings(), tts=replace(Settings().tts, backend=name)))


def test_unknown_engine_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="piper"):
        engine("festival")


def test_building_opens_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("edgevoice.models.store.find", "onnxruntime.InferenceSession"):
        monkeypatch.setattr(place, lambda *_, **__: pytest.fail("opened a model"))
    for name in ENGINES:
        assert engine(name).name == name


def test_hibari_speaks_in_small_chunks_and_stops_when_told() -> None:
    pytest.importorskip("hibari")
    voice = engine("hibari")
    voice.load()
    chunks = list(voice.synthesize("The kitchen light is on, and the door is locked."))
    assert voice.sample_rate == 24000
    assert 1.5 < sum(len(chunk.samples) for chunk in chunks) / 24000 < 6
    assert all(len(chunk.samples) <= 6000 for chunk in chunks)
    assert np.abs(np.concatenate([chunk.samples for chunk in chunks])).max() > 3000
    assert list(voice.synthesize("🙂")) == []
    assert list(voice.synthesize("Not wanted.", lambda: True)) == []
    voice.close()


def test_espeak_is_the_last_resort() -> None:
    voice = engine("espeak")
    if shutil.which("espeak-ng") is None:
        with pytest.raises(UnavailableError, match="espeak-ng"):
            voice.load()
        return
    voice.load()
    sound = np.concatenate([chunk.samples for chunk in voice.synthesize("Hello there.")])
    assert 0.3 < len(sound) / voice.sample_rate < 3
    assert list(voice.synthesize("…")) == []
