from __future__ import annotations

import dataclasses
import threading
import time

import numpy as np
import pytest

from edgevoice.asr import two_pass
from edgevoice.asr.agreement import hum_in, phone_distance, without_repetition
from edgevoice.asr.recognizer import Samples, Transcript
from edgevoice.asr.two_pass import SecondPass
from edgevoice.asr.whisper import Reading, WhisperRecognizer
from edgevoice.settings import AsrSettings

SECOND = np.zeros(16_000, np.float32)
FIRST = Transcript("can i help you bag", (), 0.6, 1.0)


class FixedReader:
    """A reader whose reading and speed are given: the rules are tested, not the model."""

    language = "en"

    def __init__(self, text: str = "Can I help you pack?", logprob: float = -0.2, seconds: float = 0.0) -> None:
        self.reading, self.seconds = Reading(text, logprob, 0.0), seconds
        self.calls: list[int | None] = []

    def read(self, samples: Samples, most_tokens: int | None = None) -> Reading:
        self.calls.append(most_tokens)
        time.sleep(self.seconds)
        return self.reading


def second_pass(reader: FixedReader, budget_ms: int = 300) -> SecondPass:
    return SecondPass(AsrSettings(second_pass_budget_ms=budget_ms), reader)  # type: ignore[arg-type]


def test_the_second_reading_is_taken() -> None:
    assert second_pass(FixedReader()).refine(SECOND, FIRST).text == "Can I help you pack?"


def test_d1_it_does_not_run_where_no_words_were_heard() -> None:
    reader = FixedReader()
    nothing = Transcript("", heard=1.0)
    assert second_pass(reader).refine(SECOND, nothing) is nothing
    assert reader.calls == []


def test_it_is_left_out_when_it_would_take_too_long() -> None:
    slow = FixedReader(seconds=0.05)
    second = second_pass(slow, budget_ms=40)
    second.refine(SECOND, FIRST)  # the first time its cost is not known
    assert second.refine(SECOND, FIRST) is FIRST
    assert len(slow.calls) == 1


def test_one_slow_moment_does_not_end_it_for_ever() -> None:
    reader = FixedReader(seconds=0.05)
    second = second_pass(reader, budget_ms=40)
    second.refine(SECOND, FIRST)
    reader.seconds = 0.0
    assert any(second.refine(SECOND, FIRST) is not FIRST for _ in range(30))


@pytest.mark.parametrize(
    ("text", "logprob"),
    [
        ("", -0.1),
        ("Thank you for watching this video.", -0.9),
        ("...", -0.1),
        ("can " * 60, -0.1),
        ("Can you carry my bag? I have to help the others now.", -0.1),
    ],
)
def test_a_doubtful_or_different_reading_is_not_trusted(text: str, logprob: float) -> None:
    assert second_pass(FixedReader(text, logprob)).refine(SECOND, FIRST) is FIRST


@pytest.mark.parametrize(
    ("text", "heard", "kept"),
    [
        ("Stop. Stop.", "stop", "Stop."),
        ("S-E-M-P-L-E. S", "s e m p l e", "S-E-M-P-L-E."),
        ("Can I help you pack? Can I help your bag?", "can i help you bag", "Can I help you pack?"),
        ("1, 1,", "one", "1"),
        ("No, no, no.", "no no no", "No, no, no."),
        ("I want the truth, the truth.", "i want the truth the truth", "I want the truth, the truth."),
        ("", "well", ""),
    ],
)
def test_what_is_only_said_again_is_cut_off(text: str, heard: str, kept: str) -> None:
    assert without_repetition(text, heard) == kept


def test_a_surer_first_pass_is_kept_where_the_two_differ() -> None:
    sure = dataclasses.replace(FIRST, confidence=0.95)
    differing = second_pass(FixedReader("Carry your hand bag", -0.35))
    assert differing.refine(SECOND, FIRST).text == "Carry your hand bag"
    assert differing.refine(SECOND, sure) is sure


def test_a_sure_reading_beats_an_unsure_first_pass() -> None:
    unsure = dataclasses.replace(FIRST, text="to china", confidence=0.3)
    assert second_pass(FixedReader("Open the window", -0.1)).refine(SECOND, unsure).text == "Open the window"


