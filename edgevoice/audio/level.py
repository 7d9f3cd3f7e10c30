"""How loud is it? Levels in dBFS (0 dBFS: a full-scale square wave), clipping, too quiet and too loud."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FLOOR_DBFS = -120.0
"""Level reported for digital silence."""
CLIP_AT = 0.999
"""Absolute sample value that counts as clipped."""
QUIET_SPEECH_DBFS = -45.0
"""Speech below this level is hard to recognise."""
LOUD_SPEECH_DBFS = -6.0
"""Speech above this level is about to clip."""


def dbfs(samples: NDArray[np.float32]) -> float:
    """Root-mean-square level of float32 samples in dBFS; FLOOR_DBFS for silence or no samples."""
    if not len(samples):
        return FLOOR_DBFS
    return power_to_db(float(np.dot(samples, samples)) / len(samples))


def power_to_db(power: float) -> float:
    """Mean square value to dBFS."""
    return max(FLOOR_DBFS, 10.0 * math.log10(power)) if power > 0 else FLOOR_DBFS


def clipped_share(samples: NDArray[np.float32]) -> float:
    """Share of samples in [0, 1] that stand at full scale."""
    return float(np.mean(np.abs(samples) >= CLIP_AT)) if len(samples) else 0.0


@dataclass(frozen=True, slots=True)
class LevelReport:
    """What a recording's level means to a user."""

    rms_dbfs: float
    peak_dbfs: float
    clipped: float
    """Share of clipped samples."""
    verdict: str
    """`ok`, `silent`, `quiet`, `loud` or `clipped`."""


def judge(samples: NDArray[np.float32]) -> LevelReport:
    """Judge a stretch of speech, float32 [n]."""
    rms = dbfs(samples)
    peak = float(np.max(np.abs(samples))) if len(samples) else 0.0
    clipped = clipped_share(samples)
    if rms <= -90:
        verdict = "silent"
    elif clipped > 0.001:
        verdict = "clipped"
    elif rms < QUIET_SPEECH_DBFS:
        verdict = "quiet"
    elif rms > LOUD_SPEECH_DBFS:
        verdict = "loud"
    else:
        verdict = "ok"
    return LevelReport(rms, power_to_db(peak * peak), clipped, verdict)
