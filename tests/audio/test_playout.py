"""The playout buffer, pulled by a clock of the test."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgevoice.audio.playout import Playout, PlayoutEvent, SoundEnded, SoundStarted
from edgevoice.tts.synthesizer import SpokenWord

RATE = 16_000
FADE = 80
"""Samples of a 5 ms ramp."""


class Device:
    """Pulls blocks; its latency is 50 ms."""

    def __init__(self, rate: int = RATE, block: int = 320, **options: object) -> None:
        self.events: list[PlayoutEvent] = []
        self.playout = Playout(rate, listener=self.events.append, **options)  # type: ignore[arg-type]
        self.block, self.now = block, 100.0
        self.out: list[np.ndarray] = []

    def run(self, blocks: int = 1) -> np.ndarray:
        start = len(self.out)
        for _ in range(blocks):
            block = np.ones(self.block, np.float32)
            self.playout.pull(block, self.now + 0.05, self.now)
            self.out.append(block)
            self.now += self.block / self.playout.rate
        return np.concatenate(self.out[start:])

    @property
    def sound(self) -> np.ndarray:
        return np.concatenate(self.out)

    def ended(self) -> list[SoundEnded]:
        return [event for event in self.events if isinstance(event, SoundEnded)]


def level(value: int, count: int) -> np.ndarray:
    return np.full(count, value, np.int16)


def test_silence_when_there_is_nothing() -> None:
    assert not Device().run(5).any()


def test_a10_samples_out_equal_samples_in_and_the_end_is_told_when_drained() -> None:
    device = Device()
    ramp = np.arange(1, 5001, dtype=np.int16)
    device.playout.play(1, ramp[:3000], RATE)
    device.playout.play(1, ramp[3000:], RATE)
    device.playout.finish(1)
    device.run(16)
    assert not device.ended(), "the last sample is still in the device"
    device.run(4)
    (end,) = device.ended()
    assert end.played.samples == 5000
    assert end.played.ended == pytest.approx(100.05 + 5000 / RATE)
    out = np.rint(device.sound * 32768).astype(int)
    assert np.array_equal(out[FADE:5000], ramp[FADE:])
    assert not out[5000 + FADE :].any()
    assert device.playout.underruns == 0


@pytest.mark.parametrize("voice_rate", [16_000, 22_050, 24_000])
@pytest.mark.parametrize("device_rate", [16_000, 44_100, 48_000])
def test_a10_count_is_exact_through_resampling(voice_rate: int, device_rate: int) -> None:
    device = Device(device_rate)
    for _ in range(7):
        device.playout.play(1, level(9000, 1111), voice_rate)
    device.playout.finish(1)
    device.run(100)
    (end,) = device.ended()
    assert end.played.samples == 7777
    assert end.played.seconds == pytest.approx(7777 / voice_rate, abs=1 / device_rate)
    loud = np.flatnonzero(np.abs(device.sound) > 0.2)
    assert (loud[-1] - loud[0]) / device_rate == pytest.approx(7777 / voice_rate, abs=0.006)


def test_a10_lead_in_is_declared_and_only_after_a_pause() -> None:
    device = Device(lead_in_ms=100)
    device.playout.play(1, level(9000, 1600), RATE)
    device.playout.finish(1)
    device.run(15)
    assert device.playout.padding == 1600
    assert np.flatnonzero(device.sound)[0] == 1600
    device.playout.play(2, level(9000, 1600), RATE)
    device.playout.finish(2)
    device.run(10)
    assert device.playout.padding == 1600, "the sink is still awake"
    device.run(60)
    device.playout.play(3, level(9000, 1600), RATE)
    device.run(10)
    assert device.playout.padding == 3200
    assert [event.played.samples for event in device.ended()] == [1600, 1600]


def test_a9_a_sink_that_swallows_its_first_400_ms_loses_no_speech() -> None:
    device = Device(lead_in_ms=400)
    device.playout.play(1, np.arange(1, 8001, dtype=np.int16), RATE)
    device.playout.finish(1)
    device.run(60)
    swallowed = device.sound[round(0.4 * RATE) :]
    heard = np.rint(swallowed * 32768).astype(int)
    assert np.array_equal(heard[FADE:8000], np.arange(1, 8001)[FADE:])


def test_first_audible_sample_excludes_leading_silence() -> None:
    device = Device()
    device.playout.play(1, np.concatenate([level(0, 1000), level(20, 500), level(9000, 500)]), RATE)
    device.run(10)
    (started,) = [event for event in device.events if isinstance(event, SoundStarted)]
    assert started.time == pytest.approx(100.05 + 1500 / RATE)


def test_held_sound_is_queued_but_not_audible() -> None:
    device = Device()
    device.playout.begin(1, held=True)
    device.playout.play(1, level(9000, 3200), RATE)
    assert not device.run(10).any()
    assert not device.playout.sounding
    device.playout.release(1)
    assert device.run(1)[FADE:].all()
    assert device.playout.sounding


def test_b6_cut_lets_no_sample_of_the_old_answer_out() -> None:
    device = Device()
    device.playout.play(1, level(9000, RATE), RATE)
    device.run(3)
    played = device.playout.cut(1)
    assert played is not None
    assert played.samples == 3 * 320
    assert not device.playout.play(1, level(9000, RATE), RATE), "a late writer writes into the void"
    device.playout.finish(1)
    after = device.run(20)
    assert not after[FADE:].any()
    assert np.all(np.diff(after[:FADE]) < 0), "only the last value fades out"
    assert not device.ended(), "the cutter knows already"


def test_b6_the_next_answer_starts_in_the_very_next_block() -> None:
    device = Device()
    device.playout.play(1, level(9000, RATE), RATE)
    device.run(3)
    device.playout.cut(1)
    device.playout.play(2, level(-5000, 640), RATE)
    device.playout.finish(2)
    after = device.run(3)
    assert np.allclose(after[FADE:640], -5000 / 32768)
    assert not after[640 + FADE :].any()


def test_cut_of_an_answer_that_never_began_and_of_all_before() -> None:
    device = Device()
    assert device.playout.cut(5) is None
    for generation in (3, 4, 5):
        assert not device.playout.begin(generation)
        assert not device.playout.play(generation, level(9000, 100), RATE)
    assert device.playout.play(6, level(9000, 100), RATE)


def test_b5_resume_goes_on_with_the_same_sample() -> None:
    device = Device()
    device.playout.play(1, np.arange(1, 6401, dtype=np.int16), RATE)
    device.playout.finish(1)
    before = device.run(5)
    device.playout.pause()
    assert not device.run(10)[FADE:].any()
    device.playout.resume()
    after = device.run(20)
    expected = np.arange(1, 6401) / 32768
    assert np.allclose(before[FADE:], expected[FADE : len(before)])
    assert np.allclose(after[FADE : 6400 - len(before)], expected[len(before) + FADE :])
    assert device.ended()[0].played.samples == 6400
    assert device.playout.underruns == 0


def test_every_start_and_stop_is_free_of_clicks() -> None:
    device = Device()
    device.playout.play(1, level(20_000, 4000), RATE)
    device.run(2)
    device.playout.pause()
    device.run(2)
    device.playout.resume()
    device.run(2)
    device.playout.cut(1)
    device.run(2)
    device.playout.play(2, level(-20_000, 1000), RATE)
    device.playout.finish(2)
    device.run(6)
    assert np.max(np.abs(np.diff(device.sound))) < 20_000 / 32768 / FADE * 2.5


def test_nothing_is_clipped_and_the_gain_is_one() -> None:
    device = Device()
    samples = np.random.default_rng(1).integers(-32768, 32767, 3200).astype(np.int16)
    device.playout.play(1, samples, RATE)
    out = device.run(10)
    assert np.array_equal(np.rint(out[FADE:] * 32768).astype(int), samples[FADE:])


def test_tap_gets_exactly_what_the_device_gets() -> None:
    device = Device()
    taken: list[tuple[np.ndarray, float, int]] = []
    device.playout.tap = lambda samples, start, rate: taken.append((samples, start, rate))
    device.playout.play(1, level(9000, 1000), RATE)
    device.run(5)
    assert np.array_equal(np.concatenate([samples for samples, _, _ in taken]), device.sound)
    assert [start for _, start, _ in taken] == pytest.approx([100.05 + n * 0.02 for n in range(5)])
    assert {rate for _, _, rate in taken} == {RATE}


def test_a11_a_gap_between_clauses_is_no_underrun() -> None:
    device = Device()
    device.playout.play(1, level(9000, 640), RATE, clause=0)
    device.playout.end_clause(1)
    device.run(10)
    device.playout.play(1, level(9000, 640), RATE, clause=1)
    device.playout.end_clause(1)
    device.run(10)
    assert device.playout.underruns == 0


def test_a11_an_underrun_is_counted_and_waits_for_a_cushion_of_200_ms() -> None:
    device = Device()
    device.playout.play(1, level(9000, 640), RATE)
    device.run(10)
    assert device.playout.underruns == 1
    device.playout.play(1, level(9000, 1600), RATE)
    assert not device.run(5).any(), "100 ms are not enough to go on"
    device.playout.play(1, level(9000, 1700), RATE)
    assert device.run(1)[FADE:].all()
    assert device.playout.underruns == 1


def test_a11_a_slow_voice_gives_gaps_between_words_never_inside_one() -> None:
    word = 3200
    words = tuple(SpokenWord(n, n + 1, n * word, (n + 1) * word) for n in range(10))
    device = Device()
    device.playout.pace.slow = True
    values = np.repeat(np.arange(1, 11) * 1000, word).astype(np.int16)
    for piece in range(40):  # half as fast as real time: 50 ms of sound every 100 ms
        chunk = values[piece * 800 : (piece + 1) * 800]
        device.playout.play(1, chunk, RATE, clause=0, words=words if piece == 0 else ())
        device.playout.pace.slow = True
        device.run(5)
    device.playout.end_clause(1)
    device.playout.finish(1)
    device.run(40)
    out = np.rint(device.sound * 32768).astype(int)
    for value in np.arange(1, 11) * 1000:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], out == value, [0]]).astype(int)))
        assert np.max(edges[1::2] - edges[::2]) >= word - FADE, f"word {value} was torn"
    assert len(np.flatnonzero(np.diff((np.abs(out) > 900).astype(int)) == 1)) > 3, "there were gaps"


def test_a11_without_word_times_a_slow_clause_waits_until_it_is_complete() -> None:
    device = Device()
    device.playout.pace.slow = True
    for _ in range(5):
        device.playout.play(1, level(9000, 800), RATE)
        device.playout.pace.slow = True
        assert not device.run(5).any()
    device.playout.end_clause(1)
    assert device.run(12)[FADE:3800].all()


def test_back_pressure_waits_for_room_and_ends_with_a_cut() -> None:
    device = Device(max_ahead_s=0.5)
    device.playout.play(1, level(9000, RATE), RATE)
    assert not device.playout.wait_room(1, 0.01)
    device.run(26)
    assert device.playout.wait_room(1, 0.01)
    device.playout.play(1, level(9000, RATE), RATE)
    results: list[bool] = []
    waiter = threading.Thread(target=lambda: results.append(device.playout.wait_room(1, 10.0)))
    waiter.start()
    device.playout.cut(1)
    waiter.join(2.0)
    assert results == [False]


def test_a_slow_voice_never_deadlocks_with_back_pressure() -> None:
    device = Device(max_ahead_s=0.5)
    device.playout.pace.slow = True
    device.playout.play(1, level(9000, RATE), RATE)
    device.playout.pace.slow = True
    assert not device.playout.wait_room(1, 0.01)
    assert device.run(2).any(), "a full buffer begins although the clause is not complete"


def test_two_answers_follow_each_other() -> None:
    device = Device()
    for generation, value in ((1, 3000), (2, 6000)):
        device.playout.play(generation, level(value, 1000), RATE)
        device.playout.finish(generation)
    device.run(10)
    out = np.rint(device.sound * 32768).astype(int)
    assert np.array_equal(out[FADE:2000], np.repeat([3000, 6000], 1000)[FADE:])
    assert [event.generation for event in device.ended()] == [1, 2]


def test_rate_comes_with_the_first_sound() -> None:
    playout = Playout()
    assert playout.ready() == 0
    playout.play(1, level(9000, 441), 22_050)
    assert playout.rate == 22_050
    assert playout.ready() == 441


def test_empty_answer_ends_at_once() -> None:
    device = Device()
    device.playout.begin(1)
    device.playout.finish(1)
    device.run(4)
    assert [event.played.samples for event in device.ended()] == [0]


Step = st.one_of(
    st.tuples(st.just("play"), st.integers(1, 2000)),
    st.tuples(st.just("pull"), st.integers(1, 6)),
    st.tuples(st.sampled_from(["cut", "pause", "resume", "hold", "release", "finish"]), st.just(0)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(Step, max_size=40), st.integers(1, 700))
def test_b6_a10_no_interleaving_plays_old_torn_or_doubled_sound(steps: list[tuple[str, int]], block: int) -> None:
    """What comes out is a prefix of what each answer was given, in order, and nothing of it after its cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("edgevoice.audio.playout.FADE_S", 0.0)
        device = Device(block=block)
        given_, heard = [np.zeros(0, int)], [np.zeros(0, int)]
        generation = 0
        for action, number in steps:
            if action == "play":
                wave = 1 + (len(given_[-1]) + np.arange(number)) % 30_000
                if device.playout.play(generation, wave.astype(np.int16), RATE):
                    given_[-1] = np.concatenate([given_[-1], wave])
            elif action == "pull":
                out = np.rint(device.run(number) * 32768).astype(int)
                heard[-1] = np.concatenate([heard[-1], out[out != 0]])
            elif action == "cut":
                report = device.playout.cut(generation)
                assert (report.samples if report else 0) == len(heard[-1])
                generation += 1
                given_.append(np.zeros(0, int))
                heard.append(np.zeros(0, int))
            elif action == "hold":
                device.playout.begin(generation, held=True)
            elif action in ("pause", "resume"):
                getattr(device.playout, action)()
            else:
                getattr(device.playout, action)(generation)
        for expected, out in zip(given_, heard, strict=True):
            assert np.array_equal(out, expected[: len(out)])
