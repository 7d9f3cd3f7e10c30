"""Smaller vocoders: closed-form pruning, storage, measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from edgevoice.errors import ModelDataError
from edgevoice.tts.optimize.measure import clicks, compare
from edgevoice.tts.optimize.prune import choose, moments, prune
from edgevoice.tts.optimize.refit import shrink_last_stage
from edgevoice.tts.vits import tiers
from edgevoice.tts.vits.quantized import whole
from edgevoice.tts.vits.vocoder import Conv, Stage, Upsampler, Vocoder
from edgevoice.tts.vits.vocoder_graph import build


def small_vocoder(seed: int = 0) -> Vocoder:
    """A generator with two stages, in which half of the channels are copies: it can be halved without loss."""
    return vocoder_of(8, 6, seed)


def vocoder_of(width: int, latent: int, seed: int = 0) -> Vocoder:
    """A generator with two stages of so many channels, in which half of the channels are copies."""
    rng = np.random.default_rng(seed)

    def array(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.57 / np.sqrt(width)).astype(np.float32)

    def doubled(outputs: int, inputs: int, taps: int, dilation: int = 1) -> Conv:
        weight, bias = array(outputs // 2, inputs, taps), array(outputs // 2)
        return Conv(np.concatenate([weight, weight]), np.concatenate([bias, bias]), dilation)

    stages = []
    for inputs, outputs in ((width, width), (width, width)):
        up = array(inputs, outputs // 2, 4)
        bias = array(outputs // 2)
        blocks = tuple(((doubled(outputs, outputs, taps),), (doubled(outputs, outputs, taps, 2),)) for taps in (3, 5))
        stages.append(Stage(Upsampler(np.concatenate([up, up], 1), np.concatenate([bias, bias]), 2), 0.1, blocks))
    return Vocoder(doubled(width, latent, 7), tuple(stages), Conv(array(1, width, 7), None))


def sound_of(vocoder: Vocoder, latents: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(build(vocoder).SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, whole(latents))[0]).reshape(-1)


def latents(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((6, count)).astype(np.float32)


def test_redundant_channels_go_without_loss() -> None:
    whole = small_vocoder()
    pieces = [latents(200, seed) for seed in range(3)]
    halved = prune(whole, moments(whole, pieces), [4, 4, 4])
    shrunk = shrink_last_stage(whole, pieces, 4)
    wanted = sound_of(whole, latents(60, 9))
    for smaller in (halved, shrunk):
        made = sound_of(smaller, latents(60, 9))
        assert 10 * np.log10(np.mean((made - wanted) ** 2) / np.mean(wanted**2)) < -35
    assert halved.stages[0].up.weight.shape[1] == 4


def test_channels_that_explain_the_rest_are_chosen() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 1000))
    covariance = np.cov(np.stack([x[0], 0.5 * x[0], x[1], 2 * x[1]]))
    assert len({int(i) // 2 for i in choose(covariance, 2)}) == 2


def test_reach_is_what_the_output_really_depends_on() -> None:
    vocoder = small_vocoder()
    middle = 40
    base = latents(80)
    for distance, changed in ((vocoder.reach + 1, False), (1, True)):
        other = base.copy()
        other[:, middle + distance] += 3
        hop = vocoder.hop
        span = slice(middle * hop, (middle + 1) * hop)
        assert bool(np.abs(sound_of(vocoder, base)[span] - sound_of(vocoder, other)[span]).max() > 0) is changed


def test_tier_survives_storage_and_knows_its_voice(tmp_path: Path) -> None:
    vocoder = small_vocoder()
    path = tmp_path / "light.npz"
    tiers.save(vocoder, path, "a" * 64)
    again = tiers.load(path, "a" * 64)
    assert np.abs(sound_of(again, latents(50)) - sound_of(vocoder, latents(50))).max() < 0.01
    with pytest.raises(ModelDataError, match="another voice"):
        tiers.load(path, "b" * 64)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ModelDataError):
        tiers.load(path, "a" * 64)


def test_measures_tell_same_from_different_and_find_a_click() -> None:
    time = np.arange(22050) / 22050
    sound = (0.3 * np.sin(2 * np.pi * 150 * time) + 0.1 * np.sin(2 * np.pi * 450 * time)).astype(np.float32)
    same = compare(sound, sound, 22050)
    assert same.mel_db == 0
    assert same.pitch > 0.99 or np.isnan(same.pitch) or same.pitch == 0
    noisy = compare(sound + 0.05 * np.random.default_rng(0).standard_normal(22050).astype(np.float32), sound, 22050)
    assert noisy.mel_db > 3
    assert noisy.snr_db < 20
    assert len(clicks(sound, 22050)) == 0
    popped = sound.copy()
    popped[11000] += 0.3
    assert len(clicks(popped, 22050)) == 1
