"""What wake word engines and the second look think of a stretch of sound: measured once, judged at any thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.audio.resample import to_int16
from edgevoice.audio.wake import LOOK_EVERY, WakeEngine
from edgevoice.audio.wake_check import SECONDS, PhoneCheck
from edgevoice.audio.wake_microwakeword import MicroWakeWordEngine
from edgevoice.audio.wake_openwakeword import OpenWakeWordEngine

FLOOR = 0.01
"""Least score that is looked at twice."""
BLOCK = LOOK_EVERY
"""Samples fed at a time: one look each at most, as the daemon does it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A moment at which the engine thought it possible."""

    time: float
    """Seconds from the begin of the sound."""
    score: float
    """The engine's, in [0, 1]."""
    cost: float
    """The second look's, in nats per phone; lower is better."""


class _Shared:
    """Features of the block that was fed last, for several engines."""

    def __init__(self, features: Any) -> None:
        self._features = features
        self._latest: list[Any] = []

    def feed(self, block: Samples) -> None:
        self._latest = list(self._features.process_streaming(to_int16(block).tobytes()))

    def process_streaming(self, sound: bytes) -> list[Any]:
        return self._latest

    def reset(self) -> None:
        """Keeps running: the features know no words."""

    def close(self) -> None:
        if hasattr(self._features, "close"):
            self._features.close()
            self._features = None


class Bank:
    """Several words on one engine's features."""

    def __init__(self, name: str, words: Iterable[str]) -> None:
        kind = MicroWakeWordEngine if name == "microwakeword" else OpenWakeWordEngine
        self.engines: dict[str, WakeEngine] = {}
        self._checks = {word: PhoneCheck(word) for word in words}
        shared: _Shared | None = None
        for word, check in self._checks.items():
            engine = kind(word)
            engine.load()
            check.load()
            shared = shared or _Shared(engine.features)
            engine.features = shared
            self.engines[word] = engine
        assert shared is not None, "no word"
        self._shared = shared

    def candidates(self, sound: Samples) -> dict[str, list[Candidate]]:
        """Word -> its candidates, after forgetting what came before."""
        found: dict[str, list[Candidate]] = {word: [] for word in self.engines}
        for engine in self.engines.values():
            engine.reset()
        for end in range(BLOCK, len(sound) + 1, BLOCK):
            self._shared.feed(sound[end - BLOCK : end])
            for word, engine in self.engines.items():
                score = max((score.value for score in engine.scores(sound[end - BLOCK : end])), default=0.0)
                if score >= FLOOR:
                    cost, _ = self._checks[word].look(sound[max(0, end - round(SECONDS * SAMPLE_RATE)) : end])
                    found[word].append(Candidate(end / SAMPLE_RATE, score, cost))
        return found


def activations(candidates: Iterable[Candidate], threshold: float, confirmed: float, refractory_s: float = 2.0) -> int:
    """How often the word would count as heard."""
    count, ready = 0, float("-inf")
    for one in candidates:
        if one.score >= threshold and one.cost <= confirmed and one.time >= ready:
            count, ready = count + 1, one.time + refractory_s
    return count


def stretches(bank: Bank, sounds: Iterator[Samples]) -> tuple[float, list[dict[str, list[Candidate]]]]:
    """(seconds, candidates of each sound)."""
    seconds, found = 0.0, []
    for sound in sounds:
        seconds += len(sound) / SAMPLE_RATE
        found.append(bank.candidates(np.asarray(sound)))
    return seconds, found
