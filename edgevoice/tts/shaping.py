"""The sound of it: one fixed gain, a limiter that is idle on normal speech, short fades, pauses that fit the
punctuation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgevoice.tts.vits.arrays import Floats

VERSION = 1
"""Raised whenever a voice's sound leaves here (or with its fixed gain) different from before, so that kept phrases are
made again."""
FADE_S = 0.005
"""Seconds of the fades at both ends of a clause."""
KNEE = 0.8
"""Level in [0, 1] above which the limiter bends; it never reaches 1."""
AUDIBLE = 0.004
"""Amplitude (-48 dBFS) below which sound counts as silence."""
LEAD_S = 0.015
"""Seconds kept before the first audible sample."""
TAIL_S = 0.040
"""Seconds kept after the last audible sample."""

PAUSES_S = {".": 0.22, "!": 0.22, "?": 0.22, "…": 0.28, ":": 0.16, ";": 0.16, "—": 0.14, ",": 0.10}
"""Seconds of silence after a clause, by the punctuation it ends with."""
NO_PAUSE_S = 0.02
"""Seconds after a clause without punctuation: the sentence goes on."""


def pause_after(punctuation: str) -> float:
    """Seconds of silence after a clause that ends with this mark (or none)."""
    return PAUSES_S.get(punctuation, NO_PAUSE_S)


class Leveller:
    """Evens out loudness: the voice says some sentences 6 dB louder than others. Causal, the same for every clause.

    Above the threshold the level grows only a quarter as fast (a compressor with slow release); a constant makes up for
    it. Keep one per part and give it the sound in order.
    """

    BLOCK_S = 0.005
    ATTACK_S, RELEASE_S = 0.01, 0.25
    THRESHOLD_DB, RATIO, MAKEUP_DB = -30.0, 4.0, 7.0

    def __init__(self, rate: int, gain: float) -> None:
        self._block = int(rate * self.BLOCK_S)
        self._rise = 1 - float(np.exp(-self.BLOCK_S / self.ATTACK_S))
        self._fall = 1 - float(np.exp(-self.BLOCK_S / self.RELEASE_S))
        self._gain = gain
        self._power = 0.0
        self._factor = 10 ** (self.MAKEUP_DB / 20)

    def level(self, sound: Floats) -> Floats:
        """The next stretch of sound, evened out."""
        count = -(-len(sound) // self._block)
        if count == 0:
            return sound
        padded = np.zeros(count * self._block, np.float32)
        padded[: len(sound)] = sound
        powers = (padded.reshape(count, -1).astype(np.float64) ** 2).mean(axis=1) * self._gain**2
        factors = np.empty(count + 1)
        factors[0] = self._factor
        for i, power in enumerate(powers):
            self._power += (self._rise if power > self._power else self._fall) * (power - self._power)
            over = 10 * np.log10(max(self._power, 1e-10)) - self.THRESHOLD_DB
            factors[i + 1] = 10 ** ((self.MAKEUP_DB - max(over, 0.0) * (1 - 1 / self.RATIO)) / 20)
        self._factor = float(factors[-1])
        curve = np.interp(np.arange(len(sound)), np.arange(count + 1) * self._block, factors)
        evened: Floats = sound * curve.astype(np.float32)
        return evened


def to_pcm(sound: Floats, gain: float) -> NDArray[np.int16]:
    """Sound in [-1, 1] times `gain` as 16-bit samples. Peaks above the knee are bent smoothly: nothing is clipped."""
    louder = sound * np.float32(gain)
    over = np.abs(louder) > KNEE
    if over.any():
        room = np.float32(1.0 - KNEE)
        bent = KNEE + room * np.tanh((np.abs(louder[over]) - KNEE) / room)
        louder[over] = np.sign(louder[over]) * bent
    return np.round(louder * 32766.0).astype(np.int16)


def onset(sound: Floats, gain: float, rate: int) -> int:
    """First sample worth playing: shortly before the first audible one; the length if all is silence."""
    audible = np.flatnonzero(np.abs(sound) * gain > AUDIBLE)
    return max(0, int(audible[0]) - int(LEAD_S * rate)) if len(audible) else len(sound)


def ending(sound: Floats, gain: float, rate: int) -> int:
    """One past the last sample worth playing: shortly after the last audible one."""
    audible = np.flatnonzero(np.abs(sound) * gain > AUDIBLE)
    return min(len(sound), int(audible[-1]) + 1 + int(TAIL_S * rate)) if len(audible) else 0


def fade_in(sound: Floats, rate: int) -> None:
    """Fade the beginning in, in place."""
    count = min(len(sound), int(FADE_S * rate))
    sound[:count] *= np.linspace(0, 1, count, dtype=np.float32)


def fade_out(sound: Floats, rate: int) -> None:
    """Fade the end out, in place."""
    count = min(len(sound), int(FADE_S * rate))
    if count:
        sound[-count:] *= np.linspace(1, 0, count, dtype=np.float32)
