"""Echo cancellation that leaves the user's words intact: a Kalman filter and a gentle Wiener postfilter.

The echo path is a linear filter with a known uncertainty. The Kalman filter in the frequency domain (Enzner and Vary,
"Frequency-domain adaptive Kalman filter for acoustic echo control in hands-free telephones", Signal Processing 86,
2006; partitioned blocks: Kuech, Mabande and Enzner, "State-space architecture of the partitioned-block-based acoustic
echo controller", ICASSP 2014) needs no double-talk detector: speech of the user raises the observation noise, and the
filter holds still by itself. The same uncertainty says how much echo is still left, and the postfilter takes that out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples

BLOCKS = (320, 160)
"""Samples of a block: 20 ms where the frames allow it (half the arithmetic), else 10 ms."""
TAIL = 5120
"""Samples of echo path that are modelled: 320 ms."""
FORGETTING = 0.9995
"""How much of the path is expected to stay as it is over 20 ms (a room in which people move)."""
NOISE_SMOOTHING = 0.7
"""Share of the old estimate in the level of the user and the noise, over 20 ms."""
OVERESTIMATE = 2.0
"""Factor on the residual echo's estimated power in the postfilter."""
FLOOR = 0.1
"""Least gain of the postfilter (-20 dB): more would cut holes into the user's words."""
ECHO_ONLY = 0.3
"""When less than this share of what is left is not echo, nobody is talking over it …"""
ECHO_ONLY_GAIN = 0.1
"""… and another 20 dB are taken away."""
TAPS = 128
"""Length of the postfilter's impulse response in samples; half of it is delay."""


class KalmanCanceller:
    """Partitioned-block frequency-domain Kalman filter with postfilter."""

    latency_s = TAPS / 2 / SAMPLE_RATE

    def __init__(self) -> None:
        self._block_size, self._gain_db = BLOCKS[0], -12.0
        self.reset(self._gain_db)

    def load(self) -> None:
        """Nothing to load."""

    def close(self) -> None:
        """Nothing to release."""

    def reset(self, gain_db: float) -> None:
        """Forget the echo path; the new one is about `gain_db` loud."""
        size, self._gain_db = self._block_size, gain_db
        bins, partitions = size + 1, TAIL // size
        self._kept = FORGETTING ** (2 * size / BLOCKS[0])
        self._smoothing = NOISE_SMOOTHING ** (size / BLOCKS[0])
        self._path: NDArray[np.complex128] = np.zeros((partitions, bins), dtype=np.complex128)
        self._played: NDArray[np.complex128] = np.zeros((partitions, bins), dtype=np.complex128)
        # The uncertainty starts at the path's expected power, falling off like a room's response.
        start = 10.0 ** (gain_db / 10.0) * 0.16
        decay = np.exp(-6.0 * np.arange(partitions) / partitions)
        self._uncertainty: NDArray[np.float64] = np.repeat((start * decay)[:, None], bins, axis=1)
        self._others: NDArray[np.float64] = np.full(bins, 1e-4)
        self._reference: NDArray[np.float64] = np.zeros(2 * size)
        self._silent_blocks = partitions
        self._history: NDArray[np.float64] = np.zeros(TAPS)
        self._filter = self._as_filter(np.ones(bins))

    def process(self, microphone: Samples, reference: Samples) -> Samples:
        """The microphone's block without echo, `latency_s` late; the length must be a multiple of 160."""
        size = next((size for size in BLOCKS if len(microphone) % size == 0), 0)
        if not size or len(microphone) != len(reference):
            raise ValueError(f"blocks must be multiples of {BLOCKS[-1]} samples and of the same length")
        if size < self._block_size:
            self._block_size = size
            self.reset(self._gain_db)
        size = self._block_size
        parts = [
            self._block(microphone[i : i + size], reference[i : i + size]) for i in range(0, len(microphone), size)
        ]
        return np.concatenate(parts).astype(np.float32) if parts else np.zeros(0, dtype=np.float32)

    def _block(self, near: Samples, far: Samples) -> NDArray[np.float64]:
        size = self._block_size
        self._reference = np.concatenate([self._reference[size:], far])
        self._silent_blocks = 0 if np.any(far) else self._silent_blocks + 1
        self._played[1:] = self._played[:-1]
        if self._silent_blocks > len(self._path):
            # No echo can be left: save the arithmetic.
            self._played[0] = 0.0
            return self._shaped(near.astype(np.float64), np.ones(size + 1))
        self._played[0] = np.fft.rfft(self._reference)
        power = np.abs(self._played) ** 2

        error = self._spectrum(near - self._echo())
        residual = 0.5 * np.sum(self._uncertainty * power, axis=0)
        step = self._uncertainty / (residual + self._others + 1e-10)
        update = np.fft.irfft(step * np.conj(self._played) * error, axis=1)
        update[:, size:] = 0.0
        self._path += np.fft.rfft(update, axis=1)
        self._uncertainty *= self._kept * (1.0 - 0.5 * step * power)
        self._uncertainty += (1.0 - self._kept) * np.abs(self._path) ** 2

        # The output uses the path as corrected by this very block (a posteriori).
        cleaned = near - self._echo()
        left = np.abs(self._spectrum(cleaned)) ** 2
        self._others = self._smoothing * self._others + (1.0 - self._smoothing) * left
        residual = 0.5 * np.sum(self._uncertainty * power, axis=0)
        gains = np.maximum(1.0 - OVERESTIMATE * residual / (left + 1e-12), FLOOR)
        if 1.0 - OVERESTIMATE * float(np.sum(residual)) / (float(np.sum(left)) + 1e-12) < ECHO_ONLY:
            gains *= ECHO_ONLY_GAIN
        return self._shaped(cleaned, gains)

    def _echo(self) -> NDArray[np.float64]:
        return np.fft.irfft(np.sum(self._path * self._played, axis=0))[self._block_size :]

    @staticmethod
    def _spectrum(block: NDArray[np.float64]) -> NDArray[np.complex128]:
        return np.fft.rfft(np.concatenate([np.zeros(len(block)), block]))

    @staticmethod
    def _as_filter(gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """A symmetric impulse response of `TAPS + 1` samples with about these gains."""
        response = np.roll(np.fft.irfft(gains), TAPS // 2)[: TAPS + 1]
        return np.asarray(response * np.hanning(TAPS + 3)[1:-1])

    def _shaped(self, block: NDArray[np.float64], gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Filter the block, fading from the last block's gains to these."""
        signal = np.concatenate([self._history, block])
        fresh = self._as_filter(gains)
        fade = (np.arange(len(block)) + 0.5) / len(block)
        old, new = (np.convolve(signal, response, mode="valid") for response in (self._filter, fresh))
        self._filter, self._history = fresh, signal[-TAPS:]
        return np.asarray(old * (1.0 - fade) + new * fade)
