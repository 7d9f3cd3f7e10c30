"""Augmentation of recordings and features. Every function takes its random generator, so that a seed repeats it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import soxr

from edgevoice.asr.recognizer import SAMPLE_RATE
from scripts.asr.noise import convolve


@dataclass(frozen=True)
class Augmentation:
    """How often and how strongly. Chances are 0-1, ranges (low, high)."""

    speed_chance: float = 0.5
    speed: tuple[float, float] = (0.88, 1.12)
    reverberation_chance: float = 0.3
    noise_chance: float = 0.5
    noise_snr: tuple[float, float] = (0.0, 30.0)
    talker_share: float = 0.25
    talker_snr: tuple[float, float] = (8.0, 25.0)
    gain: tuple[float, float] = (-26.0, 0.0)
    frequency_masks: int = 2
    frequency_width: int = 16
    time_masks: int = 2
    time_width: int = 40


def change_speed(samples: np.ndarray, factor: float) -> np.ndarray:
    """Tempo and pitch together: factor 1.1 is a tenth faster and higher."""
    return soxr.resample(samples, SAMPLE_RATE * factor, SAMPLE_RATE, quality="LQ")


def reverberate(samples: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A made-up room: direct sound, then exponentially decaying noise (T60 of about 0.14 to 0.8 s)."""
    length = int(rng.uniform(0.1, 0.5) * SAMPLE_RATE)
    decay = np.exp(-np.arange(length, dtype=np.float32) / (rng.uniform(0.02, 0.12) * SAMPLE_RATE))
    response = rng.standard_normal(length, dtype=np.float32) * decay
    response[0] = rng.uniform(3, 15)
    return convolve(samples, response / np.linalg.norm(response))


def add_noise(samples: np.ndarray, noise: np.ndarray, snr: float) -> np.ndarray:
    """Mix `noise` (repeated as needed) under `samples` at a signal-to-noise ratio in dB."""
    noise = np.resize(noise, len(samples))
    power, noise_power = float(np.mean(samples**2)), float(np.mean(noise**2))
    return samples + noise * np.sqrt((power + 1e-12) / (noise_power + 1e-12) / 10 ** (snr / 10)).astype(np.float32)


def set_peak(samples: np.ndarray, dbfs: float) -> np.ndarray:
    """Scale so that the loudest sample has this level in dBFS."""
    return (samples * (10 ** (dbfs / 20) / (np.abs(samples).max() + 1e-6))).astype(np.float32)


def surround(samples: np.ndarray, rng: np.random.Generator, shortest: float = 0.05, longest: float = 0.6) -> np.ndarray:
    """Near-silence before and after (seconds, drawn), with a faint noise floor over everything."""
    before, after = (int(rng.uniform(shortest, longest) * SAMPLE_RATE) for _ in range(2))
    padded = np.pad(samples, (before, after))
    return padded + rng.standard_normal(len(padded), dtype=np.float32) * np.float32(10 ** rng.uniform(-5, -3.5))


def augment(
    samples: np.ndarray,
    rng: np.random.Generator,
    clips: list[np.ndarray],
    talker: Callable[[], np.ndarray],
    how: Augmentation,
) -> np.ndarray:
    """Speed, room, noise or another talker, and gain; float32 [samples]."""
    if rng.random() < how.speed_chance:
        samples = change_speed(samples, rng.uniform(*how.speed))
    if rng.random() < how.reverberation_chance:
        samples = reverberate(samples, rng)
    if rng.random() < how.noise_chance:
        if rng.random() < how.talker_share:
            samples = add_noise(samples, talker(), rng.uniform(*how.talker_snr))
        else:
            clip = clips[rng.integers(len(clips))]
            samples = add_noise(samples, np.roll(clip, rng.integers(len(clip))), rng.uniform(*how.noise_snr))
    return set_peak(samples, rng.uniform(*how.gain))


def mask_features(features: np.ndarray, rng: np.random.Generator, how: Augmentation) -> np.ndarray:
    """SpecAugment (arXiv 1904.08779): bands and stretches of [frames, 80] replaced by the mean; in place."""
    mean = features.mean()
    for _ in range(how.frequency_masks):
        width = int(rng.integers(0, how.frequency_width))
        start = int(rng.integers(0, features.shape[1] - width))
        features[:, start : start + width] = mean
    for _ in range(int(rng.integers(0, how.time_masks + 1))):
        width = int(rng.integers(0, min(how.time_width, len(features) // 6 + 1)))
        start = int(rng.integers(0, len(features) - width))
        features[start : start + width] = mean
    return features
