"""When words end, held against a CTC alignment by our own recogniser."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from edgevoice.asr.ctc import MODEL_FILE, CtcEncoder
from edgevoice.asr.features import FeatureStream
from edgevoice.asr.lexicon import Pronunciation, pronunciations
from edgevoice.asr.recognizer import SAMPLE_RATE
from edgevoice.asr.search import ENCODER_FRAME_SECONDS
from edgevoice.audio.resample import MonoResampler, to_float
from edgevoice.models import store
from edgevoice.tts.optimize.sentences import sentences
from edgevoice.tts.piper import PiperSynthesizer

NEAR = 0.06
"""Seconds."""


def emissions(log_probs: NDArray[np.float64], phones: list[int]) -> list[tuple[int, int]]:
    """First and last frame of every phone on the best CTC path (Viterbi over blank, phone, blank, …)."""
    states = np.zeros(2 * len(phones) + 1, int)
    states[1::2] = phones
    # A blank may be left out between two different phones.
    skips = np.zeros(len(states), bool)
    skips[3::2] = states[3::2] != states[1:-2:2]
    score = np.full(len(states), -np.inf)
    score[:2] = log_probs[0, states[:2]]
    steps = np.zeros((len(log_probs), len(states)), int)
    for t in range(1, len(log_probs)):
        choices = np.full((3, len(states)), -np.inf)
        choices[0], choices[1, 1:], choices[2, 2:] = score, score[:-1], np.where(skips, np.roll(score, 2), -np.inf)[2:]
        steps[t] = choices.argmax(axis=0)
        score = choices.max(axis=0) + log_probs[t, states]
    state = len(states) - (1 if score[-1] > score[-2] else 2)
    frames: dict[int, list[int]] = {}
    for t in range(len(log_probs) - 1, -1, -1):
        if state % 2:
            frames.setdefault(state // 2, []).append(t)
        state -= steps[t, state]
    return [(min(frames[i]), max(frames[i])) for i in range(len(phones))]


def expected_ends(sound: NDArray[np.int16], rate: int, words: list[Pronunciation], encoder: CtcEncoder) -> list[float]:
    """Seconds at which each word ends: where the silence after it begins; without one, half way between the emission
    of its last phone and that of the next word's first.
    """
    resampler, stream = MonoResampler(rate, SAMPLE_RATE), FeatureStream()
    samples = np.concatenate([resampler.accept(to_float(sound)), resampler.finish()])
    features = np.concatenate([stream.accept(samples.astype(np.float32)), stream.tail(SAMPLE_RATE // 2)])
    log_probs = encoder.whole(features).astype(np.float64)
    found = iter(emissions(log_probs, list(chain.from_iterable(words))))
    spans = [[next(found) for _ in word] for word in words]
    step = rate // 100
    power = (sound[: len(sound) // step * step].reshape(-1, step) / 32768) ** 2
    level = 10 * np.log10(power.mean(axis=1) + 1e-10)
    quiet = np.append(level < np.percentile(level, 95) - 32, [True] * 5)
    ends = []
    for i, span in enumerate(spans):
        last = (span[-1][1] + 1) * ENCODER_FRAME_SECONDS
        following = spans[i + 1][0][0] * ENCODER_FRAME_SECONDS if i + 1 < len(spans) else len(sound) / rate
        between = range(max(0, int(last * 100) - 2), min(int(following * 100), len(quiet) - 4))
        silence = next((frame / 100 for frame in between if quiet[frame : frame + 5].all()), None)
        ends.append((last + following) / 2 if silence is None else silence)
    return ends


def test_word_ends_agree_with_a_ctc_alignment() -> None:
    voice = PiperSynthesizer(tier="standard")
    voice.load()
    encoder = CtcEncoder(store.find("asr-en-ctc", "asr") / MODEL_FILE, 1)
    off: list[float] = []
    for text in sentences(20):
        chunks = list(voice.synthesize(text))
        # Of a long clause the exact times come with a later chunk.
        words = [chunk.words for chunk in chunks if chunk.words][-1]
        spelled = [re.sub(r"[^a-z']", "", text[word.begin : word.end].lower()) for word in words]
        if re.search(r"\d", text):
            continue
        sound = np.concatenate([chunk.samples for chunk in chunks])
        ends = expected_ends(sound, voice.sample_rate, [pronunciations(word)[0] for word in spelled], encoder)
        off += [word.end_sample / voice.sample_rate - end for word, end in zip(words, ends, strict=True)]
    assert len(off) > 150
    assert np.mean(np.abs(off) <= NEAR) >= 0.95, f"{np.mean(np.abs(off) <= NEAR):.3f} within 60 ms"
    assert abs(np.median(off)) < 0.03
