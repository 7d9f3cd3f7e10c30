"""Signal-to-noise ratio of a segment, estimated without knowing which parts are speech."""

from __future__ import annotations

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples

FRAME = SAMPLE_RATE // 50
"""Samples of one energy measurement (20 ms)."""
NOISE_PERCENTILE = 10.0
"""The quietest frames are taken for noise: even in fast speech a tenth of the frames are closures and pauses."""
FLOOR_DBFS = -90.0
"""Noise below this is taken as this: digital silence would give an infinite ratio."""
MOST_DB = 60.0


def estimate_snr(samples: Samples) -> float | None:
    """Signal-to-noise ratio in dB in [-10, 60]; None for less than 200 ms or for silence.

    The mean power less that of the quiet frames, against that of the quiet frames. Steady noise alone gives about -10 dB,
    because there all frames are alike.
    """
    whole = len(samples) // FRAME
    if whole < 10:
        return None
    power = np.mean(np.square(samples[: whole * FRAME].reshape(whole, FRAME), dtype=np.float64), axis=1)
    quiet, loud = np.percentile(power, NOISE_PERCENTILE), float(np.mean(power))
    floor = 10.0 ** (FLOOR_DBFS / 10.0)
    if loud <= floor:
        return None
    noise = max(float(quiet), floor)
    ratio = max(float(loud) - noise, noise / 10.0) / noise
    return float(min(MOST_DB, 10.0 * np.log10(ratio)))
