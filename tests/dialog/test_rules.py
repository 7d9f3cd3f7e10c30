"""Endpointing, history as heard, the ledger."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgevoice.dialog.endpoint import EndEvidence, Endpointer, Silence
from edgevoice.dialog.heard import HeardTracker
from edgevoice.dialog.ledger import Point, TurnLedger
from edgevoice.dialog.states import TRANSITIONS, Event, State, mermaid
from edgevoice.settings import EndpointSettings
from edgevoice.tts.synthesizer import SpokenWord

SETTINGS = EndpointSettings(
    pause_ms=80, min_silence_ms=200, max_silence_ms=800, complete_above=0.5, incomplete_below=0.0
)


@pytest.mark.parametrize(
    ("silence", "completeness", "meaning"),
    [
        (0.05, 1.0, Silence.NONE),
        (0.08, 1.0, Silence.PAUSE),
        (0.2, 1.0, Silence.END),
        (0.2, 0.5, Silence.END),
        (0.2, 0.25, Silence.PAUSE),
        (0.5, 0.25, Silence.END),
        (0.79, 0.0, Silence.PAUSE),
        (0.8, 0.0, Silence.END),
        (0.79, None, Silence.PAUSE),
        (0.8, None, Silence.END),
    ],
)
def test_silence_that_ends_a_turn(silence: float, completeness: float | None, meaning: Silence) -> None:
    assert Endpointer(SETTINGS).judge(silence, completeness) is meaning


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_complete_words_never_wait_longer(one: float, other: float) -> None:
    rule = Endpointer(SETTINGS)
    low, high = sorted((one, other))
    assert 0.2 <= rule.needed_s(high) <= rule.needed_s(low) <= 0.8


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_likelier_the_end_sounds_and_reads_the_likelier_it_is(one: float, other: float, fixed: float) -> None:
    low, high = sorted((one, other))

    def judged(sound: float | None, words: float | None) -> float:
        found = EndEvidence(words, sound).completeness
        assert found is not None and 0 <= found <= 1
        return found

    assert judged(low, fixed) <= judged(high, fixed)
    assert judged(fixed, low) <= judged(fixed, high)
    assert judged(low, None) <= judged(high, None) and judged(None, low) <= judged(None, high)


def test_nothing_known_is_no_evidence_and_the_sound_weighs_more_than_the_words() -> None:
    assert EndEvidence().completeness is None
    broken_off, finished = EndEvidence(words=0.9, sound=0.02), EndEvidence(words=0.02, sound=0.98)
    assert broken_off.completeness < 0.3 and finished.completeness > 0.85  # type: ignore[operator]


def test_what_is_known_of_an_end_is_void_when_speech_goes_on() -> None:
    ledger = TurnLedger()
    ledger.note_end(7, sound=0.9)
    assert ledger.end_evidence(7) == EndEvidence(), "no such turn is open"
    ledger.record(7)
    ledger.note_end(7, sound=0.9)
    ledger.note_end(7, words=0.4)
    ledger.note_end(7)
    assert ledger.end_evidence(7) == EndEvidence(0.4, 0.9)
    ledger.forget_end(7)
    assert ledger.end_evidence(7) == EndEvidence()


def test_b7_heard_text_follows_the_word_times() -> None:
    tracker = HeardTracker()
    words = tuple(SpokenWord(i, i + 1, i * 1000, (i + 1) * 1000) for i in range(4))
    tracker.begin_clause("one two three four. ", words)
    tracker.add_samples(4000)
    tracker.end_clause()
    tracker.begin_clause("five six", ())
    tracker.add_samples(2000)
    tracker.end_clause()
    assert tracker.text_at(0) == ""
    assert tracker.text_at(1400) == "one"
    assert tracker.text_at(1600) == "one two"
    assert tracker.text_at(4000) == "one two three four."
    assert tracker.text_at(5000) == "one two three four. five"
    assert tracker.text_at(9999) == tracker.full_text == "one two three four. five six"


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=6))
def test_heard_text_is_a_growing_prefix_of_the_answer(cuts: list[int]) -> None:
    tracker = HeardTracker()
    for text in ("it is noon. ", "and it rains."):
        tracker.begin_clause(text)
        tracker.add_samples(1500)
        tracker.end_clause()
    heard = [tracker.text_at(c) for c in sorted(cuts)]
    assert all(tracker.full_text.startswith(h) for h in heard)
    assert [len(h) for h in heard] == sorted(len(h) for h in heard)


def test_a_new_attempt_makes_the_old_one_stale() -> None:
    ledger = TurnLedger()
    first = ledger.new_attempt(1)
    second = ledger.new_attempt(1)
    assert ledger.stale(first) and not ledger.stale(second)
    ledger.withdraw()
    assert ledger.stale(second)


def test_only_the_committed_attempt_is_measured() -> None:
    ledger = TurnLedger()
    ledger.mark_turn(1, Point.SPEECH_END, 10.0)
    for start in (10.1, 10.4):
        generation = ledger.new_attempt(1)
        ledger.mark(generation, Point.ASK, start)
        ledger.mark(generation, Point.FIRST_AUDIBLE, start + 0.2)
        ledger.mark(generation, Point.FIRST_AUDIBLE, start + 0.9)
    ledger.commit(generation)
    record = ledger.record(1)
    assert record.interval("e2e") == pytest.approx(0.6)
    assert record.intervals_ms()["ttfa_ms"] == pytest.approx(200.0)
    assert record.intervals_ms()["ttft_ms"] is None


def test_records_are_bounded() -> None:
    ledger = TurnLedger()
    for segment in range(2000):
        ledger.new_attempt(segment)
        if segment % 2:
            ledger.close(ledger.record(segment), 0.0)
    assert len(ledger.finished) <= 256 and len(ledger._open) <= 256 and len(ledger._by_generation) <= 256


def test_every_state_can_be_left_and_reached() -> None:
    for state in State:
        assert any(start is state for start, _ in TRANSITIONS), state
        assert state is State.IDLE or any(end is state for end in TRANSITIONS.values()), state
    assert all(any(e is event for _, e in TRANSITIONS) for event in Event)
    assert mermaid().count("-->") == len(TRANSITIONS) + 1


def test_word_share_is_by_words_when_times_are_given() -> None:
    # "3.5 km" is spoken as five words: the history text has two.
    spoken = tuple(SpokenWord(0, 1, i * 100, i * 100 + 100) for i in range(5))
    tracker = HeardTracker()
    tracker.begin_clause("3.5 km", spoken)
    tracker.add_samples(int(np.int64(500)))
    assert tracker.text_at(260) == "3.5"


def test_b7_a_clause_that_is_still_being_made_was_not_heard_as_a_whole() -> None:
    rate, text = 16_000, "The market begins with baskets of apples in the afternoon."
    for words in ((), tuple(SpokenWord(i, i + 1, i * 8000, (i + 1) * 8000) for i in range(10))):
        tracker = HeardTracker()
        tracker.begin_clause(text, words)
        tracker.add_samples(2 * rate, rate)
        assert tracker.text_at(rate // 16) == ""
        heard = tracker.text_at(2 * rate)
        assert text.startswith(heard) and 3 <= len(heard.split()) <= 5, heard
        tracker.add_samples(3 * rate)
        tracker.end_clause()
        assert tracker.text_at(5 * rate) == text


def test_b7_without_word_times_more_than_the_estimate_is_all_there_may_be() -> None:
    tracker = HeardTracker()
    tracker.begin_clause("no")
    tracker.add_samples(16_000, 16_000)
    assert tracker.text_at(16_000) == "no"


def test_c1_words_are_announced_when_their_sound_is_handed_over_and_for_their_own_time() -> None:
    tracker, rate = HeardTracker(), 1000
    tracker.begin_clause("at noon in the afternoon", tuple(SpokenWord(i, i, i * 500, i * 500 + 400) for i in range(5)))
    tracker.add_samples(120, rate)
    assert tracker.untold() == [("at", 0.0, 0.4)]
    assert tracker.untold() == []
    tracker.add_samples(1000)
    assert tracker.untold() == [("noon", 0.5, 0.9), ("in", 1.0, 1.4)]
    tracker.add_samples(780)
    tracker.end_clause()
    assert tracker.untold() == [("the", 1.5, 1.9), ("afternoon", 2.0, 2.4)]
    tracker.begin_clause("one two")
    tracker.add_samples(200)
    assert tracker.untold() == [("one", pytest.approx(1.9), pytest.approx(2.1))]
    tracker.end_clause()
    assert [text for text, *_ in tracker.untold()] == ["two"]
