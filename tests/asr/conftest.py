"""The real recognisers, loaded once per session; and a tiny language model for fast tests of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgevoice.asr.ctc import StreamingCtc
from edgevoice.asr.lexicon import PHONES, pronunciations
from edgevoice.asr.recognizer import Samples
from edgevoice.asr.search import LogProbs
from edgevoice.asr.whisper import WhisperRecognizer
from edgevoice.audio.files import read_all
from edgevoice.settings import AsrSettings
from tests.conftest import DATA, loaded

TINY_ARPA = """\\data\\
ngram 1=7
ngram 2=3

\\1-grams:
-99\t<s>\t-0.3
-1.0\t</s>
-1.0\tturn\t-0.3
-1.0\tthe\t-0.3
-1.0\tlight\t-0.3
-1.0\tlate\t-0.3
-1.0\ton\t-0.3

\\2-grams:
-0.3\t<s> turn
-0.3\tturn on
-0.3\tthe light

\\end\\
"""


@pytest.fixture
def tiny_lm(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.arpa"
    path.write_text(TINY_ARPA)
    return path


def say(text: str, frames: int = 3, certainty: float = 0.95) -> LogProbs:
    """Phone log-probabilities of someone saying `text` very clearly: each phone for `frames` frames, then blanks."""
    ids: list[int] = [0] * 4
    for word in text.split():
        for phone in pronunciations(word)[0]:
            ids += [phone] * frames + [0]
        ids += [0] * 3
    probabilities = np.full((len(ids), len(PHONES) + 1), (1 - certainty) / len(PHONES), np.float32)
    probabilities[np.arange(len(ids)), ids] = certainty
    return np.log(probabilities)


@pytest.fixture(scope="session")
def loaded_ctc() -> Iterator[StreamingCtc]:
    yield from loaded(StreamingCtc(AsrSettings(), phrases=()))


@pytest.fixture
def ctc(loaded_ctc: StreamingCtc) -> StreamingCtc:
    loaded_ctc.reset()
    return loaded_ctc


@pytest.fixture(scope="session")
def loaded_whisper() -> Iterator[WhisperRecognizer]:
    yield from loaded(WhisperRecognizer(AsrSettings()))


@pytest.fixture
def whisper(loaded_whisper: WhisperRecognizer) -> WhisperRecognizer:
    loaded_whisper.reset()
    return loaded_whisper


@pytest.fixture(scope="session")
def help_you_pack() -> Samples:
    """Someone says "can I help you pack" (3 s)."""
    return read_all(DATA / "help_you_pack.flac")


@pytest.fixture(scope="session")
def when_back() -> Samples:
    """Someone says "when are you going to be back" (4.4 s)."""
    return read_all(DATA / "when_back.flac")
