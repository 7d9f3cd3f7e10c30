"""The vocoder with its first stages in INT8, on the real voice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgevoice.models import store
from edgevoice.models.onnx import session_of
from edgevoice.tts.optimize.measure import compare
from edgevoice.tts.vits import forms
from edgevoice.tts.vits.layout import block_size
from edgevoice.tts.vits.phonemes import Phonemizer
from edgevoice.tts.vits.prepare import PreparedVoice, prepare
from edgevoice.tts.vits.quantized import balanced, build_quantized, ranges, whole
from edgevoice.tts.vits.runner import SoundStream, VitsRunner
from edgevoice.tts.vits.tiers import SMALLER, load, tier_files
from edgevoice.tts.vits.vocoder import Upsampler, Vocoder
from edgevoice.tts.vits.vocoder_graph import build
from tests.tts.test_pruning import vocoder_of

pytestmark = pytest.mark.skipif(block_size() == 1, reason="this processor has no blocked layout")

SENTENCE = "The museum opens at ten, and the last visitors have to leave by half past five."


@pytest.fixture(scope="module")
def voice() -> PreparedVoice:
    return prepare(store.find("en_US-joe-medium", "tts"))


def spoken(voice: PreparedVoice, tier: str) -> np.ndarray:
    """The sentence from the same latents (those of `fine`) through a tier's vocoder, whole."""
    runner = VitsRunner(voice, "fine")
    ids = np.array(Phonemizer(voice.config).phonemize(SENTENCE).ids)
    encoding = runner.encode(ids, np.random.default_rng(1).standard_normal((2, len(ids)), dtype=np.float32), 1.0)
    latents = SoundStream(runner, encoding, np.random.default_rng(2)).latents()
    runner.set_tier(tier)
    return runner.vocoder.run(latents, True, True)


def test_the_default_voice_comes_with_a_smaller_vocoder(voice: PreparedVoice) -> None:
    smaller = load(tier_files(voice.digest)[SMALLER], voice.digest)
    original = VitsRunner(voice, "fine")
    assert smaller.stages[-1].up.weight.shape[1] == 16
    assert smaller.reach == original.vocoder.reach, "a piece reads no further than before"


def test_int8_stages_sound_like_the_original(voice: PreparedVoice) -> None:
    original = spoken(voice, "fine")
    found = [tier for tier in ("standard", "light") if tier in voice.tiers]
    for tier, furthest_db in (("standard", 1.5), ("light", 2.2)):
        if tier not in found:
            continue
        close = compare(spoken(voice, tier), original, voice.config.sample_rate)
        assert 0 < close.mel_db < furthest_db, tier
        assert close.energy > 0.99
        assert close.pitch > 0.9
        assert close.clicks == 0


def quantizable(block: int) -> Vocoder:
    three = vocoder_of(2 * block, 2 * block)
    return Vocoder(three.pre, (*three.stages, three.stages[1]), three.post)


@pytest.mark.parametrize("more", [0, 2])
def test_a_piece_of_int8_sound_equals_the_whole(more: int) -> None:
    """Also where another form of the voice needs more around a piece."""
    block = block_size()
    vocoder = quantizable(block)
    latents = np.random.default_rng(0).standard_normal((2 * block, 80)).astype(np.float32)
    for stages in (1, 2):
        reach, hop = vocoder.reach + more, vocoder.hop
        session = session_of(build_quantized(vocoder, ranges(vocoder, [latents]), stages, block, reach))
        sound = session.run(None, whole(latents))[0].reshape(-1)
        for first, last in ((0, 30), (30, 50), (50, 80)):
            begin, end = max(0, first - reach), min(80, last + reach)
            feed = {
                "latents": latents[None, :, None, begin:end],
                "left_edge": np.array([int(begin == 0)]),
                "right_edge": np.array([int(end == 80)]),
            }
            piece = session.run(None, feed)[0].reshape(-1)
            start = (first - begin) * hop if begin == 0 else 0
            assert (piece[start : start + (last - first) * hop] == sound[first * hop : last * hop]).all()


def test_balancing_channels_changes_nothing() -> None:
    vocoder = quantizable(block_size())
    latents = np.random.default_rng(0).standard_normal((2 * block_size(), 50)).astype(np.float32)
    even = balanced(vocoder, 1, ranges(vocoder, [latents]))
    assert np.abs(even.stages[1].up.weight - vocoder.stages[1].up.weight).max() > 0
    sounds = [session_of(build(v)).run(None, whole(latents))[0] for v in (vocoder, even)]
    assert np.abs(sounds[0] - sounds[1]).max() < 1e-4


def test_a_smaller_vocoder_is_what_the_faster_tiers_are_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    block = block_size()
    vocoder = quantizable(block)
    last = vocoder.stages[-1]
    quieter = Upsampler(last.up.weight * np.float32(0.5), last.up.bias, last.up.stride)
    smaller = replace(vocoder, stages=(*vocoder.stages[:-1], replace(last, up=quieter)))
    latents = [np.random.default_rng(i).standard_normal((2 * block, 70)).astype(np.float32) for i in range(3)]
    monkeypatch.setattr(forms, "LEAST_SNR_DB", -99.0)
    exact = build(vocoder, block=block)
    for gain, tiers, close_to in ((1e9, 0, None), (0.0, 2, smaller)):
        monkeypatch.setattr(forms, "LEAST_GAIN", gain)
        made = forms.faster_forms(vocoder, exact, smaller, latents, block)
        assert len(made) == tiers
        for graph in made.values():
            wanted, found = (session_of(g).run(None, whole(latents[0]))[0] for g in (build(close_to), graph))
            assert np.corrcoef(wanted.reshape(-1), found.reshape(-1))[0, 1] > 0.97


def test_a_processor_without_int8_keeps_the_smaller_one_in_float(monkeypatch: pytest.MonkeyPatch) -> None:
    block = block_size()
    vocoder = quantizable(block)
    latents = [np.random.default_rng(i).standard_normal((2 * block, 70)).astype(np.float32) for i in range(3)]
    gains = iter([1.5, 0.8])
    monkeypatch.setattr(forms, "_gain", lambda *_: next(gains))
    made = forms.faster_forms(vocoder, build(vocoder, block=block), vocoder, latents, block)
    assert list(made) == ["standard"]
    assert not any("Quantize" in node.op_type for node in made["standard"].graph.node)


def test_int8_that_does_not_pay_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    block = block_size()
    vocoder = quantizable(block)
    latents = [np.random.default_rng(i).standard_normal((2 * block, 70)).astype(np.float32) for i in range(3)]
    monkeypatch.setattr(forms, "LEAST_GAIN", 1e9)
    assert forms.faster_forms(vocoder, build(vocoder, block=block), None, latents, block) == {}
    monkeypatch.setattr(forms, "LEAST_GAIN", 0.0)
    monkeypatch.setattr(forms, "LEAST_SNR_DB", -99.0)
    assert set(forms.faster_forms(vocoder, build(vocoder, block=block), None, latents, block)) == {"standard", "light"}
    assert forms.faster_forms(vocoder, build(vocoder), None, latents, 1) == {}