@pytest.mark.parametrize(
    ("read", "hum"), [("HN, HN.", "hm hm"), ("Hmm.", "hm"), ("Mm-hmm.", "hm hm"), ("Uh-huh.", "uh huh")]
)
def test_a_hum_is_no_words_however_sure_the_first_pass_is(read: str, hum: str) -> None:
    words = dataclasses.replace(FIRST, text="a chen a chen", confidence=0.93)
    assert second_pass(FixedReader(read, -1.1)).refine(SECOND, words).text == hum


def test_what_was_read_otherwise_and_not_believed_is_doubted() -> None:
    second = second_pass(FixedReader("Thank you for watching this video.", -0.9))
    assert second.refine(SECOND, FIRST) is FIRST and second.doubted
    agreed = second_pass(FixedReader())
    agreed.refine(SECOND, FIRST)
    assert not agreed.doubted
    late = second_pass(FixedReader("Thank you.", -0.9, seconds=0.06), budget_ms=40)
    late.refine(SECOND, FIRST)
    assert late.refine(SECOND, FIRST) is FIRST and not late.doubted, "it was not read at all"


def test_a_long_utterance_is_no_hum() -> None:
    assert second_pass(FixedReader("Hmm.", -0.9)).refine(SECOND, FIRST) is FIRST
    assert not hum_in("Hmm, who?") and not hum_in("")


def test_its_length_is_bounded_by_what_was_heard() -> None:
    reader = FixedReader()
    second_pass(reader).refine(SECOND, FIRST)
    (bound,) = reader.calls
    assert bound is not None
    assert bound < 40


def test_phone_distance_hears_not_sees() -> None:
    assert phone_distance("two", "too") == 0
    assert phone_distance("can i help you pack", "can i help you back") < 0.15
    assert phone_distance("turn on the light", "thank you for watching") > 0.7
    assert phone_distance("", "hello") == 1


def test_the_real_one_corrects_the_first_pass(loaded_whisper: WhisperRecognizer, help_you_pack: Samples) -> None:
    second = SecondPass(AsrSettings(second_pass_budget_ms=60_000), loaded_whisper)
    assert second.refine(help_you_pack, FIRST).text == "Can I help you pack?"
    assert second.expected_s(3) > 0


def speech_like(noise: float) -> Samples:
    """Two seconds of tone bursts of -20 dBFS over noise of RMS `noise`."""
    rng = np.random.default_rng(0)
    time_s = np.arange(32_000) / 16_000
    tone = np.where(time_s % 0.5 < 0.3, 0.14 * np.sin(2 * np.pi * 300 * time_s), 0)
    return np.asarray(tone + rng.standard_normal(len(tone)) * noise, np.float32)


def test_in_noise_the_second_pass_may_take_twice_its_budget() -> None:
    reader = FixedReader(seconds=0.06)
    second = second_pass(reader, budget_ms=45)
    second.refine(speech_like(1e-4), FIRST)
    assert second.refine(speech_like(1e-4), FIRST) is FIRST
    assert second.refine(speech_like(0.06), FIRST) is not FIRST


class HangingIdentifier:
    """Takes until it is released to say that the segment is German."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.asked = 0
        self.closed = False

    def load(self) -> None: ...

    def close(self) -> None:
        self.closed = True

    def read_foreign(self, samples: Samples) -> Transcript | None:
        self.asked += 1
        self.release.wait(10)
        return Transcript("Hilfe", language="de")


def test_d7_an_identifier_that_hangs_costs_neither_the_words_nor_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_pass, "LANGUAGE_DEADLINE_S", 0.05)
    monkeypatch.setattr(FixedReader, "load", lambda self: None, raising=False)
    monkeypatch.setattr(FixedReader, "close", lambda self: None, raising=False)
    identifier = HangingIdentifier()
    monkeypatch.setattr(two_pass, "LanguageIdentifier", lambda settings: identifier)
    second = SecondPass(AsrSettings(identify_language=True), FixedReader())  # type: ignore[arg-type]
    second.load()
    assert second.refine(SECOND, FIRST).text == "Can I help you pack?"
    assert second.refine(SECOND, FIRST).text == "Can I help you pack?"
    assert identifier.asked == 1, "nothing is queued behind what hangs"
    identifier.release.set()
    assert second._foreign is not None and second._foreign.result(5)
    monkeypatch.setattr(two_pass, "LANGUAGE_DEADLINE_S", 5.0)
    assert second.refine(SECOND, FIRST).text == "Hilfe"
    second.close()
    assert identifier.closed
