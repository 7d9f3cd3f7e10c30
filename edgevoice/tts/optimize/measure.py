"""How close is a faster voice to the original? Measures on pairs of sounds made from the same latents, and clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.signal import stft

Matrix = NDArray[np.float64]
Sound = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Closeness:
    """Distances of one sound to the original, same length, same rate."""

    mel_db: float
    """Mean absolute difference of log-mel spectra (80 bands), dB."""
    spectral: float
    """Multi-resolution STFT distance: mean of spectral convergence and log-magnitude difference."""
    snr_db: float
    """Energy of the original over energy of the difference."""
    pitch: float
    """Correlation of the pitch contours where both are voiced."""
    energy: float
    """Correlation of the energy contours in dB."""
    clicks: int
    """Clicks the original does not have."""


def compare(made: Sound, original: Sound, rate: int) -> Closeness:
    """All measures; sounds [n] in [-1, 1]."""
    count = min(len(made), len(original))
    made, original = made[:count].astype(np.float64), original[:count].astype(np.float64)
    a, b = log_mel(made, rate), log_mel(original, rate)
    pitch_a, pitch_b = pitch(made, rate), pitch(original, rate)
    voiced = (pitch_a > 0) & (pitch_b > 0)
    return Closeness(
        mel_db=float(np.mean(np.abs(a - b))),
        spectral=float(np.mean([_spectral(made, original, size) for size in (512, 1024, 2048)])),
        snr_db=float(10 * np.log10((original**2).sum() / max(((made - original) ** 2).sum(), 1e-12))),
        pitch=_correlation(np.log(pitch_a[voiced]), np.log(pitch_b[voiced])),
        energy=_correlation(a.mean(axis=0), b.mean(axis=0)),
        clicks=max(0, len(clicks(made, rate)) - len(clicks(original, rate))),
    )


def log_mel(sound: Sound, rate: int, bands: int = 80) -> Matrix:
    """Log-mel spectrum in dB, [bands, frames] every 256 samples."""
    _, _, spectrum = stft(sound, rate, nperseg=1024, noverlap=768, boundary=None)
    energy = mel_filters(rate, 1024, bands) @ (np.abs(spectrum) ** 2)
    result: Matrix = 10 * np.log10(np.maximum(energy, 1e-10))
    return result


def mel_filters(rate: int, size: int, bands: int) -> Matrix:
    """Triangular filters, [bands, size / 2 + 1]."""
    top = 2595 * np.log10(1 + rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, bands + 2) / 2595) - 1)
    frequencies = np.linspace(0, rate / 2, size // 2 + 1)
    rising = (frequencies - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - frequencies) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(rising, falling))


def mel_cepstral_distance(made: Sound, original: Sound, rate: int) -> float:
    """Mel-cepstral distortion in dB (13 coefficients without the first)."""
    count = min(len(made), len(original))
    a, b = (
        dct(log_mel(x[:count].astype(np.float64), rate) * np.log(10) / 10, axis=0, norm="ortho")[1:14]
        for x in (made, original)
    )
    return float(10 / np.log(10) * np.mean(np.sqrt(2 * ((a - b) ** 2).sum(axis=0))))


def pitch(sound: Sound, rate: int, low: float = 60.0, high: float = 400.0) -> Matrix:
    """Pitch in Hz every 10 ms, 0 where unvoiced: peak of the normalised autocorrelation over 40 ms."""
    hop, size = rate // 100, rate // 25
    if len(sound) < size:
        return np.zeros(0)
    frames = np.lib.stride_tricks.sliding_window_view(sound, size)[::hop] * np.hanning(size)
    spectrum = np.abs(np.fft.rfft(frames, 2 * size)) ** 2
    correlation = np.fft.irfft(spectrum)[:, :size]
    first, last = int(rate / high), int(rate / low)
    window = np.fft.irfft(np.abs(np.fft.rfft(np.hanning(size), 2 * size)) ** 2)[:size]
    normalised = correlation / (correlation[:, :1] + 1e-9) / (window / window[0] + 1e-3)
    best = normalised[:, first:last].argmax(axis=1) + first
    strength = normalised[np.arange(len(best)), best]
    loud = correlation[:, 0] > 1e-3 * correlation[:, 0].max()
    result: Matrix = np.where((strength > 0.5) & loud, rate / best, 0.0)
    return result


def clicks(sound: Sound, rate: int) -> NDArray[np.int64]:
    """Samples at which the wave jumps far beyond what its surroundings do: pops and seams.

    The second difference is held against its own level in the 10 ms around (without the 1 ms next to the sample);
    speech itself stays below 12 times that level nearly everywhere.
    """
    jump = np.abs(np.diff(sound, 2))
    near, far = max(1, rate // 1000), rate // 100
    energy = np.concatenate([[0.0], np.cumsum(jump**2)])
    n = len(jump)
    index = np.arange(n)

    def mean_square(reach: int) -> Matrix:
        low, high = np.maximum(index - reach, 0), np.minimum(index + reach + 1, n)
        result: Matrix = energy[high] - energy[low]
        return result

    around = np.sqrt(np.maximum(mean_square(far) - mean_square(near), 0) / (2 * (far - near)))
    found = np.flatnonzero(jump > np.maximum(12 * around, 0.02))
    return found[np.insert(np.diff(found) > near, 0, True)] if len(found) else found


def _spectral(made: Sound, original: Sound, size: int) -> float:
    a, b = (
        np.maximum(np.abs(stft(x, nperseg=size, noverlap=size * 3 // 4, boundary=None)[2]), 1e-7)
        for x in (made, original)
    )
    return float((np.linalg.norm(a - b) / np.linalg.norm(b) + np.mean(np.abs(np.log(a) - np.log(b)))) / 2)


def _correlation(a: Matrix, b: Matrix) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if len(a) > 2 and np.std(a) > 0 and np.std(b) > 0 else 0.0
