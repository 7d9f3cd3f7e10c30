"""Where answers are played: the contract, and a speaker that writes a file. The device is in `device_speaker`."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgevoice.audio.device_speaker import DeviceSpeaker
from edgevoice.audio.playout import Playout
from edgevoice.audio.resample import to_int16
from edgevoice.audio.sink import FileSink
from edgevoice.errors import OutputError, StorageError, UsageError
from edgevoice.settings import AudioSettings

__all__ = ["DeviceSpeaker", "FileSpeaker", "Speaker"]

log = logging.getLogger(__name__)

STOP_DEADLINE_S = 2.0
"""Seconds `close` waits for the thread."""
LATE_S = 0.04
"""Seconds by which a block may come too late and still sound in its place."""
USUAL_RATE = 22_050
"""Hz of a file in which nothing was spoken."""


class Speaker(Protocol):
    """A device, a file, or nothing: everything but opening and closing goes through its playout."""

    playout: Playout
    """There from the start, so that listener and tap can be set before `open`."""
    waiting_for: str
    """What it waits for, in words; empty while it can play."""

    def open(self, wait_s: float = 0.0) -> None:
        """Get hold of the device or file. Raises DeviceError, OutputError."""

    def close(self) -> None:
        """Let go of it; what is still queued is not played. A file is complete after it (StorageError if not)."""


class FileSpeaker:
    """A `Speaker` driven by a clock, writing a file at the voice's own rate, or nothing without a path.

    With pace `real` sound is taken as a device would; with `fast` as soon as it is there. Only stretches with sound are
    written (pauses inside an answer included, the wait for the next one left out).
    """

    waiting_for = ""

    def __init__(self, settings: AudioSettings, path: str | Path | None = None, pace: str = "real") -> None:
        if pace not in ("real", "fast"):
            raise UsageError(f"pace {pace!r}", "is unknown", "use real or fast")
        self.pace = pace
        self.playout = Playout.of(settings)
        self.failure: StorageError | OutputError | None = None
        """Set when writing failed half-way; raised by `close`."""
        self._path = path
        self._sink: FileSink | None = None
        self._block_ms = settings.block_ms
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self, wait_s: float = 0.0) -> None:
        """Create the file and start the clock. Raises OutputError."""
        if self._path is not None:
            self._sink = FileSink(self._path, USUAL_RATE)
            self._sink.open()
        self._closed.clear()
        self._thread = threading.Thread(target=self._run, name="speaker")
        self._thread.start()

    def close(self) -> None:
        """Stop the clock and complete the file. Raises StorageError if it could not be written."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(STOP_DEADLINE_S)
        if self.failure is not None:
            raise self.failure
        if self._sink is not None:
            self._sink.close()

    def _run(self) -> None:
        clock = time.monotonic()
        while not self._closed.is_set():
            if not self.playout.rate:  # The voice's rate is known with its first sound.
                self._closed.wait(0.005)
                clock = time.monotonic()
                continue
            count = self.playout.rate * self._block_ms // 1000
            if self.pace == "fast":
                count = min(count, self.playout.ready())
                if not count:
                    self._closed.wait(0.005)
                    continue
                clock = time.monotonic()
            elif (now := time.monotonic()) - clock > LATE_S:
                clock = now  # A device that is not fed in time plays what it gets later, not in the past.
            sounding = self.playout.sounding
            block = np.zeros(count, np.float32)
            self.playout.pull(block, clock, float("inf") if self.pace == "fast" else time.monotonic())
            if sounding or block.any():
                self._write(block)
            clock += count / self.playout.rate
            if self.pace == "real":
                self._closed.wait(max(0.0, clock - time.monotonic()))

    def _write(self, block: NDArray[np.float32]) -> None:
        if self._sink is None or self.failure is not None:
            return
        try:
            if self._sink.rate != self.playout.rate and not self._sink.samples:
                self._sink.abort()
                self._sink = FileSink(self._sink.path, self.playout.rate)
                self._sink.open()
            self._sink.write(to_int16(block))
        except (StorageError, OutputError) as error:
            self.failure = error
            log.error("%s", error)
