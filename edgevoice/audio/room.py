"""A simulated room: what the speaker plays comes back into the microphone, late, quieter, with reverberation and noise.

Used in lock-step (virtual time: tests, benches) or in real time (`edgevoice replay --room`): the room has no thread of
its own, it only answers `microphone(n)` with the next n samples. Whoever drives it decides what time it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.audio.timeline import Timeline

DIRECT_TO_REVERBERANT_DB = 6.0
"""Direct sound against the tail: a speaker and a microphone in one box or on one table."""


def decibels(samples: Samples) -> float:
    """Level of `samples` in dBFS (0 dBFS: mean square of 1); -120 for silence."""
    power = float(np.mean(np.square(samples, dtype=np.float64))) if len(samples) else 0.0
    return 10.0 * float(np.log10(max(power, 1e-12)))


def impulse_response(rt60_s: float, seed: int = 0) -> NDArray[np.float32]:
    """Impulse response of unit energy: a direct sound and an exponentially decaying noise tail.

    The decay reaches -60 dB after `rt60_s` seconds (Sabine's definition; the noise model is Moorer, "About this
    reverberation business", 1979). A shape of [1] when `rt60_s` is 0.
    """
    if rt60_s <= 0:
        return np.ones(1, dtype=np.float32)
    count = max(2, round(rt60_s * SAMPLE_RATE))
    tail = np.random.default_rng(seed).standard_normal(count) * 10.0 ** (-3.0 * np.arange(count) / count)
    tail[0] = 0.0
    tail *= 10.0 ** (-DIRECT_TO_REVERBERANT_DB / 20.0) / np.sqrt(np.sum(tail**2))
    tail[0] = 1.0
    return np.asarray(tail / np.sqrt(np.sum(tail**2)), dtype=np.float32)


class Room:
    """Speaker-to-microphone loop.

    `delay_s`: from a sample's play time to its direct sound at the microphone (device buffers included), in seconds.
    `gain_db`: level of the echo at the microphone against the level played. `rt60_s`: reverberation time in seconds.
    `noise_dbfs`: level of white background noise, None for none. `start`: time of the microphone's first sample.
    `played` and `say` may be called from other threads than `microphone`.
    """

    def __init__(
        self,
        delay_s: float = 0.08,
        gain_db: float = -12.0,
        rt60_s: float = 0.3,
        noise_dbfs: float | None = -60.0,
        seed: int = 0,
        start: float = 0.0,
    ) -> None:
        self.delay_s, self.gain_db = delay_s, gain_db
        self._response = impulse_response(rt60_s, seed) * np.float32(10.0 ** (gain_db / 20.0))
        self._noise = 0.0 if noise_dbfs is None else 10.0 ** (noise_dbfs / 20.0)
        self._random = np.random.default_rng(seed + 1)
        self._speaker = Timeline(seconds=60.0 + delay_s + rt60_s)
        self._people = Timeline(seconds=120.0)
        self._next = round(start * SAMPLE_RATE)

    @property
    def time(self) -> float:
        """Time in seconds after the last microphone sample taken."""
        return self._next / SAMPLE_RATE

    def played(self, samples: Samples, time: float) -> None:
        """The speaker plays `samples` (16 kHz float32), the first of them at `time`: the signature of a speaker's tap.

        Must come before the microphone is read up to `time + delay_s`, as it does with a real device.
        """
        self._speaker.write(samples, time)

    def say(self, samples: Samples, time: float) -> None:
        """Somebody in the room speaks `samples`, heard at the microphone from `time` on; at most two minutes ahead."""
        self._people.add(samples, time)

    def microphone(self, count: int) -> Samples:
        """The next `count` samples at the microphone, clipped to [-1, 1]."""
        history = len(self._response) - 1
        late = round(self.delay_s * SAMPLE_RATE)
        played = self._speaker.read_at(self._next - late - history, count + history)
        heard = self._people.read_at(self._next, count)
        if np.any(played):
            heard += np.asarray(fftconvolve(played, self._response, mode="valid"), dtype=np.float32)
        if self._noise:
            heard += self._noise * self._random.standard_normal(count, dtype=np.float32)
        self._next += count
        return np.clip(heard, -1.0, 1.0)
