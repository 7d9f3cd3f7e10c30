"""Wake words: the contract, the rule that turns scores into activations, and the choice of the engine."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.audio.wake_check import PHRASES, SECONDS, PhoneCheck
from edgevoice.errors import ModelDataError, ModelMissingError, SettingsError
from edgevoice.settings import WakeSettings

ENGINES = ("microwakeword", "openwakeword")
CHECKED: dict[tuple[str, str], tuple[float, float]] = {
    ("microwakeword", "okay_nabu"): (0.1, 2.1),
    ("microwakeword", "hey_jarvis"): (0.01, 1.6),
    ("microwakeword", "alexa"): (0.35, 1.3),
    ("openwakeword", "alexa"): (0.2, 1.5),
}
"""(engine, word) -> least score, and greatest cost of the second look; chosen by `edgevoice bench wake` (docs/room.md)."""
CHECKED_OTHERS = (0.1, 1.5)
"""The same for words that were not measured."""
LOOK_EVERY = round(0.08 * SAMPLE_RATE)
"""Samples between two second looks at the same sound."""
RELEASE = 0.5
"""Share of the threshold below which the score must fall before the next activation (one utterance, one activation)."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The wake word was heard."""

    word: str
    score: float
    """In [0, 1]."""
    samples_ago: int
    """How many samples before the end of the block just accepted the word ended, as a safe estimate: sound from there
    on holds every word that follows, and perhaps the wake word's last few milliseconds."""


@dataclass(frozen=True, slots=True)
class Score:
    """What an engine thinks of the sound up to one moment."""

    value: float
    """In [0, 1]."""
    samples_ago: int
    """How many samples before the end of the accepted block that moment lies."""


class WakeEngine(Protocol):
    """A model that scores a stream of sound. 16 kHz mono float32; one thread uses it."""

    name: str
    word: str
    default_threshold: float
    """Score from which the word counts as heard, as measured by `edgevoice bench wake`."""
    lag_s: float
    """Seconds by which the score comes after the word's end at most (95 of 100 times)."""

    def load(self) -> None:
        """Read the model. Raises ModelMissingError, ModelDataError, SettingsError, UnavailableError."""

    def scores(self, samples: Samples) -> list[Score]:
        """Take the next samples (any length); the scores that became due, in order."""

    def reset(self) -> None:
        """Forget the sound heard so far. Must be cheap: it happens after every activation."""

    def close(self) -> None:
        """Release the model's memory."""


class SecondLook(Protocol):
    """Confirms or rejects what an engine found: see `edgevoice.audio.wake_check`."""

    def load(self) -> None:
        """Read the model."""

    def look(self, samples: Samples) -> tuple[float, int]:
        """Cost (lower is better), and after which sample the word ended."""

    def close(self) -> None:
        """Release the model."""


