"""Gain, limiter, fades, pauses."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgevoice.tts import shaping


@given(st.floats(0.0, 4.0), st.floats(0.1, 3.0))
def test_nothing_is_ever_clipped_and_order_is_kept(peak: float, gain: float) -> None:
    ramp = np.linspace(-peak, peak, 501, dtype=np.float32)
    pcm = shaping.to_pcm(ramp.copy(), gain).astype(int)
    assert np.abs(pcm).max() < 32767
    assert (np.diff(pcm) >= 0).all()


def test_normal_speech_is_only_scaled() -> None:
    quiet = np.linspace(-0.5, 0.5, 101, dtype=np.float32)
    assert np.allclose(shaping.to_pcm(quiet, 1.5) / 32766.0, quiet * 1.5, atol=1 / 32766)


def test_sentences_pause_longer_than_commas_than_nothing() -> None:
    assert shaping.pause_after(".") > shaping.pause_after(",") > shaping.pause_after("")


def test_leading_and_trailing_silence_are_found() -> None:
    sound = np.zeros(22050, np.float32)
    sound[5000:10000] = 0.1
    assert 5000 - 22050 * 0.02 < shaping.onset(sound, 1.0, 22050) < 5000
    assert 10000 < shaping.ending(sound, 1.0, 22050) < 10000 + 22050 * 0.05
    assert shaping.onset(np.zeros(100, np.float32), 1.0, 22050) == 100
