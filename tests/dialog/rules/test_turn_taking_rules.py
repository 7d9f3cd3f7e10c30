"""Back-channels, barge-in, false interruptions, loudness, follow-up window: rules without sound."""

from __future__ import annotations

import pytest

from edgevoice.dialog.rules.backchannel import BackchannelFilter
from edgevoice.dialog.rules.barge_in import BargeInRule
from edgevoice.dialog.rules.false_interruption import FalseInterruptionRule
from edgevoice.dialog.rules.follow_up import FollowUpWindow
from edgevoice.dialog.rules.loudness import Loudness, TooLoudTooQuiet
from edgevoice.dialog.rules.no_new_words import NoNewWords
from edgevoice.dialog.rules.overlap import OverlapRules
from edgevoice.settings import DialogSettings, EndpointSettings


@pytest.mark.parametrize(
    "text", ["Mm-hmm.", "yeah", "uh-huh", "Okay.", "yeah, uh huh", "oh I see", "yes yes", "all right"]
)
def test_b5_back_channels_are_nothing_else(text: str) -> None:
    assert BackchannelFilter().only(text)


@pytest.mark.parametrize("text", ["", "okay stop", "yeah but why", "is that okay", "mm what", "the right one"])
def test_b5_words_beside_a_back_channel_count(text: str) -> None:
    assert not BackchannelFilter().only(text)


def test_the_list_can_be_set_and_goes_by_language() -> None:
    assert BackchannelFilter(phrases=["roger"]).only("Roger!")
    assert not BackchannelFilter(phrases=["roger"]).only("yeah")
    assert BackchannelFilter("de").only("ja, genau")


@pytest.mark.parametrize(
    ("text", "final", "stops"),
    [
        ("", False, False),
        ("mm-hmm", True, False),
        ("yeah okay", True, False),
        ("stop", False, True),
        ("wait", False, True),
        ("No!", False, False),
        ("No!", True, True),
        ("okay stop", False, True),
        ("hold on", False, True),
        ("hold", False, False),
        ("what", False, False),
        ("what about", False, True),
        ("yeah what", False, False),
        ("yeah what about", False, True),
        ("tomorrow", False, False),
        ("tomorrow", True, True),
    ],
)
def test_b4_words_stop_the_voice(text: str, final: bool, stops: bool) -> None:
    assert BargeInRule(BackchannelFilter()).interrupts(text, final, confidence=0.95 if final else 0.0) is stops


@pytest.mark.parametrize(
    ("read", "first_pass"),
    [("no", "no"), ("in a mon", "in a mon"), ("in a month", "in a mon"), ("name him", "name him")],
)
def test_b5_a_hum_that_was_read_as_words_does_not_interrupt(read: str, first_pass: str) -> None:
    rule = BargeInRule(BackchannelFilter())
    assert not rule.interrupts(first_pass), "they are still coming"
    assert not rule.interrupts(read, final=True, confidence=0.85, first_pass=first_pass)
    assert rule.interrupts(read, final=True, confidence=0.95, first_pass=first_pass)
    assert rule.pauses(read), "the voice waits until it is clear"


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("chan a chen", False),
        ("i am chen a chan", False),
        ("what do you", False),
        ("what do you think of my", True),
        ("stop", True),
        ("hold on", True),
    ],
)
def test_b5_few_words_that_were_not_read_yet_only_silence_the_voice(text: str, stops: bool) -> None:
    rule = BargeInRule(BackchannelFilter())
    assert rule.interrupts(text, read=False) is stops
    assert rule.pauses(text), "nobody talks against the voice while it is found out"


@pytest.mark.parametrize(
    ("text", "confidence", "stops"),
    [
        ("events events events", 0.05, False),
        ("events events events", 0.7, True),
        ("a chen a chen", 0.93 * 0.4, False),
        ("what do you think of my statue", 0.3, True),
        ("stop", 0.3, True),
    ],
)
def test_b5_a_few_doubtful_words_do_not_interrupt(text: str, confidence: float, stops: bool) -> None:
    assert BargeInRule(BackchannelFilter()).interrupts(text, final=True, confidence=confidence) is stops


