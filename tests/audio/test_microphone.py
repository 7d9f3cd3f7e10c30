"""The microphone on a real PulseAudio server."""

from __future__ import annotations

import logging
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edgevoice.audio import portaudio
from edgevoice.audio.microphone import Microphone
from edgevoice.audio.vad import SpeechDetector
from edgevoice.errors import DeviceError
from edgevoice.settings import AudioSettings, VadSettings
from tests.audio.pulse import PulseServer, environment_of, pulse_server
from tests.audio.sound import Listener, pitch, purity_db, sounding, tone, until

pytestmark = pytest.mark.audio
RATE = 16_000


def offer_only(monkeypatch: pytest.MonkeyPatch, rate: int, channels: int) -> None:
    """A device with one format: PulseAudio offers all, so the refusals of a bare sound card are put in front of it."""
    sd = portaudio.library()
    real = sd.InputStream

    def stream(**options: Any) -> Any:
        if options["samplerate"] != rate:
            raise sd.PortAudioError("Invalid sample rate", portaudio.INVALID_RATE)
        if options["channels"] != channels:
            raise sd.PortAudioError("Invalid number of channels", portaudio.INVALID_CHANNELS)
        return real(**options)

    monkeypatch.setattr(sd, "InputStream", stream)


@pytest.mark.parametrize("rate", [44_100, 48_000])
def test_a5_stereo_only_device_at_its_own_rate_keeps_the_tone(
    pulse: PulseServer, monkeypatch: pytest.MonkeyPatch, rate: int
) -> None:
    offer_only(monkeypatch, rate, 2)
    microphone = Microphone(AudioSettings())
    with Listener(microphone) as heard:
        pulse.say(tone(RATE, 1.2), RATE)
    assert (microphone.rate, microphone.channels) == (rate, 2)
    middle = sounding(heard.sound)[1600:-1600]
    assert len(middle) > 0.8 * RATE
    assert pitch(middle, RATE) == pytest.approx(1000.0, abs=1.0)
    # A fault at block borders would spoil every stretch of 200 ms; a gap of the busy machine spoils one.
    stretches = [middle[start : start + 3200] for start in range(0, len(middle) - 3200, 3200)]
    assert np.median([purity_db(stretch, RATE, 1000.0) for stretch in stretches]) > 25


def test_frames_are_steady_and_carry_their_capture_time(pulse: PulseServer) -> None:
    with Listener(Microphone(AudioSettings())) as heard:
        assert until(lambda: len(heard.frames) >= 60, 10)
    first = next(n for n, moment in enumerate(heard.arrived) if moment > heard.arrived[0] + 0.3)
    frames, arrived = heard.frames[first:], heard.arrived[first:]
    assert all(frame.samples.dtype == np.float32 and frame.samples.ndim == 1 for frame in frames)
    delay = np.array(arrived) - [frame.time for frame in frames]
    assert np.min(delay) >= -0.005, "nothing arrives before it was captured"
    steps = np.diff([frame.time for frame in frames]) - [len(frame.samples) / RATE for frame in frames[1:]]
    assert np.median(np.abs(steps)) < 0.002


def test_a6_a7_unplugged_and_plugged_in_again_it_hears_within_5_s(
    pulse: PulseServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "edgevoice.audio")
    microphone = Microphone(AudioSettings(input_device="virtmic"))
    with Listener(microphone) as heard:
        assert until(lambda: len(heard.frames) > 20, 10)
        pulse.unload_virtmic()
        try:
            assert until(lambda: microphone.waiting_for != "", 8), "the loss is noticed"
            time.sleep(0.1)  # blocks that were on their way when the device went
            before = len(heard.frames)
            time.sleep(1.5)
            assert len(heard.frames) == before, "it does not listen to another microphone meanwhile"
            assert not microphone.hearing
        finally:
            pulse.load_virtmic()
            pulse.pactl("set-default-source", "virtmic")
        assert until(lambda: len(heard.frames) > before, 5.0), "hearing again within 5 s"
        count = len(heard.frames)
        pulse.say(tone(RATE, 0.6), RATE)
        again = np.concatenate([frame.samples for frame in heard.frames[count:]])
    assert pitch(sounding(again), RATE) == pytest.approx(1000.0, abs=5.0)
    assert microphone.reopened == 1
    assert not microphone.waiting_for
    lines = [record.getMessage() for record in caplog.records]
    assert sum("looking for it again" in line for line in lines) == 1
    assert sum("hearing again" in line for line in lines) == 1


