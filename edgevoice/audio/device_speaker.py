"""The speaker: opened once, fed from a `Playout`, found again by name when it was unplugged."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgevoice.audio import portaudio, sound_server
from edgevoice.audio.device_stream import ABSENT_RETRY_S, LATENCY_BLOCKS, DeviceStream
from edgevoice.audio.devices import Choice
from edgevoice.audio.playout import Playout
from edgevoice.audio.resample import MonoResampler
from edgevoice.errors import DeviceError
from edgevoice.settings import AudioSettings

log = logging.getLogger(__name__)

WATCH_S = 1.0
"""Seconds between two looks at whether the driver still asks for sound."""
MOST_LATENCY_S = 0.2
"""Seconds the driver holds at most, after it ran dry again and again."""
UNDERFLOWS_TOLERATED = 3
"""Times the driver may run dry before it is given a longer buffer."""


class DeviceSpeaker(DeviceStream):
    """A `Speaker` on a real device. The playout's listener and tap are called on PortAudio's thread."""

    what, kind = "speaker", "output"

    def __init__(self, settings: AudioSettings) -> None:
        super().__init__()
        self.settings = settings
        self.playout = Playout.of(settings)
        self.underflows = 0
        """How often the driver itself ran dry."""
        self._bridge: MonoResampler | None = None
        self._bridged = np.zeros(0, np.float32)
        self._latency_s = 0.0
        self._mono = np.zeros(0, np.float32)
        self._closed = threading.Event()
        self._watch: threading.Thread | None = None
        self._pulled = 0.0
        self._tolerated = UNDERFLOWS_TOLERATED

    # --- life --------------------------------------------------------------------------------------------------------

    def open(self, wait_s: float = 0.0) -> None:
        """Open the device; an absent or busy one is waited for up to `wait_s` seconds. Raises DeviceError."""
        deadline = time.monotonic() + wait_s
        pause, tries, waiting = 0.2, 0, False
        while not self._closed.is_set():
            try:
                self._open_once()
                break
            except DeviceError as error:
                busy = isinstance(error, portaudio.BusyError) and tries < self.settings.open_retries
                if not busy and time.monotonic() >= deadline:
                    raise
                if busy:
                    tries += 1
                    self.open_retries += 1
                if not waiting:
                    waiting = True
                    log.warning("waiting for the speaker: %s", error)
                    self.waiting_for = f"speaker ({error.what}: {error.why})"
            self._closed.wait(pause)
            pause = min(2 * pause, ABSENT_RETRY_S)
            if not busy:
                portaudio.rescan()
        self.waiting_for = ""
        portaudio.register(self)
        self._pulled = time.monotonic()
        self._watch = threading.Thread(target=self._keep_watch, name="speaker-watch")
        self._watch.start()

    def close(self) -> None:
        """Stop at once."""
        self._closed.set()
        portaudio.unregister(self)
        if self._watch is not None:
            self._watch.join(2.0)
        with portaudio.lock:
            self.suspend()

    # --- opening -----------------------------------------------------------------------------------------------------

    def _device_name(self) -> str:
        return self.settings.output_device

    def _wanted_rate(self, choice: Choice) -> int:
        # A device that is found again is opened as it was the first time, if it can.
        return self.playout.rate or choice.device.rate

    def _start(self, sd: Any, choice: Choice, index: int, rate: int, channels: int) -> None:
        block = self.settings.output_block or rate * self.settings.block_ms // 1000
        if not self.playout.rate:
            self.playout.use_rate(rate)
        self._bridge = MonoResampler(self.playout.rate, rate) if rate != self.playout.rate else None
        self._bridged = np.zeros(0, np.float32)
        self.rate, self.channels = rate, channels
        self._mono = np.zeros(block, np.float32)
        self._latency_s = max(self._latency_s, LATENCY_BLOCKS * block / rate)
        with portaudio.routed(pulse_sink=choice.pulse_name):
            stream = sd.OutputStream(
                device=index,
                samplerate=rate,
                channels=channels,
                dtype="float32",
                blocksize=block,
                latency=self._latency_s,
                callback=self._callback,
            )
            try:
                self._pulled = time.monotonic()
                stream.start()
            except sd.PortAudioError:
                stream.close(ignore_errors=True)
                raise
        self._stream = stream
        log.info("speaker: %s, %d Hz, %d channels (%s)", choice.device.name, rate, channels, choice.reason)

    # --- sound -------------------------------------------------------------------------------------------------------

    def _callback(self, out: NDArray[np.float32], count: int, times: Any, status: Any) -> None:
        """On PortAudio's thread: fill from the playout."""
        now = time.monotonic()
        ahead = times.outputBufferDacTime - times.currentTime
        start = now + (ahead if 0.0 < ahead < 2.0 else self._latency_s)
        mono = self._pulled_block(count, start, now) if self._bridge is None else self._bridged_block(count, start, now)
        out[:] = mono[:, np.newaxis]
        if status.output_underflow and self.playout.sounding:
            self.underflows += 1
        self._pulled = now

    def _pulled_block(self, count: int, start: float, now: float) -> NDArray[np.float32]:
        if count != len(self._mono):
            self._mono = np.zeros(count, np.float32)
        self.playout.pull(self._mono, start, now)
        return self._mono

    def _bridged_block(self, count: int, start: float, now: float) -> NDArray[np.float32]:
        """The device that was found again has another rate than the playout."""
        bridge, ready = self._bridge, self._bridged
        while bridge is not None and len(ready) < count:
            block = np.zeros(self.playout.rate // 100, np.float32)
            self.playout.pull(block, start + len(ready) / self.rate, now)
            ready = np.concatenate([ready, bridge.accept(block)])
        self._bridged = ready[count:]
        return ready[:count]

    # --- a lost device -----------------------------------------------------------------------------------------------

    def _keep_watch(self) -> None:
        while not self._closed.wait(WATCH_S):
            silent_s = time.monotonic() - self._pulled
            if silent_s < self.settings.reopen_after_s and not self._astray():
                if self._lost:
                    self._found_again("playing again on")
                elif self.underflows >= self._tolerated and not self.playout.sounding:
                    self._lengthen()
                continue
            self._lose("%s takes no sound since %.1f s: looking for it again", silent_s)
            portaudio.rescan()

    def _astray(self) -> bool:
        """True if the sound server plays us on another speaker than the one named, because that was unplugged."""
        choice = self.choice
        return choice is not None and bool(choice.pulse_name) and sound_server.moved_away("output", choice.pulse_name)

    def _lengthen(self) -> None:
        """The driver ran dry too often: give it a longer buffer, at the cost of some latency."""
        self._tolerated = self.underflows + UNDERFLOWS_TOLERATED
        if self._latency_s >= MOST_LATENCY_S:
            return
        self._latency_s = min(2 * self._latency_s, MOST_LATENCY_S)
        log.info("speaker ran dry %d times: its buffer is now %.0f ms", self.underflows, self._latency_s * 1000)
        with portaudio.lock:
            self.suspend()
            self.restore()
