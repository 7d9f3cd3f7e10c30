"""When does a turn end? Detector, segmenter, recogniser and conversation in lock-step, on the audio clock alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from edgevoice.asr.ctc import StreamingCtc
from edgevoice.asr.stage import RecogniseStage
from edgevoice.audio.files import read_all
from edgevoice.audio.segmenter import Segmenter
from edgevoice.audio.vad import SpeechDetector
from edgevoice.dialog.endpoint import Endpointer
from edgevoice.dialog.ports import WordsAwareSilence
from edgevoice.dialog.rules.no_new_words import NoNewWords
from edgevoice.dialog.stage import ConverseStage, newer_partial
from edgevoice.messages import Feedback, Frame, Speech, SpeechEnded, Words
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.settings import AsrSettings, EndpointSettings, VadSettings
from tests.audio.sound import noise, quiet
from tests.conftest import DATA, loaded
from tests.dialog.world import World

RATE, BLOCK = 16_000, 320
SILENCE_ALONE = EndpointSettings(min_silence_ms=800)
"""However much it sounds like an end: a gap in the music is none."""


class Ears:
    """Everything from frames to questions, without threads; the recogniser is `behind_s` seconds late."""

    def __init__(
        self, recognizer: StreamingCtc, behind_s: float = 0.0, endpoint: EndpointSettings | None = None
    ) -> None:
        settings = endpoint or EndpointSettings()
        self.world = World()
        rule = WordsAwareSilence(Endpointer(settings), self.world.ledger, NoNewWords.of(settings))
        self.segmenter = Segmenter(VadSettings(), settings, SpeechDetector(VadSettings()), rule)
        speech: BoundedQueue[Speech] = BoundedQueue("speech", 1000, Overflow.BLOCK)
        self.words: BoundedQueue[Words | Feedback] = BoundedQueue("words", 64, Overflow.REPLACE, replaces=newer_partial)
        self.recognise = RecogniseStage(speech, self.words, recognizer, None)
        self.converse = ConverseStage(self.words, self.world.conversation)
        self.waiting: deque[tuple[float, Speech]] = deque()
        self.behind_s = behind_s
        self.ends: list[SpeechEnded] = []

    def hear(self, sound: NDArray[np.float32]) -> None:
        for end in range(BLOCK, len(sound) + 1, BLOCK):
            now = end / RATE
            for message in self.segmenter.accept(Frame(sound[end - BLOCK : end], now)):
                self.waiting.append((now + self.behind_s, message))
                if isinstance(message, SpeechEnded):
                    self.ends.append(message)
            self._recognise(now)
        self._recognise(float("inf"))

    def _recognise(self, now: float) -> None:
        while self.waiting and self.waiting[0][0] <= now:
            self.recognise.work(self.waiting.popleft()[1])
            while len(self.words):
                self.converse.work(self.words.get(0.0))

    @property
    def asked(self) -> list[str]:
        return [ask.words for ask in self.world.brain.asked]


@pytest.fixture(scope="module")
def recognizer() -> Iterator[StreamingCtc]:
    yield from loaded(StreamingCtc(AsrSettings()))


def recording(name: str) -> tuple[NDArray[np.float32], float]:
    """A bundled question, and seconds to its last loud sample."""
    sound = read_all(DATA / f"{name}.flac")
    return sound, float(np.flatnonzero(np.abs(sound) > 0.02)[-1] + 1) / RATE


def over(sound: NDArray[np.float32], end: float, kind: str, level: float, seconds: float = 31.0) -> NDArray[np.float32]:
    """`sound`, and noise that sets in one second before its `end` and goes on for half a minute after it."""
    mixed = np.pad(sound, (0, max(0, round((end + seconds - 1.0) * RATE) - len(sound))))
    begin = round((end - 1.0) * RATE)
    mixed[begin:] += noise(kind, (len(mixed) - begin + 1) / RATE, level)[: len(mixed) - begin]
    return mixed


@pytest.mark.parametrize("level", [-35.0, -30.0])
@pytest.mark.parametrize("name", ["question", "when_back"])
def test_b2_music_that_passes_for_speech_does_not_keep_the_turn_open(
    recognizer: StreamingCtc, name: str, level: float
) -> None:
    sound, end = recording(name)
    ears = Ears(recognizer, endpoint=SILENCE_ALONE)
    ears.hear(over(sound, end, "swelling", level))
    assert ears.ends[0].reason == "no_new_words" and "no_new_words" in ears.world.events
    assert ears.ends[0].time <= end + 2.0
    assert ears.ends[0].speech_end == pytest.approx(end, abs=0.5), "the noise does not count as speech"
    assert {"question": "think", "when_back": "going to"}[name] in ears.asked[-1], "what was said before the noise"
    assert len(set(map(str, ears.world.voice.released))) == 1, "one question, whatever the music does afterwards"


def test_b2_without_the_rule_the_same_music_keeps_it_open(recognizer: StreamingCtc) -> None:
    sound, end = recording("question")
    ears = Ears(recognizer, endpoint=replace(SILENCE_ALONE, no_new_words_s=0.0))
    ears.hear(over(sound, end, "swelling", -35.0, seconds=8.0))
    assert ears.ends[0].time > end + 2.0


def test_b2_a_recogniser_that_is_behind_loses_no_words(recognizer: StreamingCtc) -> None:
    """As when a file is read faster than real time: seconds of sound count, not seconds of a clock."""
    sound, end = recording("question")
    ears = Ears(recognizer, behind_s=2.0)
    ears.hear(over(sound, end, "swelling", -35.0))
    assert ears.ends[0].reason == "no_new_words"
    assert "of my" in ears.asked[-1] and len(ears.world.voice.released) == 1


def test_b2_words_before_and_after_speech_that_is_not_understood_are_kept(recognizer: StreamingCtc) -> None:
    (first, _), (second, _) = recording("question"), recording("when_back")
    unclear = noise("swelling", 2.6, -33.0)
    ears = Ears(recognizer)
    ears.hear(np.concatenate([first, unclear, second, quiet(1.5)]))
    assert "of my" in ears.asked[-1] and "going to be" in ears.asked[-1], "both are asked together: no answer came yet"


@pytest.mark.parametrize("name", ["question", "when_back"])
def test_b2_as_set_up_music_that_sets_in_over_the_last_words_ends_the_turn_by_one_rule_or_the_other(
    recognizer: StreamingCtc, name: str
) -> None:
    sound, end = recording(name)
    ears = Ears(recognizer)
    ears.hear(over(sound, end, "swelling", -35.0))
    assert ears.ends[0].time <= end + 2.0 and ears.asked


def test_a_question_that_sounds_finished_is_asked_sooner_than_silence_alone_would(recognizer: StreamingCtc) -> None:
    sound, _ = recording("question")
    judged, silent = Ears(recognizer), Ears(recognizer, endpoint=SILENCE_ALONE)
    for ears in (judged, silent):
        ears.hear(np.concatenate([sound, quiet(2.0)]))
    assert judged.asked == silent.asked and len(judged.world.voice.released) == 1
    assert judged.ends[0].time < silent.ends[0].time - 0.3


def test_speech_with_long_pauses_is_not_cut_by_it(recognizer: StreamingCtc) -> None:
    """Whoever may be silent for two seconds may also take a second to be understood again."""
    sound, end = recording("question")
    cut = round(end * RATE)
    patient = EndpointSettings(min_silence_ms=2500, max_silence_ms=2500)
    ears = Ears(recognizer, endpoint=patient)
    ears.hear(np.concatenate([sound[:cut], quiet(1.5), sound, quiet(3.0)]))
    assert [end.reason for end in ears.ends] == ["silence"]
