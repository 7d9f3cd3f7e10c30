from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import psutil
import pytest

from edgevoice.asr.normalize import scoring_form
from edgevoice.asr.recognizer import Samples
from edgevoice.asr.whisper import Reading, WhisperRecognizer, is_quiet
from edgevoice.errors import ModelDataError, ModelMissingError
from edgevoice.models import store
from edgevoice.settings import AsrSettings
from tests.asr.nonspeech import sounds


def test_says_what_was_said_with_punctuation(whisper: WhisperRecognizer, help_you_pack: Samples) -> None:
    whisper.accept(help_you_pack[:20_000])
    whisper.accept(help_you_pack[20_000:])
    transcript = whisper.finish()
    assert transcript.text == "Can I help you pack?"
    assert transcript.heard == pytest.approx(len(help_you_pack) / 16_000)
    assert 0.3 < transcript.confidence <= 1


def test_the_end_of_speech_is_found_without_thirty_seconds(whisper: WhisperRecognizer, when_back: Samples) -> None:
    """Nothing is said twice, although the segment has no silence behind it."""
    whisper.accept(when_back[: int(3.9 * 16_000)])
    assert scoring_form(whisper.finish().text) == "when are you going to be back"


def test_only_the_segment_is_encoded(whisper: WhisperRecognizer, help_you_pack: Samples) -> None:
    encoded = np.asarray(whisper.model.encode(help_you_pack))
    seconds = len(help_you_pack) / 16_000
    assert encoded.shape[1] < (seconds + 3) * 50


@pytest.mark.parametrize("name", ["digital silence", "white noise -50 dBFS", "mains hum", "chords"])
def test_d1_no_words_out_of(name: str, whisper: WhisperRecognizer) -> None:
    whisper.accept(sounds(4)[name] * (0.02 if name in ("mains hum", "chords") else 1))
    assert whisper.finish().text == ""


def test_no_sound_at_all(whisper: WhisperRecognizer) -> None:
    assert whisper.finish().text == ""


@pytest.mark.parametrize(
    ("reading", "speech"),
    [
        (Reading("Hello there.", -0.3, 0.1), True),
        (Reading("Thank you.", -0.3, 0.1), True),
        (Reading("Thank you.", -1.2, 0.8), False),
        (Reading("", -0.1, 0.0), False),
        (Reading("no " * 40, -0.2, 0.1), False),
        (Reading("mumble", -1.6, 0.1), False),
    ],
)
def test_what_counts_as_speech(reading: Reading, speech: bool) -> None:
    assert reading.is_speech is speech


def test_quiet_is_measured_at_the_loudest_place() -> None:
    sound = np.zeros(16_000, np.float32)
    assert is_quiet(sound)
    sound[8000:8200] = 0.1
    assert not is_quiet(sound)
    assert is_quiet(sound[:500])


def test_e3_memory_does_not_grow_over_five_switches(help_you_pack: Samples) -> None:
    process, sizes = psutil.Process(), []
    for _ in range(6):
        recognizer = WhisperRecognizer(AsrSettings())
        recognizer.load()
        recognizer.accept(help_you_pack)
        recognizer.finish()
        sizes.append(process.memory_info().rss)
        recognizer.close()
    assert max(sizes[1:]) < sizes[0] * 1.05 + 5e6


def test_a_missing_model_is_named() -> None:
    with pytest.raises(ModelMissingError, match="/nowhere"):
        WhisperRecognizer(AsrSettings(second_pass_model="/nowhere")).load()


@pytest.mark.parametrize("damage", ["truncated", "no tokenizer", "garbage"])
def test_a_damaged_model_is_named(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "whisper"
    shutil.copytree(store.find("whisper-tiny-en", "asr"), folder)
    if damage == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    else:
        data = (folder / "model.bin").read_bytes()
        (folder / "model.bin").write_bytes(data[: len(data) // 2] if damage == "truncated" else b"\1" * 1000)
    with pytest.raises(ModelDataError, match="whisper"):
        WhisperRecognizer(AsrSettings(second_pass_model=str(folder))).load()
