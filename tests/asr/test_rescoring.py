"""What the phones leave open is decided by the spelling, and only that."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from edgevoice.asr.ctc import StreamingCtc
from edgevoice.asr.recognizer import Samples
from edgevoice.asr.rescoring import Rescorer, RescoringOptions
from edgevoice.asr.search import LogProbs, SearchOptions
from edgevoice.asr.spelling import CHARACTERS, CharacterLogProbs
from tests.asr.conftest import say


def spelled(text: str, frames: int, certainty: float = 0.9) -> CharacterLogProbs:
    """Character log-probabilities of somebody who spells `text` clearly, in so many frames."""
    probabilities = np.full((frames, len(CHARACTERS) + 1), (1 - certainty) / len(CHARACTERS), np.float32)
    ids = [label for character in text for label in (CHARACTERS.index(character) + 1, 0)]
    ids += [0] * (frames - len(ids))
    probabilities[np.arange(frames), ids] = certainty
    return np.log(probabilities)


def rescorer(ctc: StreamingCtc, **options: float) -> Rescorer:
    return Rescorer(ctc._rescorer._graph, SearchOptions(), RescoringOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["four", "for"])
def test_the_spelling_decides_between_words_that_sound_alike(ctc: StreamingCtc, text: str) -> None:
    phones = say("turn four", frames=6)
    words = rescorer(ctc).words(phones, spelled(f"turn {text}", len(phones)))
    assert words is not None and [word.text for word in words] == ["turn", text]


def test_the_times_are_those_of_the_sound(ctc: StreamingCtc) -> None:
    phones = say("turn the light on")
    words = rescorer(ctc).words(phones, spelled("turn the light on", len(phones)))
    assert words is not None and [word.text for word in words] == ["turn", "the", "light", "on"]
    assert all(word.end <= following.start for word, following in pairwise(words))
    assert 0 < words[0].start < words[-1].end <= len(phones) * 0.02
    assert all(word.confidence > 0.9 for word in words)


def test_a_spelling_that_sounds_otherwise_is_not_believed(ctc: StreamingCtc) -> None:
    phones = say("turn the light on")
    words = rescorer(ctc).words(phones, spelled("play some music", len(phones)))
    assert words is not None and [word.text for word in words] == ["turn", "the", "light", "on"]


def test_a_lattice_that_is_too_big_is_left_to_the_search(ctc: StreamingCtc) -> None:
    phones = say("turn the light on")
    assert rescorer(ctc, most_arcs=3).words(phones, spelled("turn", len(phones))) is None


@pytest.mark.parametrize("frames", [0, 1, 40])
def test_silence_has_no_readings(ctc: StreamingCtc, frames: int) -> None:
    silence: LogProbs = np.log(np.full((frames, 40), 1e-6, np.float32))
    silence[:, 0] = 0.0
    assert rescorer(ctc).words(silence, np.zeros((frames, len(CHARACTERS) + 1), np.float32)) in (None, ())


def test_without_a_character_head_the_search_alone_decides(
    ctc: StreamingCtc, help_you_pack: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = ctc._ready
    monkeypatch.setattr(encoder, "_more", [])
    ctc.accept(help_you_pack)
    assert ctc.finish().text == "can i help you pack"
    assert encoder.characters is None and encoder.frames is None and ctc.finish().ended is None
