"""Wake words: real engines on spoken words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from edgevoice.asr.recognizer import Samples
from edgevoice.audio.gates import WakeGate
from edgevoice.audio.segmenter import Segmenter
from edgevoice.audio.wake import Score, WakeWord, make_wake_word
from edgevoice.errors import ModelDataError, ModelMissingError, SettingsError
from edgevoice.messages import Frame
from edgevoice.settings import WakeSettings

BLOCK = 320
ENGINES = ["microwakeword", "openwakeword"]


@pytest.fixture(scope="module", params=ENGINES)
def wake(request: pytest.FixtureRequest) -> WakeWord:
    made = make_wake_word(WakeSettings(engine=request.param, word="alexa"))
    assert made is not None
    made.load()
    made.warm()
    return made


@pytest.fixture(scope="module")
def alexa(corpus: Path) -> Samples:
    """One recording of the word."""
    folder = corpus / "train" / "words"
    line = next(row for row in (folder / "manifest.jsonl").read_text().splitlines() if '"alexa"' in row)
    return soundfile.read(folder / line.split('"audio": "')[1].split('"')[0], dtype="float32")[0]


def quiet(seconds: float) -> Samples:
    return 1e-3 * np.random.default_rng(0).standard_normal(round(seconds * 16000), dtype=np.float32)


def activations(wake: WakeWord, sound: Samples) -> list[float]:
    found = []
    for at in range(0, len(sound) - BLOCK, BLOCK):
        detection = wake.accept(sound[at : at + BLOCK])
        if detection:
            found.append((at + BLOCK - detection.samples_ago) / 16000)
    return found


def test_b10_one_utterance_is_one_activation(wake: WakeWord, alexa: Samples) -> None:
    wake.engine.reset()
    assert activations(wake, np.concatenate([quiet(3.0), alexa, quiet(6.0)])).__len__() == 1


def test_b10_each_of_three_utterances_activates_once(wake: WakeWord, alexa: Samples) -> None:
    wake.engine.reset()
    found = activations(wake, np.concatenate([quiet(3.0), *([alexa, quiet(3.0)] * 3)]))
    assert len(found) == 3


def test_the_estimated_end_lies_within_or_just_after_the_word(wake: WakeWord, alexa: Samples) -> None:
    wake.engine.reset()
    (end,) = activations(wake, np.concatenate([quiet(3.0), alexa, quiet(4.0)]))
    frames = alexa[: len(alexa) // BLOCK * BLOCK].reshape(-1, BLOCK)
    power = np.mean(frames**2, axis=1)
    true_end = 3.0 + (np.flatnonzero(power > 1e-3 * power.max())[-1] + 1) * BLOCK / 16000
    # Too early costs a rest of the wake word before the command; too late would cost a word of the command.
    assert true_end - 0.8 < end < true_end + 0.1


def test_other_speech_does_not_activate(wake: WakeWord, corpus: Path) -> None:
    wake.engine.reset()
    paths = sorted((corpus / "dev" / "libri5dev").glob("*.opus"))[:3]
    assert activations(wake, np.concatenate([soundfile.read(path, dtype="float32")[0] for path in paths])) == []


class Scripted:
    """An engine with a fixed course of scores, one a block: for the rule alone."""

    name, word, default_threshold, lag_s = "scripted", "word", 0.5, 0.1

    def __init__(self, values: list[float]) -> None:
        self.values, self.resets = values, 0

    def load(self) -> None:
        pass

    def close(self) -> None:
        pass

    def reset(self) -> None:
        self.resets += 1

    def scores(self, samples: Samples) -> list[Score]:
        return [Score(self.values.pop(0), 0)] if self.values else []


def test_b10_a_score_that_stays_up_activates_once_and_empties_the_buffers() -> None:
    engine = Scripted([0.9] * 400)
    wake = WakeWord(engine, refractory_s=1.0)
    assert sum(wake.accept(np.zeros(BLOCK, np.float32)) is not None for _ in range(400)) == 1
    assert engine.resets == 1


def test_b10_refractory_time() -> None:
    wake = WakeWord(Scripted(([0.9] + [0.0] * 24) * 8), refractory_s=1.0)
    fired = [i for i in range(200) if wake.accept(np.zeros(BLOCK, np.float32))]
    assert fired == [0, 50, 100, 150]


class Openings(Segmenter):
    """Notes the sound a segment is opened with; needs no models."""

    def __init__(self) -> None:
        self.preroll: Samples | None = None

    @property
    def open(self) -> bool:
        return self.preroll is not None

    def begin_now(self, frame: Frame, preroll: Samples) -> list:
        self.preroll = preroll
        return []

    def end_now(self, time: float, reason: str) -> list:
        return []


def test_a_command_in_one_breath_begins_at_the_wake_words_end() -> None:
    gate = WakeGate(WakeWord(Scripted([0.0] * 49 + [0.9])))
    segmenter = Openings()
    for i in range(50):
        frame = Frame(np.full(BLOCK, i, np.float32), i * 0.02)
        assert gate.accept(frame, segmenter) == []
    assert segmenter.preroll is not None
    # The engine is said to lag by 0.1 s: five blocks.
    assert segmenter.preroll[::BLOCK].tolist() == [45, 46, 47, 48, 49]
    assert gate.accept(Frame(np.zeros(BLOCK, np.float32), 1.0), segmenter) is None


def test_nothing_counts_without_the_wake_word_outside_the_follow_up_window() -> None:
    now = {"open": False}
    gate, segmenter = WakeGate(WakeWord(Scripted([])), lambda time: now["open"]), Openings()
    frame = Frame(np.zeros(BLOCK, np.float32), 0.0)
    assert gate.accept(frame, segmenter) == []
    now["open"] = True
    assert gate.accept(frame, segmenter) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_models_are_named(engine: str, tmp_path: Path) -> None:
    suffix = ".json" if engine == "microwakeword" else ".tflite"
    with pytest.raises(SettingsError, match="okay_nabu"):
        make_wake_word(WakeSettings(engine=engine, word="hello_there")).load()
    with pytest.raises(ModelMissingError):
        make_wake_word(WakeSettings(engine=engine, word=str(tmp_path / f"none{suffix}"))).load()
    broken = tmp_path / f"broken{suffix}"
    broken.write_bytes(b"not a model at all")
    with pytest.raises(ModelDataError):
        make_wake_word(WakeSettings(engine=engine, word=str(broken))).load()


def test_off_is_no_wake_word() -> None:
    assert make_wake_word(WakeSettings()) is None
