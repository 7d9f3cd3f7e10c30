"""What a microphone and a speaker share: one PortAudio stream on the device that the settings name, lost and found."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import Any

from edgevoice.audio import portaudio
from edgevoice.audio.device import Kind
from edgevoice.audio.devices import Choice, resolve
from edgevoice.errors import DeviceError

log = logging.getLogger(__name__)

LATENCY_BLOCKS = 3
"""Blocks the driver holds at first. With fewer, ALSA's PulseAudio device may stall."""
ABSENT_RETRY_S = 1.0
"""Seconds between two looks for an absent device."""


class DeviceStream(ABC):
    """A `portaudio.Endpoint` whose stream is opened in the first format that the device takes."""

    what: str
    """"microphone" or "speaker", for people."""
    kind: Kind
    """"input" or "output", as PortAudio calls it."""

    def __init__(self) -> None:
        self.waiting_for = ""
        """What it waits for, in words (for systemd's STATUS= and the web page); empty while sound flows."""
        self.choice: Choice | None = None
        """The device in use; None before it is opened."""
        self.rate, self.channels = 0, 0
        """The format the device was opened with."""
        self.open_retries = 0
        """How often opening was tried again (`audio_open_retries_total`)."""
        self.reopened = 0
        """How often the device was lost and found again (`audio_reopens_total`)."""
        self._stream: Any = None
        self._lost = False

    def suspend(self) -> None:
        """See `portaudio.Endpoint`."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close(ignore_errors=True)

    def restore(self) -> None:
        """See `portaudio.Endpoint`."""
        try:
            self._open_once()
        except DeviceError as error:
            log.debug("%s not there yet: %s", self.what, error)

    def _open_once(self) -> None:
        """Raises DeviceError; `portaudio.BusyError` where another try may help."""
        with portaudio.lock:
            sd = portaudio.library()
            self.choice = choice = resolve(self.kind, self._device_name())
            index = portaudio.index_of(choice.portaudio_name, self.kind)
            failure: Exception | None = None
            for rate, channels in portaudio.formats(index, self.kind, self._wanted_rate(choice)):
                try:
                    self._start(sd, choice, index, rate, channels)
                    return
                except sd.PortAudioError as error:
                    failure = error
                    if portaudio.error_code(error) not in portaudio.FORMAT_ERRORS:
                        break
            raise portaudio.open_error(choice.device.name, failure)

    def _lose(self, told: str, *args: object) -> None:
        """Tell once, as a warning with the device's name before `args`, that no sound flows, and what is waited for."""
        if not self._lost:
            self._lost = True
            name = self.choice.device.name if self.choice else self.what
            log.warning(told, name, *args)
            self.waiting_for = f"{self.what} {name}, which was lost"

    def _found_again(self, told: str) -> None:
        self._lost = False
        self.reopened += 1
        log.info("%s %s", told, self.choice.device.name if self.choice else self.what)
        self.waiting_for = ""

    @abstractmethod
    def _device_name(self) -> str:
        """The device that the settings name; empty for the default."""

    @abstractmethod
    def _wanted_rate(self, choice: Choice) -> int:
        """The rate in Hz to try first."""

    @abstractmethod
    def _start(self, sd: Any, choice: Choice, index: int, rate: int, channels: int) -> None:
        """Open and start the stream in this format. Raises the library's PortAudioError."""
