"""Sounds that are no speech, each from a formula."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples


def at_level(sound: NDArray[np.floating], dbfs: float) -> Samples:
    """The sound with this mean power."""
    rms = np.sqrt(np.mean(np.square(sound)))
    return (sound / rms * 10 ** (dbfs / 20)).astype(np.float32)


def sounds(seconds: float) -> dict[str, Samples]:
    """Name -> sound."""
    random = np.random.default_rng(1)
    n = int(seconds * SAMPLE_RATE)
    time = np.arange(n) / SAMPLE_RATE
    spectrum = np.fft.rfft(random.standard_normal(n))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    pink = np.fft.irfft(spectrum, n)
    found = {"digital silence": np.zeros(n, np.float32)}
    for level in (-50, -25):
        found[f"white noise {level} dBFS"] = at_level(random.standard_normal(n), level)
        found[f"pink noise {level} dBFS"] = at_level(pink, level)
    hum = np.sum([np.sin(2 * np.pi * 50 * k * time) / k for k in (1, 2, 3, 5, 7)], axis=0)
    found["mains hum"] = at_level(hum, -30)
    clicks = 1e-3 * random.standard_normal(n)
    for start in random.integers(0, n - 400, int(7 * seconds)):
        clicks[start : start + 200] += random.standard_normal(200) * np.exp(-np.arange(200) / 40)
    found["keyboard clicks"] = at_level(clicks, -30)
    found["tone sweep"] = at_level(signal.chirp(time, 50, seconds, 7500, method="logarithmic"), -25)
    beat = time % 1.0
    root = np.array([220, 262, 330, 392, 440, 523])[time.astype(int) % 6]
    chord = np.sum([np.sin(2 * np.pi * root * r * h * beat) / h for r in (1, 1.26, 1.5) for h in (1, 2, 3)], axis=0)
    found["chords"] = at_level(chord * np.exp(-2 * beat), -25)
    return found
