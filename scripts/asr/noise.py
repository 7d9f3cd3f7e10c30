"""Background sounds made from nothing: a bank of clips to mix under speech.

Every maker returns float32 of unit standard deviation, [samples], 16 kHz.
"""

import numpy as np
from scipy import fft

from edgevoice.asr.recognizer import SAMPLE_RATE


def coloured(rng: np.random.Generator, samples: int, slope: float) -> np.ndarray:
    """Noise with amplitude spectrum 1 / f^slope: 0 white, 0.5 pink, 1 brown."""
    spectrum = fft.rfft(rng.standard_normal(samples, dtype=np.float32))
    bins = np.arange(len(spectrum), dtype=np.float32)
    bins[0] = 1
    return _unit(fft.irfft(spectrum / bins**slope, samples))


def hum(rng: np.random.Generator, samples: int) -> np.ndarray:
    """Mains or motor: harmonics of a steady tone over faint noise."""
    base = rng.uniform(45, 130)
    time = np.arange(samples) / SAMPLE_RATE
    tone = sum(rng.uniform(0, 1) / k * np.sin(2 * np.pi * (base * k * time + rng.random())) for k in range(1, 25))
    return _unit(_unit(tone) + rng.uniform(0.1, 1.0) * coloured(rng, samples, rng.uniform(0, 1)))


def clatter(rng: np.random.Generator, samples: int) -> np.ndarray:
    """Dishes and cutlery: sparse knocks, each ringing at a few high frequencies."""
    knocks = np.zeros(samples, np.float32)
    out = np.zeros(samples, np.float32)
    for _ in range(4):
        knocks[:] = 0
        at = rng.integers(0, samples, max(1, int(samples / SAMPLE_RATE * rng.uniform(0.3, 3))))
        knocks[at] = rng.exponential(1.0, len(at))
        length = int(0.4 * SAMPLE_RATE)
        time = np.arange(length) / SAMPLE_RATE
        ringing = sum(
            rng.uniform(0.2, 1)
            * np.sin(2 * np.pi * rng.uniform(700, 7000) * time)
            * np.exp(-time / rng.uniform(0.004, 0.08))
            for _ in range(rng.integers(2, 7))
        )
        out += convolve(knocks, ringing.astype(np.float32))
    return _unit(_unit(out) + 0.05 * coloured(rng, samples, 0.5))


def water(rng: np.random.Generator, samples: int) -> np.ndarray:
    """Tap, frying, rain: a broad band whose loudness wanders."""
    spectrum = fft.rfft(rng.standard_normal(samples, dtype=np.float32))
    hertz = np.linspace(0, SAMPLE_RATE / 2, len(spectrum))
    centre, width = rng.uniform(800, 5000), rng.uniform(0.5, 1.5)
    band = fft.irfft(spectrum * np.exp(-0.5 * (np.log2(np.maximum(hertz, 20) / centre) / width) ** 2), samples)
    wander = np.interp(np.arange(samples), np.linspace(0, samples, 200), rng.uniform(-6, 6, 200))
    return _unit(band * 10 ** (wander / 20))


def chords(rng: np.random.Generator, samples: int) -> np.ndarray:
    """Music-like: a new chord of decaying harmonic tones every half second or so."""
    out, at = np.zeros(samples, np.float32), 0
    while at < samples:
        length = min(int(rng.uniform(0.25, 1.0) * SAMPLE_RATE), samples - at)
        time = np.arange(length) / SAMPLE_RATE
        root = 110 * 2 ** (rng.integers(0, 24) / 12)
        for interval in rng.choice([0, 3, 4, 7, 10, 12, 19], rng.integers(1, 5), replace=False):
            pitch = root * 2 ** (interval / 12)
            for k in range(1, 7):
                out[at : at + length] += np.sin(2 * np.pi * pitch * k * time) * np.exp(-time * k * 2) / k
        at += length
    return _unit(out)


def convolve(samples: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Linear convolution cut to the length of `samples`."""
    size = fft.next_fast_len(len(samples) + len(response), real=True)
    return fft.irfft(fft.rfft(samples, size) * fft.rfft(response, size), size)[: len(samples)].astype(np.float32)


def bank(rng: np.random.Generator, seconds: float = 20.0) -> list[np.ndarray]:
    """About thirty clips of all kinds."""
    samples = int(seconds * SAMPLE_RATE)
    clips = [coloured(rng, samples, slope) for slope in (0, 0.25, 0.5, 0.75, 1.0) for _ in range(2)]
    for make in (hum, clatter, water, chords):
        clips += [make(rng, samples) for _ in range(5)]
    return clips


def _unit(samples: np.ndarray) -> np.ndarray:
    samples = samples - samples.mean()
    return (samples / (samples.std() + 1e-9)).astype(np.float32)
