"""What the doctor hears: known recordings first, then a real sound server."""

from __future__ import annotations

import numpy as np
import pytest

from edgevoice.doctor import sound
from edgevoice.doctor.finding import State
from edgevoice.doctor.sound import RATE, RECORD_S, TONE_AT_S, TONE_S, judge, measure, tone


def recording(delay_s: float | None, gain_db: float = -10.0, noise_dbfs: float = -60.0) -> np.ndarray:
    noise = np.random.default_rng(1).standard_normal(int(RECORD_S * RATE)) * 10 ** (noise_dbfs / 20)
    if delay_s is not None:
        at = int((TONE_AT_S + delay_s) * RATE)
        piece = tone() * 10 ** (gain_db / 20)
        noise[at : at + len(piece)] += piece
    return noise.astype(np.float32)


def states(samples: np.ndarray) -> dict[str, State]:
    return {finding.subject: finding.state for finding in judge(measure(samples))}


@pytest.mark.parametrize("delay", [0.02, 0.08, 0.25])
def test_the_round_trip_is_measured(delay: float) -> None:
    assert measure(recording(delay)).round_trip_s == pytest.approx(delay, abs=0.015)


def test_a_quiet_room_with_a_working_speaker_is_well() -> None:
    assert set(states(recording(0.1)).values()) == {State.OK}
    assert measure(recording(0.1)).noise_dbfs == pytest.approx(-60, abs=1)


def test_noise_without_the_tone_is_not_taken_for_it() -> None:
    for level in (-60.0, -40.0, -20.0):
        assert measure(recording(None, noise_dbfs=level)).round_trip_s is None
    assert states(recording(None))["round trip"] is State.WARN


def test_digital_silence_is_a_dead_microphone() -> None:
    assert states(np.zeros(int(RECORD_S * RATE), np.float32))["microphone level"] is State.FAIL


def test_a_loud_room_and_clipping_are_warned_of() -> None:
    assert states(recording(None, noise_dbfs=-20.0))["microphone level"] is State.WARN
    assert states(np.clip(recording(0.1, gain_db=40.0), -1, 1))["clipping"] is State.WARN


def test_the_tone_does_not_click() -> None:
    wave = tone()
    assert len(wave) == int(TONE_S * RATE) and abs(wave[0]) < 1e-3 and abs(wave[-1]) < 1e-2
    assert np.max(np.abs(np.diff(wave))) < 2 * np.pi * sound.TONE_HZ / RATE * 0.15