class Busy:
    """Somebody else holds the device for the first `times` openings. A server never refuses, so this is a double."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: float) -> None:
        sd = portaudio.library()
        self.opened, self.times, self._error, self._real = 0, times, sd.PortAudioError, sd.InputStream
        monkeypatch.setattr(sd, "InputStream", self)
        monkeypatch.setattr("edgevoice.audio.microphone.RETRY_S", 0.01)

    def __call__(self, **options: Any) -> Any:
        self.opened += 1
        if self.opened <= self.times:
            raise self._error("Device unavailable", -9985)
        return self._real(**options)


def test_a1_busy_device_is_tried_again_and_then_opened_once(
    pulse: PulseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Busy(monkeypatch, times=4)
    microphone = Microphone(AudioSettings())
    with Listener(microphone) as heard:
        assert until(lambda: len(heard.frames) > 5, 10)
    assert microphone.open_retries == 4
    assert busy.opened == 5


def test_a1_device_that_stays_busy_is_one_clear_error(pulse: PulseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Busy(monkeypatch, times=float("inf"))
    with pytest.raises(DeviceError, match=r"virtmic: cannot be opened \(.*unavailable") as caught:
        Microphone(AudioSettings(open_retries=5)).open()
    assert busy.opened == 6
    assert caught.value.exit_code == 69


def test_a4_a_server_that_comes_late_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    with pulse_server(start=False) as server, environment_of(server):
        portaudio.rescan()
        microphone = Microphone(AudioSettings())
        opener = threading.Thread(target=lambda: microphone.open(wait_s=30.0), name="opener")
        opener.start()
        assert until(lambda: "microphone" in microphone.waiting_for, 5)
        server.start()
        opener.join(10.0)
        assert microphone.hearing
        assert not microphone.waiting_for
        microphone.close()
    portaudio.rescan()
    assert sum("waiting for the microphone" in record.getMessage() for record in caplog.records) == 1


def test_a4_waiting_ends_with_close(no_sound: None) -> None:
    microphone = Microphone(AudioSettings())
    opener = threading.Thread(target=lambda: microphone.open(wait_s=float("inf")), name="opener")
    opener.start()
    assert until(lambda: microphone.waiting_for != "", 5)
    microphone.close()
    opener.join(3.0)
    assert not opener.is_alive()


def test_a3_without_any_sound_it_is_one_error_with_user_and_place(no_sound: None) -> None:
    with pytest.raises(DeviceError) as caught:
        Microphone(AudioSettings()).open()
    for part in ("user ", "XDG_RUNTIME_DIR ", "default device none", "start PulseAudio or PipeWire"):
        assert part in str(caught.value)
    assert caught.value.exit_code == 69


def test_listening_to_silence_does_not_spin(pulse: PulseServer) -> None:
    detector = SpeechDetector(VadSettings())
    detector.load()
    with Listener(Microphone(AudioSettings())) as heard:
        assert until(lambda: len(heard.frames) > 10, 10)
        cpu, wall = time.process_time(), time.monotonic()
        taken = len(heard.frames)
        time.sleep(2.0)
        for frame in heard.frames[taken:]:
            detector.accept(frame.samples)
        share = (time.process_time() - cpu) / (time.monotonic() - wall)
    print(f"microphone and voice activity detection: {share:.1%} of a core")
    assert share < 0.4


def test_sound_that_nobody_fetches_from_the_driver_is_counted() -> None:
    microphone = Microphone(AudioSettings())
    microphone.rate, microphone.channels = RATE, 1
    block, times = np.zeros((RATE // 4, 1), np.float32), SimpleNamespace(currentTime=0.25, inputBufferAdcTime=0.0)
    for _ in range(8):
        microphone._callback(block, len(block), times, SimpleNamespace(input_overflow=False))
    assert (microphone.missed, microphone.overruns) == (0, 0)
    for lost in (False, False, True):
        microphone._callback(block, len(block), times, SimpleNamespace(input_overflow=lost))
    assert (microphone.missed, microphone.overruns) == (3, 4)
