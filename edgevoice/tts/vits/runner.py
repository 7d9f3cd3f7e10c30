"""Runs a prepared voice: phonemes to prior, and prior to sound piece by piece, every piece with just the context it
needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnxruntime

from edgevoice.models.onnx import session
from edgevoice.tts.vits.arrays import Floats, Ints
from edgevoice.tts.vits.prepare import PreparedVoice
from edgevoice.tts.vits.tiers import TIERS

FLOW_AHEAD = 96
"""Frames the flow runs ahead of the vocoder after the first piece."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """What the text encoder says about a row of phonemes."""

    mean: Floats
    """[phonemes, channels]."""
    deviation: Floats
    """[phonemes, channels], standard deviation of the prior."""
    durations: Ints
    """[phonemes], frames."""

    def head(self, count: int) -> Encoding:
        """The first `count` phonemes."""
        return Encoding(self.mean[:count], self.deviation[:count], self.durations[:count])

    def join(self, count: int, rest: Encoding) -> Encoding:
        """The first `count` phonemes of this one, the others of `rest`."""
        return Encoding(
            np.concatenate([self.mean[:count], rest.mean[count:]]),
            np.concatenate([self.deviation[:count], rest.deviation[count:]]),
            np.concatenate([self.durations[:count], rest.durations[count:]]),
        )


@dataclass(frozen=True, slots=True)
class _Networks:
    """The sessions of one precision."""

    encoder: onnxruntime.InferenceSession
    flow: onnxruntime.InferenceSession


class VitsRunner:
    """The sessions of one voice, of one thread each; those of a tier are opened when it is first chosen.

    `set_tier` is for one thread; everything else may run in several at once.
    """

    def __init__(self, voice: PreparedVoice, tier: str = "fine") -> None:
        self.voice = voice
        self._networks: dict[str, _Networks] = {}
        self._vocoders: dict[str, VocoderSession] = {}
        self.set_tier(tier)

    def set_tier(self, tier: str) -> None:
        """Choose a tier: `fine` is float32 throughout; all others run encoder and flow in INT8.

        A voice without a vocoder of that name uses its next finer one.
        """
        precision = "" if tier == "fine" else "-int8"
        finer = TIERS[: TIERS.index(tier) + 1] if tier in TIERS else TIERS[:1]
        name = next(t for t in reversed(finer) if t in self.voice.tiers)
        if precision not in self._networks:
            files = [self.voice.file(f"{part}{precision}") for part in ("encoder", "flow")]
            self._networks[precision] = _Networks(*(session(file) for file in files))
        if name not in self._vocoders:
            self._vocoders[name] = VocoderSession(self.voice, name)
        self._current, self.vocoder = self._networks[precision], self._vocoders[name]

    @property
    def reach(self) -> int:
        """Frames of context the vocoder needs on each side."""
        return self.vocoder.reach

    @property
    def context(self) -> int:
        """Frames that must be known beyond a piece's end."""
        return self.vocoder.reach + self.voice.flow_reach

    def encode(self, ids: Ints, duration_noise: Floats, speed: float) -> Encoding:
        """`ids` [phonemes]; `duration_noise` [2, phonemes], normally distributed; `speed` 1 is the voice's own pace."""
        config = self.voice.config
        scales = np.array([config.noise_scale, config.length_scale / speed, config.duration_noise_scale], np.float32)
        feed = {"ids": ids[None], "scales": scales, "duration_noise": duration_noise[None]}
        mean, deviation, durations = self._current.encoder.run(["mean", "deviation", "durations"], feed)
        return Encoding(mean, deviation, durations.astype(np.int64))

    def flow(self, prior: Floats, left_edge: bool, right_edge: bool) -> Floats:
        """[frames, channels] -> latents [frames', channels]."""
        latents: Floats = self._current.flow.run(None, {"prior": prior, **_edges(left_edge, right_edge)})[0]
        return latents


class VocoderSession:
    """The vocoder of a tier."""

    def __init__(self, voice: PreparedVoice, tier: str) -> None:
        self.reach = voice.vocoder_reach
        self._session = session(voice.file(tier))

    def run(self, latents: Floats, left_edge: bool, right_edge: bool) -> Floats:
        """[frames, channels] -> sound [samples] in [-1, 1]."""
        feed = {"latents": np.ascontiguousarray(latents.T)[None, :, None, :], **_edges(left_edge, right_edge)}
        sound: Floats = self._session.run(None, feed)[0]
        return sound.reshape(-1)


