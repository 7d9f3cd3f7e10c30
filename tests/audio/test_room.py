"""The room simulator and the timeline under it."""

from __future__ import annotations

import numpy as np
import pytest

from edgevoice.asr.recognizer import SAMPLE_RATE
from edgevoice.audio.room import Room, decibels, impulse_response
from edgevoice.audio.timeline import Timeline

BURST = np.random.default_rng(5).standard_normal(SAMPLE_RATE).astype(np.float32) * np.float32(0.1)


def blocks(room: Room, seconds: float) -> np.ndarray:
    return np.concatenate([room.microphone(320) for _ in range(round(seconds * 50))])


@pytest.mark.parametrize("delay_s", [0.0, 0.08, 0.35])
def test_delay_and_gain(delay_s: float) -> None:
    room = Room(delay_s, gain_db=-12, rt60_s=0, noise_dbfs=None)
    room.played(BURST, 0.5)
    heard = blocks(room, 2.5)
    first = round((0.5 + delay_s) * SAMPLE_RATE)
    assert not heard[:first].any()
    np.testing.assert_allclose(heard[first : first + len(BURST)], BURST * 10 ** (-12 / 20), atol=1e-6)


def test_gain_holds_with_reverberation() -> None:
    room = Room(0.08, gain_db=-12, rt60_s=0.4, noise_dbfs=None)
    room.played(np.tile(BURST, 3), 0.0)
    heard = blocks(room, 3.0)
    assert decibels(heard[SAMPLE_RATE : 2 * SAMPLE_RATE]) == pytest.approx(decibels(BURST) - 12, abs=0.5)


@pytest.mark.parametrize("rt60_s", [0.2, 0.5])
def test_reverberation_time_by_schroeders_integral(rt60_s: float) -> None:
    energy = np.cumsum(impulse_response(rt60_s)[:0:-1] ** 2)[::-1]
    decay = 10 * np.log10(energy / energy[0])
    t5, t35 = (int(np.argmax(decay < level)) for level in (-5, -35))
    assert 2 * (t35 - t5) / SAMPLE_RATE == pytest.approx(rt60_s, rel=0.1)


def test_blocks_and_one_piece_sound_the_same() -> None:
    whole, cut = Room(noise_dbfs=None), Room(noise_dbfs=None)
    whole.played(BURST, 0.1)
    for i in range(50):
        # Clock readings jitter; sound that follows without a gap must stay in one piece.
        cut.played(BURST[320 * i : 320 * (i + 1)], 0.1 + 0.02 * i + (0.004 if i % 3 and i else 0.0))
    np.testing.assert_allclose(whole.microphone(24000), blocks(cut, 1.5), atol=1e-6)


def test_noise_and_people() -> None:
    room = Room(noise_dbfs=-50, seed=3)
    room.say(BURST, 1.0)
    heard = blocks(room, 3.0)
    assert decibels(heard[:SAMPLE_RATE]) == pytest.approx(-50, abs=0.5)
    assert decibels(heard[SAMPLE_RATE : 2 * SAMPLE_RATE]) == pytest.approx(decibels(BURST), abs=0.5)
    assert room.time == pytest.approx(3.0)


def test_timeline_is_silent_where_nothing_was_written() -> None:
    line = Timeline(seconds=1.0)
    line.write(np.ones(1600, np.float32), 0.0)
    line.write(np.full(1600, 2, np.float32), 1.05)
    # The ring has gone round: what is read between the two must not be the first block.
    assert not line.read(0.3, 8000).any()
    assert line.read(1.05, 1600).tolist() == [2.0] * 1600
    assert line.read(5.0, 10).tolist() == [0.0] * 10
    assert line.end == pytest.approx(1.15)


def test_timeline_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Timeline(seconds=0.1).add(np.ones(3200, np.float32), 0.0)
