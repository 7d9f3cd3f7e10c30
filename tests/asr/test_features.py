from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import fft

from edgevoice.asr.features import HOP, FeatureStream, features, mel_filters, whisper_features


def sound(length: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(length) * 0.1).astype(np.float32)


@settings(max_examples=40, deadline=None)
@given(st.integers(401, 9000), st.lists(st.integers(1, 1500), min_size=1, max_size=30))
def test_a_stream_equals_the_offline_features_bit_for_bit(length: int, cuts: list[int]) -> None:
    samples = sound(length)
    stream, pieces, at = FeatureStream(), [], 0
    for cut in [*cuts, length]:
        pieces.append(stream.accept(samples[at : at + cut]))
        at += cut
    assert np.array_equal(np.concatenate([*pieces, stream.tail()]), features(samples))


def test_one_frame_per_ten_milliseconds() -> None:
    assert features(sound(16_000)).shape == (100, 80)


def test_a_frame_comes_when_its_last_sample_is_there() -> None:
    stream, t = FeatureStream(), 5
    samples = sound(4000)
    before = len(stream.accept(samples[: HOP * t + 199]))
    assert (before, before + len(stream.accept(samples[HOP * t + 199 : HOP * t + 200]))) == (t, t + 1)


def test_the_tail_leaves_the_stream_as_it_was() -> None:
    samples = sound(5000)
    stream, untouched = FeatureStream(), FeatureStream()
    stream.accept(samples[:3000]), untouched.accept(samples[:3000])
    stream.tail(1600)
    assert np.array_equal(stream.accept(samples[3000:]), untouched.accept(samples[3000:]))


@pytest.mark.parametrize("length", [0, 1, 200])
def test_too_short_a_clip_has_no_frames(length: int) -> None:
    assert features(sound(length)).shape == (0, 80)
    assert whisper_features(sound(length)).shape == (0, 80)


def test_loud_sound_later_does_not_change_earlier_frames() -> None:
    quiet, loud = sound(8000) * 0.01, sound(8000, seed=1)
    both = features(np.concatenate([quiet, loud]))
    assert np.array_equal(both[:40], features(quiet)[:40])


def test_frames_hold_the_log_mel_power_of_their_window() -> None:
    samples = sound(16_000)
    window = samples[HOP * 50 - 200 : HOP * 50 + 200] * np.hanning(401)[:-1]
    expected = np.log10(np.maximum(mel_filters() @ np.abs(fft.rfft(window)) ** 2, 1e-10))
    assert np.allclose(features(samples)[50] * 4 - 4, expected, atol=1e-4)