def _edges(left: bool, right: bool) -> dict[str, Ints]:
    return {"left_edge": np.array([left], np.int64), "right_edge": np.array([right], np.int64)}


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of sound to be made; knows all it needs."""

    vocoder: VocoderSession
    latents: Floats
    """[frames, channels] with context."""
    left_edge: bool
    right_edge: bool
    begin: int
    end: int
    """Samples wanted of what the vocoder makes of the latents."""

    def make(self) -> Floats:
        """The sound, [samples] in [-1, 1]. May run in any thread."""
        return self.vocoder.run(self.latents, self.left_edge, self.right_edge)[self.begin : self.end]


class SoundStream:
    """The sound of one encoded text, made from the front in pieces of any size; only the last one must not be shorter
    than the vocoder's reach.
    """

    def __init__(self, runner: VitsRunner, encoding: Encoding, rng: np.random.Generator, complete: bool = True) -> None:
        """`rng` gives the noise, frame by frame. Without `complete` more is to follow: the end is no edge yet."""
        self._runner, self._encoding, self._rng = runner, encoding, rng
        self.is_complete = complete
        self._vocoder = runner.vocoder
        self._prior = np.zeros((0, runner.voice.channels), np.float32)
        self._latents = np.zeros((0, runner.voice.channels), np.float32)
        self._spread()

    def complete(self, encoding: Encoding) -> None:
        """The full encoding; its beginning equals the one known so far."""
        self._encoding, self.is_complete = encoding, True
        self._spread()

    def until(self, last: int) -> int:
        """`last`, or the end if what would be left after `last` is too short for a piece of its own."""
        return self.frames if self.is_complete and self.frames - last < self._vocoder.reach else last

    def knows(self, last: int) -> bool:
        """Whether frames up to `last` can be made of what is known so far."""
        return self.is_complete or last + self._runner.context <= self.frames

    def piece(self, first: int, last: int) -> Piece:
        """Frames first .. last - 1, still to be made; `last` comes from `until`."""
        reach = self._vocoder.reach
        begin = first - reach if first >= reach else 0
        end = min(last + reach, self.frames)
        self._extend_latents(end, FLOW_AHEAD if first else 0)
        hop = self._runner.voice.hop
        start = (first if begin == 0 else 0) * hop
        edges = begin == 0, self._ends(end)
        return Piece(self._vocoder, self._latents[begin:end], *edges, start, start + (last - first) * hop)

    def sound(self, first: int, last: int) -> Floats:
        """Frames first .. last - 1 as sound; `last` comes from `until`."""
        return self.piece(first, last).make()

    def latents(self) -> Floats:
        """All latents [frames, channels]."""
        self._extend_latents(self.frames, 0)
        return self._latents

    def _spread(self) -> None:
        self._phoneme_of_frame = np.repeat(np.arange(len(self._encoding.durations)), self._encoding.durations)
        self.frames = len(self._phoneme_of_frame)

    def _ends(self, frame: int) -> bool:
        return self.is_complete and frame == self.frames

    def _extend_latents(self, end: int, ahead: int) -> None:
        """Make latents up to frame `end`, and up to `ahead` more if something must be made at all: every run of the
        flow costs its context.
        """
        known = len(self._latents)
        if end <= known:
            return
        reach = self._runner.voice.flow_reach
        end = max(end, min(end + ahead, self.frames if self.is_complete else self.frames - reach))
        begin = known - reach if known >= reach else 0
        stop = min(end + reach, self.frames)
        self._extend_prior(stop)
        made = self._runner.flow(self._prior[begin:stop], begin == 0, self._ends(stop))
        self._latents = np.concatenate([self._latents, made[known:] if begin == 0 else made])

    def _extend_prior(self, end: int) -> None:
        known = len(self._prior)
        if end <= known:
            return
        which = self._phoneme_of_frame[known:end]
        noise = self._rng.standard_normal((end - known, self._prior.shape[1]), dtype=np.float32)
        scale = np.float32(self._runner.voice.config.noise_scale)
        prior = self._encoding.mean[which] + noise * self._encoding.deviation[which] * scale
        self._prior = np.concatenate([self._prior, prior.astype(np.float32)])
