"""A simulated room as the daemon's microphone: what its speaker plays comes back, with whoever speaks in the room.

`RoomLoop` surrounds a file source (`replay --room`); `RoomMicrophone` has no files, people speak when they are told to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgevoice.audio.files import FileSource, read_all
from edgevoice.audio.resample import SAMPLE_RATE, MonoResampler
from edgevoice.audio.room import Room
from edgevoice.errors import UsageError
from edgevoice.messages import Frame


@dataclass(frozen=True)
class RoomSpec:
    """What the room is like."""

    delay_s: float = 0.08
    """Seconds from playing a sample to its direct sound at the microphone."""
    gain_db: float = -12.0
    """Level of the echo against the level played."""
    rt60_s: float = 0.3
    """Reverberation time in seconds."""
    noise_dbfs: float = -60.0
    """Level of the background noise."""

    @classmethod
    def parse(cls, text: str) -> RoomSpec:
        """`delay_ms,gain_db,rt60_s,noise_dbfs`, each optional from the right. Raises UsageError."""
        try:
            values = [float(part) for part in text.split(",")] if text else []
        except ValueError as error:
            raise UsageError(f"--room {text}", "not numbers", "e.g. --room 80,-12,0.3,-60") from error
        if len(values) > 4 or (values and not 0 <= values[0] <= 2000):
            raise UsageError(f"--room {text}", "not a room", "delay_ms,gain_db,rt60_s,noise_dbfs, e.g. 80,-12,0.3,-60")
        named = dict(zip(("delay_s", "gain_db", "rt60_s", "noise_dbfs"), values, strict=False))
        if "delay_s" in named:
            named["delay_s"] /= 1000
        return cls(**named)


class RoomLoop:
    """A `Source`: the inner source's frames as heard in a room in which `played` sounds.

    `interruptions`: recordings that somebody says over the answers, one for each, `after_s` seconds after its first
    audible sample.
    """

    live = False
    waiting_for = ""
    missed = 0

    def __init__(
        self, inner: FileSource, spec: RoomSpec, interruptions: Sequence[str | Path] = (), after_s: float = 1.0
    ) -> None:
        self._inner, self._spec, self._after_s = inner, spec, after_s
        self._waiting = [read_all(path) for path in interruptions]
        self.interrupted: list[float] = []
        """Times at which interruptions began."""
        self._room: Room | None = None
        self._resampler: tuple[int, MonoResampler] | None = None

    def open(self, wait_s: float = 0.0) -> None:
        """Check the files."""
        self._inner.open(wait_s)

    def close(self) -> None:
        """End the frames."""
        self._inner.close()

    def frames(self) -> Iterator[Frame]:
        """Frames of the microphone in the room."""
        for frame in self._inner.frames():
            start = frame.time - len(frame.samples) / SAMPLE_RATE
            if self._room is None:
                spec = self._spec
                self._room = Room(spec.delay_s, spec.gain_db, spec.rt60_s, spec.noise_dbfs, start=start)
            heard = frame.samples + self._room.microphone(len(frame.samples))
            yield Frame(np.clip(heard, -1.0, 1.0), frame.time)

    def played(self, samples: NDArray[np.float32], time: float, rate: int) -> None:
        """The speaker's tap."""
        if self._room is None:
            return
        if self._resampler is None or self._resampler[0] != rate:
            self._resampler = (rate, MonoResampler(rate, SAMPLE_RATE, low_latency=True))
        self._room.played(self._resampler[1].accept(samples), time)

    def answer_audible(self, time: float) -> None:
        """The first sample of an answer sounds at `time`: the next interruption is due."""
        if self._waiting and self._room is not None:
            self.interrupted.append(time + self._after_s)
            self._room.say(self._waiting.pop(0), time + self._after_s)


class RoomMicrophone:
    """A live `Source`: a microphone in a room in which `played` sounds, in real time, until it is closed.

    `say` lets somebody speak. `late` counts blocks that the speaker announced after their echo was due, which are
    therefore missing from it: on an overloaded machine the room is kinder than it should be.
    """

    live = True
    waiting_for = ""
    missed = 0

    def __init__(self, spec: RoomSpec, block_ms: int = 20) -> None:
        self.late = 0
        self._spec, self._block = spec, SAMPLE_RATE * block_ms // 1000
        self._room: Room | None = None
        self._resampler: tuple[int, MonoResampler] | None = None
        self._closed = threading.Event()

    def open(self, wait_s: float = 0.0) -> None:
        """Enter the room."""
        spec = self._spec
        self._room = Room(spec.delay_s, spec.gain_db, spec.rt60_s, spec.noise_dbfs, start=time.monotonic())
        self._closed.clear()

    def close(self) -> None:
        """End the frames."""
        self._closed.set()

    def frames(self) -> Iterator[Frame]:
        """Frames as a microphone would deliver them."""
        assert self._room is not None
        while not self._closed.is_set():
            due = self._room.time + self._block / SAMPLE_RATE
            self._closed.wait(max(0.0, due - time.monotonic()))
            yield Frame(self._room.microphone(self._block), self._room.time)

    def say(self, samples: NDArray[np.float32], moment: float) -> None:
        """Somebody says `samples` (16 kHz), the first one heard at `moment`, not in the past."""
        assert self._room is not None
        self._room.say(samples, moment)

    def played(self, samples: NDArray[np.float32], moment: float, rate: int) -> None:
        """The speaker's tap."""
        if self._room is None:
            return
        if self._resampler is None or self._resampler[0] != rate:
            self._resampler = (rate, MonoResampler(rate, SAMPLE_RATE, low_latency=True))
        if moment + self._spec.delay_s < self._room.time:
            self.late += 1
        self._room.played(self._resampler[1].accept(samples), moment)
