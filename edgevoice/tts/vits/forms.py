"""The forms of a voice's vocoder made at set-up: float, smaller where there is a smaller one, and with one or two stages
in INT8 where that pays here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import numpy as np
import onnx

from edgevoice.models.onnx import session_of
from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.config import VoiceConfig
from edgevoice.tts.vits.phonemes import Phonemizer
from edgevoice.tts.vits.quantized import balanced, build_quantized, ranges, whole
from edgevoice.tts.vits.vocoder import Vocoder
from edgevoice.tts.vits.vocoder_graph import build, fits

log = logging.getLogger(__name__)

SENTENCES = (
    "Yes.",
    "The quick brown fox jumps over the lazy dog, while the old judge vexes my big sphinx!",
    "Tomorrow will be mostly sunny, with a light wind from the west and about seventeen degrees.",
    "Sorry, I could not find that. Would you like me to search for something else?",
    "Your timer for twenty five minutes is set, and the kitchen lights are off.",
    "Wow, that is huge! How on earth did you manage to do it?",
)
"""Whose sound gives the ranges of the INT8 tensors; the last one is kept to check the result with."""
LONGEST = 160
"""Frames used of each of them."""
LEAST_GAIN = 1.05
"""INT8 must be this much faster than the form before it; processors without INT8 instructions gain nothing."""
LEAST_SNR_DB = 8.0
"""Closeness to the float sound below which something is wrong, such as sums that overflow."""


def faster_forms(
    vocoder: Vocoder,
    exact: onnx.ModelProto,
    smaller: Vocoder | None,
    latents: Sequence[Floats],
    block: int,
    reach: int = 0,
) -> dict[str, onnx.ModelProto]:
    """`standard` (`smaller` if there is one, one stage in INT8) and `light` (two), those that pay; `exact` is the float
    form of `vocoder`, which they are held against.

    `latents` [channels, frames] of a few sentences, at least two. A processor without INT8 instructions keeps the
    smaller one in float.
    """
    found: dict[str, onnx.ModelProto] = {}
    *known, check = latents
    best = exact
    if smaller:
        made = build(smaller, block=block, reach=reach)
        gain, snr_db = _gain(best, made, check), _closeness(exact, made, check)
        log.info("the smaller vocoder: %.2f times as fast, %.0f dB", gain, snr_db)
        if gain >= LEAST_GAIN and snr_db >= LEAST_SNR_DB:
            found["standard"] = best = made
            vocoder = smaller
    if not fits(vocoder, block) or len(vocoder.stages) < 3:
        return found
    for stages, tier in ((1, "standard"), (2, "light")):
        if stages > 1:
            vocoder = balanced(vocoder, stages - 1, ranges(vocoder, known))
        made = build_quantized(vocoder, ranges(vocoder, known), stages, block, reach)
        gain, snr_db = _gain(best, made, check), _closeness(exact, made, check)
        log.info("vocoder with %d stage(s) in INT8: %.2f times as fast, %.0f dB", stages, gain, snr_db)
        if gain < LEAST_GAIN or snr_db < LEAST_SNR_DB:
            break
        found[tier] = best = made
    return found


def calibration_latents(config: VoiceConfig, encoder: onnx.ModelProto, flow: onnx.ModelProto) -> list[Floats]:
    """What the vocoder reads when the voice says SENTENCES, each [channels, frames]."""
    encode, spread = session_of(encoder), session_of(flow)
    phonemizer, rng = Phonemizer(config), np.random.default_rng(0)
    scales = np.array([config.noise_scale, config.length_scale, config.duration_noise_scale], np.float32)
    edge = np.ones(1, np.int64)
    found = []
    for text in SENTENCES:
        ids = np.array(phonemizer.phonemize(text).ids)[None]
        noise = rng.standard_normal((1, 2, ids.shape[1]), dtype=np.float32)
        mean, deviation, durations = encode.run(
            ["mean", "deviation", "durations"], {"ids": ids, "scales": scales, "duration_noise": noise}
        )
        which = np.repeat(np.arange(len(durations)), durations.astype(np.int64))[:LONGEST]
        noise = rng.standard_normal((len(which), mean.shape[1]), dtype=np.float32)
        prior = mean[which] + noise * deviation[which] * np.float32(config.noise_scale)
        latents = spread.run(None, {"prior": prior.astype(np.float32), "left_edge": edge, "right_edge": edge})[0]
        found.append(np.ascontiguousarray(latents.T))
    return found


def _gain(before: onnx.ModelProto, after: onnx.ModelProto, latents: Floats) -> float:
    """Time of one over time of the other, in turns, the least of several runs."""
    sessions, feed = [session_of(before), session_of(after)], whole(latents[:, :64])
    times = np.full((8, 2), np.inf)
    for row in times:
        for i, session in enumerate(sessions):
            begun = time.perf_counter()
            session.run(None, feed)
            row[i] = time.perf_counter() - begun
    least = times.min(axis=0)
    return float(least[0] / least[1])


def _closeness(before: onnx.ModelProto, after: onnx.ModelProto, latents: Floats) -> float:
    """Signal to noise ratio in dB."""
    wanted, made = (session_of(graph).run(None, whole(latents))[0] for graph in (before, after))
    return float(10 * np.log10((wanted**2).sum() / max(float(((wanted - made) ** 2).sum()), 1e-12)))
