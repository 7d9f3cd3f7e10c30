"""Sound files as microphone: streaming, any format libsndfile reads, any rate and channel count."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from edgevoice.audio.resample import SAMPLE_RATE, MonoResampler
from edgevoice.errors import AudioDataError, InputMissingError, UsageError
from edgevoice.messages import Frame

READ_SECONDS = 1.0
"""Seconds of sound read from a file at a time: memory stays flat however long the file is."""
RATES = (1_000, 768_000)
"""Lowest and highest sample rate in Hz that a sound file may claim: a damaged header must not cost gigabytes."""
STDIN = "-"


def read_frames(path: str | Path, block_ms: int = 20) -> Iterator[NDArray[np.float32]]:
    """Blocks of 16 kHz mono float32 in [-1, 1], each `block_ms` long (the last may be shorter).

    `-` reads standard input. Raises InputMissingError if the file is not there or not readable, AudioDataError if it is
    no sound file, holds no samples, or holds NaN or infinite samples.
    """
    block = SAMPLE_RATE * block_ms // 1000
    rest = np.zeros(0, np.float32)
    for samples in _resampled(path):
        rest = np.concatenate([rest, samples]) if len(rest) else samples
        whole = len(rest) // block * block
        for start in range(0, whole, block):
            yield rest[start : start + block]
        rest = rest[whole:]
    if len(rest):
        yield rest


def read_all(path: str | Path) -> NDArray[np.float32]:
    """The whole file as 16 kHz mono float32 [n]; for short files. Raises as `read_frames`."""
    return np.concatenate(list(read_frames(path, block_ms=1000)))


def _resampled(path: str | Path) -> Iterator[NDArray[np.float32]]:
    with _opened(path) as file:
        resampler = MonoResampler(file.samplerate, SAMPLE_RATE)
        empty = True
        for block in _blocks(file, str(path)):
            empty = False
            yield np.clip(resampler.accept(block), -1.0, 1.0)
        if empty:
            raise AudioDataError(str(path), "holds no sound (0 samples)", "check the recording")
        yield np.clip(resampler.finish(), -1.0, 1.0)


def _blocks(file: soundfile.SoundFile, name: str) -> Iterator[NDArray[np.float32]]:
    frames = max(1, int(file.samplerate * READ_SECONDS))
    while True:
        try:
            block: NDArray[np.float32] = file.read(frames, dtype="float32", always_2d=True)
        except soundfile.LibsndfileError as error:
            raise AudioDataError(name, f"is damaged: {error.error_string}", "make the file again") from error
        if not len(block):
            return
        if not np.isfinite(block).all():
            raise AudioDataError(name, "holds samples that are not numbers (NaN or infinite)", "make the file again")
        yield block


@contextmanager
def _opened(path: str | Path) -> Iterator[soundfile.SoundFile]:
    if str(path) == STDIN:
        # libsndfile has to seek; a pipe is copied to disk first, so that memory stays flat.
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.seek(0)
            with _sound_file(copy, "standard input") as file:
                yield file
        return
    try:
        with open(path, "rb") as raw, _sound_file(raw, str(path)) as file:
            yield file
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise InputMissingError(str(path), (error.strerror or "cannot be read").lower(), "name a sound file") from error


def _sound_file(raw: object, name: str) -> soundfile.SoundFile:
    try:
        file = soundfile.SoundFile(raw)
    except (soundfile.LibsndfileError, TypeError) as error:
        # soundfile answers headerless RAW files with a TypeError.
        reason = getattr(error, "error_string", "not a known format")
        mend = "use WAV, FLAC, Ogg, Opus or MP3"
        raise AudioDataError(name, f"is no sound file: {reason.rstrip('. ').lower()}", mend) from error
    if not RATES[0] <= file.samplerate <= RATES[1]:
        raise AudioDataError(name, f"claims a sample rate of {file.samplerate} Hz", "make the file again")
    return file


class FileSource:
    """Sound files one after another, as if a person said them into the microphone.

    With pace `real` frames come when a microphone would deliver them. With `fast` they come as fast as they are taken:
    `Frame.time` then runs ahead of the wall clock, so that durations between frames stay right.

    After each file follow `tail_s` seconds of silence (so that its end is heard), then silence for as long as `busy()`
    says that the answer is still being made or spoken, then `gap_s` seconds more before the next file.
    """

    live = False
    waiting_for = ""
    missed = 0

    def __init__(
        self,
        paths: Sequence[str | Path],
        pace: str = "real",
        gap_s: float = 0.5,
        tail_s: float = 1.5,
        lead_s: float = 0.3,
        block_ms: int = 20,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        if pace not in ("real", "fast"):
            raise UsageError(f"pace {pace!r}", "is unknown", "use real or fast")
        self.paths, self.pace, self.busy = list(paths), pace, busy
        self._gap_s, self._tail_s, self._lead_s = gap_s, tail_s, lead_s
        self._block_ms = block_ms
        self._silence = np.zeros(SAMPLE_RATE * block_ms // 1000, np.float32)
        self._clock = 0.0
        self._closed = threading.Event()
        self.current = -1
        """Index of the file being played; -1 before the first."""

    def open(self, wait_s: float = 0.0) -> None:
        """Check that every file can be read, before anything is started. Raises as `read_frames`."""
        self._closed.clear()
        for path in self.paths:
            if str(path) != STDIN:
                with _opened(path):
                    pass

    def close(self) -> None:
        """End `frames` at once."""
        self._closed.set()

    def frames(self) -> Iterator[Frame]:
        """All files with their silences; ends after the last file's answer."""
        self._clock = time.monotonic()
        for frame in self._all():
            if self._closed.is_set():
                return
            yield frame

    def _all(self) -> Iterator[Frame]:
        yield from self._quiet(self._lead_s)
        for index, path in enumerate(self.paths):
            self.current = index
            if index:
                yield from self._quiet(self._gap_s)
            for samples in read_frames(path, self._block_ms):
                yield self._frame(samples)
            yield from self._quiet(self._tail_s)
            yield from self._while_busy()

    def _quiet(self, seconds: float) -> Iterator[Frame]:
        for _ in range(round(seconds * 1000 / self._block_ms)):
            yield self._frame(self._silence)

    def _while_busy(self) -> Iterator[Frame]:
        while self.busy() and not self._closed.is_set():
            if self.pace == "fast":
                self._closed.wait(self._block_ms / 1000)
            yield self._frame(self._silence)

    def _frame(self, samples: NDArray[np.float32]) -> Frame:
        self._clock += len(samples) / SAMPLE_RATE
        if self.pace == "real":
            self._closed.wait(max(0.0, self._clock - time.monotonic()))
        return Frame(samples, self._clock)
