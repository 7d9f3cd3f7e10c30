"""Test tones and what is measured on them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from edgevoice.audio.microphone import Microphone
from edgevoice.messages import Frame


def tone(rate: int, seconds: float, hertz: float = 1000.0, peak: float = 0.3) -> np.ndarray:
    return (peak * np.sin(2 * np.pi * hertz * np.arange(round(rate * seconds)) / rate)).astype(np.float32)


def quiet(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * 16_000), np.float32)


def noise(kind: str, seconds: float, level_dbfs: float) -> np.ndarray:
    """`white`, `brown`, `pink`, `fan`, `tv` or `swelling` at 16 kHz."""
    rng = np.random.default_rng(11)
    count = round(seconds * 16_000)
    time = np.arange(count) / 16_000
    spectrum = np.fft.rfft(rng.normal(size=count))
    spectrum[1:] /= np.fft.rfftfreq(count, 1 / 16_000)[1:] ** {"white": 0.0, "brown": 1.0}.get(kind, 0.5)
    spectrum[0] = 0
    sound = np.fft.irfft(spectrum, count)
    sound /= np.std(sound)
    if kind == "fan":
        sound += 2 * sum(np.sin(2 * np.pi * 50 * k * time + k) / k for k in range(1, 8))
    if kind == "tv":  # applause and music swell several times a second
        sound *= 1 + 0.8 * np.sin(2 * np.pi * 4 * time)
        sound += sum(
            np.sin(2 * np.pi * f * time) * (1 + np.sin(2 * np.pi * f / 300 * time)) for f in (220, 277, 330, 440)
        )
    if kind == "swelling":  # the same, with a vibrato and long swells: the speech detector takes it for speech
        sound = noise("tv", seconds, level_dbfs) * (1 + 0.6 * np.sin(2 * np.pi * 5.3 * time))
        sound = sound * (1 + 0.5 * np.sin(2 * np.pi * 0.7 * time))
    return (sound / np.std(sound) * 10 ** (level_dbfs / 20)).astype(np.float32)


def sounding(samples: np.ndarray, above: float = 0.02) -> np.ndarray:
    """The stretch from the first to the last loud sample."""
    loud = np.flatnonzero(np.abs(samples) > above)
    return samples[loud[0] : loud[-1] + 1] if len(loud) else samples[:0]


def pitch(samples: np.ndarray, rate: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 1 << 20))
    return float(np.argmax(spectrum)) * rate / (1 << 20)


def purity_db(samples: np.ndarray, rate: int, hertz: float) -> float:
    """Power of the best-fitting sine against everything else; a lost, doubled or shifted sample ruins it."""
    phase = 2 * np.pi * hertz * np.arange(len(samples)) / rate
    basis = np.stack([np.sin(phase), np.cos(phase), np.ones(len(samples))], axis=1)
    fit = basis @ np.linalg.lstsq(basis, samples, rcond=None)[0]
    return float(10 * np.log10(np.sum(fit**2) / np.sum((samples - fit) ** 2)))


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for the condition; False when the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Listener:
    """Takes the frames of a microphone on a thread, as the capture stage does."""

    def __init__(self, microphone: Microphone) -> None:
        self.microphone = microphone
        self.frames: list[Frame] = []
        self.arrived: list[float] = []
        self._thread = threading.Thread(target=self._run, name="test-capture")

    def __enter__(self) -> Listener:
        self.microphone.open()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.microphone.close()
        self._thread.join(5.0)
        assert not self._thread.is_alive(), "close ends the frames"

    @property
    def sound(self) -> np.ndarray:
        return np.concatenate([frame.samples for frame in self.frames]) if self.frames else np.zeros(0, np.float32)

    def _run(self) -> None:
        for frame in self.microphone.frames():
            self.frames.append(frame)
            self.arrived.append(time.monotonic())