class WakeWord:
    """Listens for one wake word: `load`, `warm`, `accept` …, `close`.

    Exactly one activation per utterance: after one, the engine forgets its sound, nothing counts for `refractory_s`
    seconds, and the score must have fallen before the next. With a second look (`check`) the engine's threshold may be
    low: what it finds counts only if the look costs no more than `confirmed` (None: as measured for the word).
    """

    def __init__(
        self,
        engine: WakeEngine,
        threshold: float = 0.0,
        refractory_s: float = 2.0,
        check: SecondLook | None = None,
        confirmed: float | None = None,
    ) -> None:
        self.engine = engine
        score, cost = checked_thresholds(engine.name, engine.word)
        self.threshold = threshold or (score if check else engine.default_threshold)
        self._check, self._confirmed = check, cost if confirmed is None else confirmed
        self._kept: deque[Samples] = deque()
        self._kept_samples = self._look_at = 0
        self._refractory = round(refractory_s * SAMPLE_RATE)
        self._heard = 0
        self._ready_at = 0
        self._armed = True

    @property
    def word(self) -> str:
        """The word listened for."""
        return self.engine.word

    def load(self) -> None:
        """Read the model. Raises ModelMissingError, ModelDataError, SettingsError, UnavailableError."""
        self.engine.load()
        if self._check is not None:
            self._check.load()

    def warm(self) -> None:
        """Run once so that the first activation is as fast as later ones."""
        self.engine.scores(np.zeros(SAMPLE_RATE, dtype=np.float32))
        self.engine.reset()
        if self._check is not None:
            self._check.look(np.zeros(round(SECONDS * SAMPLE_RATE), dtype=np.float32))

    def accept(self, samples: Samples) -> Detection | None:
        """Take the next samples (any length up to a second); the activation if one falls into them."""
        self._heard += len(samples)
        self._keep(samples)
        for score in self.engine.scores(samples):
            moment = self._heard - score.samples_ago
            if score.value < self.threshold * RELEASE:
                self._armed = True
            if score.value >= self.threshold and self._armed and moment >= self._ready_at:
                ago = self._ended_ago(score)
                if ago is None:
                    continue
                self._armed = False
                self._ready_at = moment + self._refractory
                self.engine.reset()
                return Detection(self.engine.word, score.value, ago)
        return None

    def _ended_ago(self, score: Score) -> int | None:
        """How many samples ago the word ended; None if the second look does not find it (yet)."""
        if self._check is None:
            return score.samples_ago + round(self.engine.lag_s * SAMPLE_RATE)
        if self._heard < self._look_at:
            return None
        self._look_at = self._heard + LOOK_EVERY
        sound = np.concatenate(list(self._kept))
        cost, end = self._check.look(sound)
        return len(sound) - end if cost <= self._confirmed else None

    def _keep(self, samples: Samples) -> None:
        if self._check is None:
            return
        self._kept.append(samples)
        self._kept_samples += len(samples)
        while self._kept_samples - len(self._kept[0]) >= SECONDS * SAMPLE_RATE:
            self._kept_samples -= len(self._kept.popleft())

    def close(self) -> None:
        """Release the models' memory."""
        self.engine.close()
        if self._check is not None:
            self._check.close()


def make_wake_word(settings: WakeSettings) -> WakeWord | None:
    """The wake word that the settings ask for, not loaded yet; None when it is off."""
    if settings.engine == "off":
        return None
    engine = make_engine(settings.engine, settings.word)
    check = PhoneCheck(settings.word) if settings.verify and settings.word in PHRASES else None
    return WakeWord(engine, settings.threshold, settings.refractory_s, check)


def make_engine(name: str, word: str) -> WakeEngine:
    """The engine of this name, not loaded yet. Raises SettingsError."""
    if name == "microwakeword":
        from edgevoice.audio.wake_microwakeword import MicroWakeWordEngine

        return MicroWakeWordEngine(word)
    if name == "openwakeword":
        from edgevoice.audio.wake_openwakeword import OpenWakeWordEngine

        return OpenWakeWordEngine(word)
    raise SettingsError("wake.engine", f"`{name}` is unknown", f"use off, {' or '.join(ENGINES)}")


def checked_thresholds(engine: str, word: str) -> tuple[float, float]:
    """Least score and greatest cost with which `word` counts as heard when there is a second look."""
    return CHECKED.get((engine, word), CHECKED_OTHERS)


def model_file(word: str, folder: Path, suffix: str) -> Path:
    """The model of `word`: a file if it names one, else the package's. Raises ModelMissingError or SettingsError."""
    if word.endswith(suffix) or "/" in word:
        if not Path(word).is_file():
            raise ModelMissingError(word, "no such wake word model", "name a file that exists, or a built-in word")
        return Path(word)
    found = folder / f"{word}{suffix}"
    if not found.is_file():
        known = sorted(p.stem for p in folder.glob(f"*{suffix}") if p.stem not in ("melspectrogram", "embedding_model"))
        raise SettingsError(
            "wake.word", f"`{word}` does not come with this engine", f"choose {', '.join(known)} or a file"
        )
    return found


def check_tflite(path: Path) -> None:
    """Raises ModelDataError unless `path` is a TensorFlow Lite model (the runtime itself crashes on other files)."""
    with path.open("rb") as file:
        head = file.read(8)
    if head[4:8] != b"TFL3":
        raise ModelDataError(str(path), "not a TensorFlow Lite model", "fetch or copy the file again")
