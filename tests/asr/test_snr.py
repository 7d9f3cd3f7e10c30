from __future__ import annotations

import numpy as np
import pytest

from edgevoice.asr.evaluation import mix
from edgevoice.asr.recognizer import Samples
from edgevoice.asr.snr import estimate_snr


@pytest.mark.parametrize("ratio", [20, 10, 5])
def test_mixed_noise_is_found_again(when_back: Samples, ratio: float) -> None:
    estimate = estimate_snr(mix(when_back, ratio, np.random.default_rng(0)))
    assert estimate is not None
    assert abs(estimate - ratio) < 7


def test_more_noise_is_a_lower_estimate(help_you_pack: Samples) -> None:
    random = np.random.default_rng(0)
    estimates = [estimate_snr(mix(help_you_pack, ratio, random)) for ratio in (30, 20, 10, 0)]
    assert estimates == sorted(estimates, reverse=True)


def test_noise_alone_has_a_low_ratio() -> None:
    noise = np.random.default_rng(0).standard_normal(16_000).astype(np.float32) * 0.01
    assert (estimate_snr(noise) or 0) < 3


@pytest.mark.parametrize("length", [0, 100, 16_000])
def test_silence_and_too_little_have_none(length: int) -> None:
    assert estimate_snr(np.zeros(length, np.float32)) is None