def test_b4_one_doubtful_word_does_not_interrupt() -> None:
    rule = BargeInRule(BackchannelFilter())
    assert not rule.interrupts("tomorrow", final=True, confidence=0.4)
    assert rule.pauses("tomorrow")
    assert not rule.pauses("uh huh")


def test_b5_many_sounds_of_speech_pause_unless_they_are_its_own_or_a_back_channel() -> None:
    rule = BargeInRule(BackchannelFilter())
    assert rule.pauses("", phones=2, heard_s=0.8) and not rule.pauses("", phones=1, heard_s=0.8)
    assert not rule.pauses("", phones=4, heard_s=5.0), "in five seconds of music there are some, too"
    assert not rule.pauses("okay", phones=4, heard_s=0.8)


def test_the_voice_resumes_once_after_silence() -> None:
    rule = FalseInterruptionRule(2.0)
    rule.pause(10.0)
    assert rule.paused and not rule.due(11.9)
    rule.pause(11.9, words=1)
    rule.pause(12.5, words=1)
    assert not rule.due(13.8)
    assert rule.due(13.9) and rule.dismissed == 1
    assert not rule.due(20.0) and not rule.paused
    rule.segment_started()
    assert rule.dismissed is None


def test_nothing_to_resume_after_a_real_interruption() -> None:
    rule = FalseInterruptionRule(2.0)
    rule.pause(10.0)
    rule.interrupted()
    assert not rule.due(99.0)


def test_the_user_is_told_once_that_it_is_too_quiet() -> None:
    rule = TooLoudTooQuiet(patience=2)
    advice = []
    for level in (-20.0, -55.0, -55.0, -55.0, -20.0, -55.0):
        rule.judge(level)
        advice.append(rule.advise)
    assert advice == [False, False, True, False, False, False]
    assert rule.judge(-3.0) is Loudness.TOO_LOUD
    assert rule.judge(-20.0, clipped_share=0.01) is Loudness.TOO_LOUD


def test_follow_up_window() -> None:
    window = FollowUpWindow(8.0)
    assert not window.open_at(0.0)
    window.answer_ended(100.0)
    assert window.open_at(107.9) and not window.open_at(108.0)
    window.answer_started()
    assert not window.open_at(101.0)
    never = FollowUpWindow(0.0)
    never.answer_ended(100.0)
    assert not never.open_at(100.0)


class OwnWords:
    """A guard that knows every word but one."""

    def remove(self, text: str, end: float) -> str:
        return " ".join(word for word in text.split() if word == "stop")

    def strange(self, text: str, end: float) -> bool:
        return "cassie" in text


def test_own_words_never_interrupt() -> None:
    rules = OverlapRules(DialogSettings(), OwnWords(), now=lambda: 0.0)
    assert not rules.interrupts("the weather is fine today", True, 0.95)
    assert not rules.pauses("the weather", phones=6, heard_s=1.0)
    assert rules.pauses("cassie the", phones=6, heard_s=1.0), "one strange word may be the user's: it pauses only"
    assert rules.interrupts("the weather is stop", False)


def test_no_new_words_ends_a_turn_that_had_words() -> None:
    rule = NoNewWords(1.6)
    assert rule.over(2.0, 3.6) and not rule.over(2.0, 3.5)
    assert not NoNewWords(0.0).over(2.0, 60.0), "0 switches it off"


def test_no_new_words_never_undercuts_the_longest_silence() -> None:
    assert NoNewWords.of(EndpointSettings(no_new_words_s=1.0, max_silence_ms=2000)).limit_s == pytest.approx(2.8)
    assert NoNewWords.of(EndpointSettings(no_new_words_s=0.0)).limit_s == 0.0
