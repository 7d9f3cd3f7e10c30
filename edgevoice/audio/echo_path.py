"""How does the speaker reach the microphone? Delay, level and clarity of the echo, measured on what is played."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_toeplitz
from scipy.signal import chirp as scipy_chirp

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples

CHIRP_S = 0.18
"""Seconds of the measuring chirp; short enough to pass as an earcon."""
BAND_HZ = (200.0, 7000.0)
"""What small speakers reproduce; outside it only noise would be whitened up."""


@dataclass(frozen=True, slots=True)
class EchoPath:
    """One measurement."""

    delay_s: float
    """Seconds from the reference's time stamp to the echo at the microphone; negative when the stamps are late."""
    gain_db: float
    """Level of the echo against the level played, in dB."""
    clarity: float
    """Height of the correlation's peak over its standard deviation; noise alone stays below about 5.5."""


def chirp(level: float = 0.25) -> Samples:
    """A rising tone of `CHIRP_S` seconds, 300 Hz to 6 kHz, with soft edges; float32 at 16 kHz, peak `level`."""
    time = np.arange(round(CHIRP_S * SAMPLE_RATE)) / SAMPLE_RATE
    tone = scipy_chirp(time, f0=300.0, t1=CHIRP_S, f1=6000.0, method="logarithmic")
    edge = round(0.02 * SAMPLE_RATE)
    window = np.ones(len(time))
    window[:edge] = np.sin(np.linspace(0, np.pi / 2, edge)) ** 2
    window[-edge:] = window[:edge][::-1]
    return np.asarray(level * tone * window, dtype=np.float32)


def measure(reference: Samples, microphone: Samples, search_s: tuple[float, float] = (-0.05, 0.6)) -> EchoPath | None:
    """Find `reference` in `microphone`; both start at the same time and have the same length (about a second).

    Generalised cross-correlation with phase transform (Knapp and Carter, 1976), limited to the band of small speakers.
    None when the reference is too quiet to tell (below -60 dBFS).
    """
    if len(reference) != len(microphone):
        raise ValueError("reference and microphone must have the same length")
    played = float(np.mean(np.square(reference, dtype=np.float64)))
    if played < 1e-6:
        return None
    size = 1 << (2 * len(reference) - 1).bit_length()
    sent, came = np.fft.rfft(reference, size), np.fft.rfft(microphone, size)
    cross = came * np.conj(sent)
    hertz = np.fft.rfftfreq(size, 1.0 / SAMPLE_RATE)
    # Bins in which nothing was played say nothing about the path: whitening would only lift their noise.
    loud = (hertz > BAND_HZ[0]) & (hertz < BAND_HZ[1]) & (np.abs(sent) ** 2 > 0.01 * np.mean(np.abs(sent) ** 2))
    white = np.where(loud, cross / (np.abs(cross) + 1e-12), 0.0)
    correlation = np.fft.irfft(white, size)
    lags = np.arange(round(search_s[0] * SAMPLE_RATE), round(search_s[1] * SAMPLE_RATE))
    values = correlation[lags]
    best = int(np.argmax(np.abs(values)))
    clarity = float(np.abs(values[best]) / (np.std(values) + 1e-12))
    return EchoPath(float(lags[best]) / SAMPLE_RATE, _gain_db(reference, microphone, int(lags[best])), clarity)


def _gain_db(reference: Samples, microphone: Samples, lag: int) -> float:
    """Least-squares gain of a 20 ms response at `lag`, as level in dB."""
    taps = np.arange(-16, 304)
    played = np.fft.rfft(reference, 2 * len(reference))
    cross = np.fft.irfft(np.fft.rfft(microphone, 2 * len(reference)) * np.conj(played))
    own = np.fft.irfft(np.abs(played) ** 2)
    column = own[: len(taps)].copy()
    column[0] *= 1.001
    response = solve_toeplitz(column, cross[taps + lag])
    return 10.0 * float(np.log10(max(float(np.sum(response**2)), 1e-12)))
