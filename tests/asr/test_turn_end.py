"""Somebody who has finished sounds otherwise than somebody who was cut off."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from edgevoice.asr.ctc import TURN_END_FILE, StreamingCtc
from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.asr.turn_end import TurnEnd
from edgevoice.audio.files import read_all
from edgevoice.errors import ModelDataError, ModelMissingError
from edgevoice.models import store
from edgevoice.settings import AsrSettings
from tests.conftest import DATA

QUIET = np.random.default_rng(0).normal(0, 3e-4, SAMPLE_RATE // 10).astype(np.float32)
"""The 100 ms of room after which the device asks."""


def judged(ctc: StreamingCtc, samples: Samples) -> float:
    ctc.reset()
    ctc.accept(np.concatenate([samples, QUIET]))
    ended = ctc.finish().ended
    assert ended is not None and 0 <= ended <= 1
    return ended


@pytest.mark.parametrize("name", ["help_you_pack", "question", "when_back"])
def test_the_end_sounds_more_like_an_end_than_any_word_before(ctc: StreamingCtc, name: str) -> None:
    samples = read_all(DATA / f"{name}.flac")
    ctc.reset()
    ctc.accept(samples)
    words = ctc.finish().words
    inner = [judged(ctc, samples[: round(word.end * SAMPLE_RATE)]) for word in words[1:-1]]
    whole = judged(ctc, samples[: round((words[-1].end + 0.1) * SAMPLE_RATE)])
    assert whole > 0.5 and whole > max(inner), (whole, inner)


def test_no_words_no_judgement(ctc: StreamingCtc) -> None:
    ctc.reset()
    ctc.accept(QUIET)
    assert ctc.finish().ended is None


def test_a_model_folder_without_it_works(tmp_path: Path, help_you_pack: Samples) -> None:
    folder = tmp_path / "asr"
    shutil.copytree(
        store.find("asr-en-ctc", "asr"), folder, ignore=shutil.ignore_patterns("checkpoint.pt", TURN_END_FILE)
    )
    recognizer = StreamingCtc(AsrSettings(model=str(folder)), phrases=())
    recognizer.load()
    recognizer.accept(help_you_pack)
    heard = recognizer.finish()
    assert heard.text == "can i help you pack" and heard.ended is None


def test_another_model_in_its_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError):
        TurnEnd(tmp_path / TURN_END_FILE)
    with pytest.raises(ModelDataError, match="end-of-turn"):
        TurnEnd(store.find("asr-en-ctc", "asr") / "ctc.int8.onnx")


def test_any_length_of_frames_will_do() -> None:
    network = TurnEnd(store.find("asr-en-ctc", "asr") / TURN_END_FILE)
    frames = np.random.default_rng(0).standard_normal((300, network.width)).astype(np.float32)
    assert network.probability(frames) == network.probability(frames[-100:]), "two seconds are looked at"
    assert network.probability(frames[:0]) == 0.0
    assert all(0 <= network.probability(frames[:n]) <= 1 for n in (1, 2, 7, 50))
