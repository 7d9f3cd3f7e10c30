"""The speaker on a real PulseAudio server, heard through its monitor."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from edgevoice.audio.device_speaker import DeviceSpeaker
from edgevoice.audio.playout import PlayoutEvent, SoundEnded, SoundStarted
from edgevoice.audio.resample import to_int16
from edgevoice.errors import DeviceError
from edgevoice.settings import AudioSettings
from tests.audio.pulse import PulseServer
from tests.audio.sound import pitch, sounding, tone, until

pytestmark = pytest.mark.audio
VOICE = 22_050


class Ears:
    """Collects the playout's events."""

    def __init__(self, speaker: DeviceSpeaker) -> None:
        self.events: list[PlayoutEvent] = []
        speaker.playout.listener = self.events.append

    def ended(self) -> bool:
        return any(isinstance(event, SoundEnded) for event in self.events)


@contextmanager
def opened(settings: AudioSettings) -> Iterator[DeviceSpeaker]:
    speaker = DeviceSpeaker(settings)
    speaker.open()
    try:
        yield speaker
    finally:
        speaker.close()


def test_a10_an_answer_is_played_whole_and_the_end_is_told_after_it_was_heard(pulse: PulseServer) -> None:
    with opened(AudioSettings()) as speaker, pulse.recording() as recording:
        ears = Ears(speaker)
        samples = to_int16(tone(VOICE, 1.0))
        for start in range(0, VOICE, 3000):
            speaker.playout.play(1, samples[start : start + 3000], VOICE)
        speaker.playout.finish(1)
        assert until(ears.ended, 8)
        told = time.monotonic()
    started, ended = ears.events
    assert isinstance(started, SoundStarted)
    assert isinstance(ended, SoundEnded)
    assert ended.played.samples == VOICE
    assert ended.played.ended is not None
    assert ended.played.ended <= told
    assert ended.played.ended - started.time == pytest.approx(1.0, abs=0.1)
    heard = sounding(recording.samples())
    if not speaker.underflows:  # A machine that is busy with other things may starve the driver.
        assert len(heard) / recording.rate == pytest.approx(1.0, abs=0.01)
        assert pitch(heard[2000:-2000], recording.rate) == pytest.approx(1000.0, abs=1.0)
    assert speaker.playout.underruns == 0


def test_b6_a_cut_is_heard_at_once(pulse: PulseServer) -> None:
    with opened(AudioSettings()) as speaker, pulse.recording() as recording:
        speaker.playout.play(1, to_int16(tone(VOICE, 2.0)), VOICE)
        assert until(lambda: (report := speaker.playout.report(1)) is not None and report.seconds > 0.5, 8)
        played = speaker.playout.cut(1)
        time.sleep(0.5)
    assert played is not None
    heard = len(sounding(recording.samples())) / recording.rate
    allowed = 0.02 if not speaker.underflows else 0.5
    assert heard == pytest.approx(played.seconds, abs=allowed)


def test_tap_follows_the_device_in_time(pulse: PulseServer) -> None:
    taken: list[tuple[int, float]] = []
    with opened(AudioSettings()) as speaker:
        speaker.playout.tap = lambda samples, start, rate: taken.append((len(samples), start))
        assert until(lambda: len(taken) > 50, 8)
    steps = np.diff([start for _, start in taken])
    assert np.median(steps) == pytest.approx(taken[0][0] / speaker.rate, abs=0.01)


@pytest.mark.parametrize("block", [0, 512])
def test_block_size_is_a_setting(pulse: PulseServer, block: int) -> None:
    sizes: set[int] = set()
    with opened(AudioSettings(block_ms=20, output_block=block)) as speaker:
        speaker.playout.tap = lambda samples, start, rate: sizes.add(len(samples))
        assert until(lambda: bool(sizes), 8)
    assert sizes == {block or speaker.rate // 50}


def test_a6_a7_a_speaker_plugged_in_again_is_found_by_name_and_the_answer_goes_on(pulse: PulseServer) -> None:
    def plug() -> None:
        pulse.pactl("load-module", "module-null-sink", "sink_name=kitchen", "rate=48000", "channels=2")

    plug()
    try:
        with opened(AudioSettings(output_device="kitchen", reopen_after_s=1.0)) as speaker:
            ears = Ears(speaker)
            assert until(lambda: _sink_of_ours(pulse) == "kitchen", 5)
            pulse.unload("module-null-sink", "sink_name=kitchen")
            assert until(lambda: speaker.waiting_for != "", 8)
            speaker.playout.play(1, to_int16(tone(VOICE, 0.3)), VOICE)
            speaker.playout.finish(1)
            plug()
            assert until(lambda: _sink_of_ours(pulse) == "kitchen", 8), "it does not stay on another speaker"
            assert until(ears.ended, 8)
            assert until(lambda: speaker.reopened == 1, 5)
            assert not speaker.waiting_for
    finally:
        pulse.unload("module-null-sink", "sink_name=kitchen")


def test_microphone_and_speaker_survive_a_new_device_list_together(pulse: PulseServer) -> None:
    from edgevoice.audio import portaudio
    from edgevoice.audio.microphone import Microphone
    from tests.audio.sound import Listener

    with opened(AudioSettings()) as speaker, Listener(Microphone(AudioSettings())) as heard:
        ears = Ears(speaker)
        speaker.playout.play(1, to_int16(tone(VOICE, 1.5)), VOICE)
        speaker.playout.finish(1)
        rescanner = threading.Thread(target=portaudio.rescan, name="rescan")
        rescanner.start()
        rescanner.join(5)
        count = len(heard.frames)
        assert until(lambda: len(heard.frames) > count + 10, 8)
        assert until(ears.ended, 8)
        assert ears.events[-1].played.samples == round(1.5 * VOICE)  # type: ignore[union-attr]


def test_a3_no_speaker_is_one_error(no_sound: None) -> None:
    with pytest.raises(DeviceError, match="no speaker") as caught:
        DeviceSpeaker(AudioSettings()).open()
    assert caught.value.exit_code == 69


def test_fades_keep_the_recording_free_of_clicks(pulse: PulseServer) -> None:
    with opened(AudioSettings()) as speaker, pulse.recording() as recording:
        speaker.playout.play(1, np.full(VOICE, 12_000, np.int16), VOICE)
        assert until(lambda: (report := speaker.playout.report(1)) is not None and report.seconds > 0.2, 8)
        speaker.playout.cut(1)
        time.sleep(0.3)
    if not speaker.underflows:
        assert np.max(np.abs(np.diff(recording.samples()))) < 0.02


def _sink_of_ours(pulse: PulseServer) -> str:
    sinks = {line.split("\t")[0]: line.split("\t")[1] for line in pulse.pactl("list", "short", "sinks").splitlines()}
    inputs = [line.split("\t") for line in pulse.pactl("list", "short", "sink-inputs").splitlines()]
    return sinks.get(inputs[-1][1], "") if inputs else ""
