"""The microphone: opened once, at the device's own rate, found again by name when it was unplugged."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgevoice.audio import portaudio, sound_server
from edgevoice.audio.clock import CaptureClock
from edgevoice.audio.device_stream import ABSENT_RETRY_S, LATENCY_BLOCKS, DeviceStream
from edgevoice.audio.devices import Choice
from edgevoice.audio.resample import SAMPLE_RATE, MonoResampler
from edgevoice.errors import DeviceError
from edgevoice.messages import Frame
from edgevoice.runtime.queues import BoundedQueue, Closed, Overflow
from edgevoice.settings import AudioSettings

log = logging.getLogger(__name__)

DRIVER_QUEUE_S = 2.0
"""Seconds of raw sound between PortAudio's callback and `frames`, which has nothing else to do."""
RETRY_S = 0.2
"""Seconds before a busy device is tried again; doubled each time."""
ROUTE_CHECK_S = 1.0
"""Seconds between two looks at whether the sound server moved our stream."""


@dataclass(frozen=True, slots=True)
class RawBlock:
    """What the callback got: float32 [n, channels] at the device's rate, ending at monotonic time `end`."""

    samples: NDArray[np.float32]
    end: float


class Microphone(DeviceStream):
    """A `Source`: 16 kHz mono frames from the device that the settings name."""

    what, kind = "microphone", "input"
    live = True

    def __init__(self, settings: AudioSettings) -> None:
        super().__init__()
        self.settings = settings
        self._driver_lost = 0
        self._raw = BoundedQueue[RawBlock](
            "microphone", DRIVER_QUEUE_S, Overflow.DROP_NEWEST, lambda b: len(b.samples) / self.rate
        )
        self._resampler: MonoResampler | None = None
        self._clock = CaptureClock()
        self._closed = threading.Event()
        self._moved = False
        self._next_check = 0.0

    @property
    def hearing(self) -> bool:
        """True while frames come in."""
        return self._stream is not None and not self._lost

    @property
    def missed(self) -> int:
        """Blocks the driver gave us that nobody fetched from `frames` in time."""
        return self._raw.dropped

    @property
    def overruns(self) -> int:
        """How often sound was lost before `frames`: by the driver, or because nobody fetched it (`audio_overflows_total`)."""
        return self._driver_lost + self.missed

    # --- life --------------------------------------------------------------------------------------------------------

    def open(self, wait_s: float = 0.0) -> None:
        """Open the device. An absent one is waited for up to `wait_s` seconds (inf: until it comes or `close`).

        Raises DeviceError when it stays absent, stays busy after `open_retries` tries, or its name is ambiguous.
        """
        deadline = time.monotonic() + wait_s
        waiting = False
        while not self._closed.is_set():
            try:
                self._open_with_retries()
                break
            except DeviceError as error:
                if time.monotonic() >= deadline:
                    raise
                if not waiting:
                    waiting = True
                    log.warning("waiting for the microphone: %s", error)
                    self.waiting_for = f"microphone ({error.what}: {error.why})"
            self._closed.wait(ABSENT_RETRY_S)
            portaudio.rescan()
        portaudio.register(self)
        self.waiting_for = ""

    def close(self) -> None:
        """End `frames` and let go of the device."""
        self._closed.set()
        self._raw.close()
        portaudio.unregister(self)
        with portaudio.lock:
            self.suspend()

    def frames(self) -> Iterator[Frame]:
        """16 kHz mono frames with their capture times, until `close`. A lost device is waited for in here."""
        last = time.monotonic()
        while not self._closed.is_set():
            try:
                block = self._raw.get(timeout=0.25)
            except Closed:
                return
            if block is not None and not self._astray():
                if self._lost:
                    self._found_again("hearing again from")
                last = time.monotonic()
                if frame := self._frame(block):
                    yield frame
            elif time.monotonic() - last > self.settings.reopen_after_s:
                self._reopen()
                last = time.monotonic() - self.settings.reopen_after_s + ABSENT_RETRY_S

    # --- a lost device -----------------------------------------------------------------------------------------------

    def _astray(self) -> bool:
        """True if the sound server gives us another microphone than the one named, because that was unplugged."""
        now = time.monotonic()
        if self.choice is not None and self.choice.pulse_name and now >= self._next_check:
            self._next_check = now + ROUTE_CHECK_S
            self._moved = sound_server.moved_away("input", self.choice.pulse_name)
        return self._moved

    def _reopen(self) -> None:
        self._lose("no sound from %s for %.1f s: looking for it again", self.settings.reopen_after_s)
        portaudio.rescan()

    # --- opening -----------------------------------------------------------------------------------------------------

    def _open_with_retries(self) -> None:
        pause = RETRY_S
        for attempt in range(self.settings.open_retries + 1):
            try:
                return self._open_once()
            except portaudio.BusyError as error:
                if attempt == self.settings.open_retries:
                    raise
                self.open_retries += 1
                log.info("%s; trying again in %.1f s", error, pause)
            if self._closed.wait(pause):
                return
            pause *= 2

    def _device_name(self) -> str:
        return self.settings.input_device

    def _wanted_rate(self, choice: Choice) -> int:
        return SAMPLE_RATE

    def _start(self, sd: Any, choice: Choice, index: int, rate: int, channels: int) -> None:
        block = rate * self.settings.block_ms // 1000
        self.rate, self.channels = rate, channels
        self._resampler = MonoResampler(rate, SAMPLE_RATE, low_latency=True)
        self._clock.reset()
        self._moved = False
        with portaudio.routed(pulse_source=choice.pulse_name):
            stream = sd.InputStream(
                device=index,
                samplerate=rate,
                channels=channels,
                dtype="float32",
                blocksize=block,
                latency=LATENCY_BLOCKS * block / rate,
                callback=self._callback,
            )
            try:
                stream.start()
            except sd.PortAudioError:
                stream.close(ignore_errors=True)
                raise
        self._stream = stream
        log.info("microphone: %s, %d Hz, %d channels (%s)", choice.device.name, rate, channels, choice.reason)

    # --- sound -------------------------------------------------------------------------------------------------------

    def _callback(self, samples: NDArray[np.float32], count: int, times: Any, status: Any) -> None:
        """On PortAudio's thread: copy and leave."""
        if status.input_overflow:
            self._driver_lost += 1
        # The age of the first sample; ALSA's PulseAudio device sometimes claims less than possible.
        age = max(times.currentTime - times.inputBufferAdcTime, count / self.rate)
        first = time.monotonic() - (age if age < 1.0 else count / self.rate)
        with suppress(Closed):
            self._raw.put(RawBlock(samples.copy(), first + count / self.rate))

    def _frame(self, block: RawBlock) -> Frame | None:
        resampler = self._resampler
        if resampler is None or block.samples.shape[1] != self.channels:
            return None
        end = self._clock.block(len(block.samples) / self.rate, block.end)
        samples = resampler.accept(np.clip(block.samples, -1.0, 1.0))
        return Frame(samples, end - resampler.held_s) if len(samples) else None
