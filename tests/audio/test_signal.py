"""Resampling, levels, capture clock and voice pace."""

from __future__ import annotations

import math

import numpy as np
import pytest

from edgevoice.audio.clock import CaptureClock
from edgevoice.audio.level import FLOOR_DBFS, clipped_share, dbfs, judge
from edgevoice.audio.pace import VoicePace
from edgevoice.audio.resample import MonoResampler, to_float, to_int16
from tests.audio.sound import pitch, purity_db, tone


@pytest.mark.parametrize("low_latency", [False, True])
@pytest.mark.parametrize(("source", "target"), [(44_100, 16_000), (48_000, 16_000), (22_050, 48_000), (8_000, 16_000)])
@pytest.mark.parametrize("block", [137, 882])
def test_a5_tone_survives_resampling_in_blocks(source: int, target: int, block: int, low_latency: bool) -> None:
    resampler = MonoResampler(source, target, low_latency)
    sound = tone(source, 1.5)
    pieces = [resampler.accept(sound[n : n + block]) for n in range(0, len(sound), block)]
    out = np.concatenate([*pieces, resampler.finish()])
    assert len(out) == round(1.5 * target) == resampler.given
    middle = out[target // 10 : -target // 10]
    assert pitch(middle, target) == pytest.approx(1000.0, abs=0.1)
    assert purity_db(middle, target, 1000.0) > 60


def test_low_latency_holds_back_little_and_steadily() -> None:
    held = {}
    for low_latency in (False, True):
        resampler = MonoResampler(48_000, 16_000, low_latency)
        held[low_latency] = []
        for _ in range(100):
            resampler.accept(np.zeros(480, np.float32))
            held[low_latency].append(resampler.held_s)
    assert max(held[True][20:]) < 0.015
    assert max(held[True][20:]) < max(held[False][20:]) / 2


def test_resampling_is_time_aligned() -> None:
    resampler = MonoResampler(48_000, 16_000, True)
    click = np.zeros(48_000, np.float32)
    click[24_000] = 1.0
    out = np.concatenate([resampler.accept(click), resampler.finish()])
    assert abs(int(np.argmax(out)) - 8_000) <= 4, "a quarter of a millisecond"


def test_channels_are_averaged_and_same_rate_changes_nothing() -> None:
    stereo = np.stack([np.full(100, 0.2), np.full(100, 0.4)], axis=1).astype(np.float32)
    assert np.allclose(MonoResampler(16_000, 16_000).accept(stereo), 0.3)


def test_int16_round_trip_is_exact() -> None:
    every = np.arange(-32768, 32768).astype(np.int16)
    assert np.array_equal(to_int16(to_float(every)), every)


def test_levels() -> None:
    assert dbfs(np.zeros(0, np.float32)) == FLOOR_DBFS
    assert dbfs(np.zeros(100, np.float32)) == FLOOR_DBFS
    assert dbfs(np.ones(100, np.float32)) == pytest.approx(0.0)
    assert dbfs(tone(16_000, 1.0, peak=0.1)) == pytest.approx(-20 - 10 * math.log10(2), abs=0.01)
    assert clipped_share(np.array([1.0, -1.0, 0.5, 0.0], np.float32)) == 0.5


@pytest.mark.parametrize(("peak", "verdict"), [(0.0, "silent"), (0.002, "quiet"), (0.2, "ok"), (0.99, "loud")])
def test_judgement_of_a_recording(peak: float, verdict: str) -> None:
    assert judge(tone(16_000, 1.0, peak=peak)).verdict == verdict


def test_clipping_is_recognised() -> None:
    assert judge(np.clip(tone(16_000, 1.0, peak=3.0), -1, 1)).verdict == "clipped"


def test_clock_smooths_jitter_and_follows_the_least_delayed() -> None:
    clock = CaptureClock()
    rng = np.random.default_rng(1)
    ends = []
    for n in range(500):
        true = 10.0 + 0.02 * (n + 1)
        ends.append(clock.block(0.02, true + rng.exponential(0.01)) - true)
    assert max(ends[100:]) < 0.006
    assert np.max(np.abs(np.diff(ends[100:]))) < 0.003


def test_clock_recovers_from_a_lasting_delay_in_half_a_second() -> None:
    clock = CaptureClock()
    for n in range(50):
        clock.block(0.02, 0.02 * n)
    late = [clock.block(0.02, 0.02 * n + 0.1) - 0.02 * n for n in range(50, 100)]
    assert late[0] == pytest.approx(0.0, abs=0.001)
    assert late[-1] == pytest.approx(0.1, abs=0.005)


def test_clock_starts_anew_after_a_gap() -> None:
    clock = CaptureClock()
    clock.block(0.02, 1.0)
    assert clock.block(0.02, 9.0) == 9.0
    clock.reset()
    assert clock.block(0.02, 5.0) == 5.0


@pytest.mark.parametrize(("speed", "slow"), [(0.5, True), (0.9, True), (2.0, False), (30.0, False)])
def test_a11_pace_of_the_voice(speed: float, slow: bool) -> None:
    pace = VoicePace()
    for n in range(10):
        pace.arrived(1, 0, 0.1, now=0.1 * n / speed)
    assert pace.slow is slow


def test_a11_pace_recovers_and_ignores_the_first_chunk_and_pauses_between_clauses() -> None:
    pace = VoicePace()
    for n in range(5):
        pace.arrived(1, 0, 0.1, now=0.2 * n)
    assert pace.slow
    for n in range(5):
        pace.arrived(1, 1, 0.1, now=60.0 + 0.01 * n)
    assert not pace.slow
