"""Writing sound files: streaming, in any format libsndfile writes, and never half a file under the final name."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np
import soundfile
from numpy.typing import NDArray

from edgevoice.audio.resample import MonoResampler, to_float, to_int16
from edgevoice.errors import OutputError, StorageError

FORMATS: dict[str, tuple[str, str]] = {
    ".wav": ("WAV", "PCM_16"),
    ".flac": ("FLAC", "PCM_16"),
    ".ogg": ("OGG", "VORBIS"),
    ".opus": ("OGG", "OPUS"),
    ".mp3": ("MP3", "MPEG_LAYER_III"),
    ".aiff": ("AIFF", "PCM_16"),
    ".aif": ("AIFF", "PCM_16"),
    ".au": ("AU", "PCM_16"),
    ".caf": ("CAF", "PCM_16"),
    ".w64": ("W64", "PCM_16"),
}
"""File name extension -> (libsndfile format, subtype)."""

LIMITED_RATES = {".opus": 48_000, ".mp3": 48_000}
"""Formats that take few rates only: sound at other rates is resampled to this one (Hz)."""
ANY_OPUS_OR_MP3_RATE = {16_000, 24_000, 48_000}


class FileSink:
    """Writes mono int16 sound to a file as it comes. The file appears under its name only when it is complete.

    `open` raises OutputError (unknown extension, folder missing, not writable); `write` and `close` raise StorageError
    (disk full). A device such as /dev/null or a pipe is written to directly.
    """

    def __init__(self, path: str | Path, rate: int) -> None:
        self.path, self.rate = Path(path), rate
        self.samples = 0
        """Samples written, at `rate`."""
        self._file: soundfile.SoundFile | None = None
        self._raw = -1
        self._partial: Path | None = None
        self._resampler: MonoResampler | None = None

    def open(self) -> None:
        """Create the file beside its final place."""
        suffix = self.path.suffix.lower()
        if suffix not in FORMATS and not self._is_special():
            known = ", ".join(sorted(FORMATS))
            raise OutputError(
                str(self.path), f"unknown sound format {suffix or '(no extension)'}", f"use one of {known}"
            )
        kind, subtype = FORMATS.get(suffix, ("WAV", "PCM_16"))
        rate = self.rate
        if suffix in LIMITED_RATES and rate not in ANY_OPUS_OR_MP3_RATE:
            rate = LIMITED_RATES[suffix]
            self._resampler = MonoResampler(self.rate, rate)
        try:
            if self._is_special():
                self._raw = os.open(self.path, os.O_WRONLY)
            else:
                self._raw, name = tempfile.mkstemp(
                    prefix=f".{self.path.name}.", suffix=".partial", dir=self.path.parent
                )
                self._partial = Path(name)
                os.chmod(name, 0o666 & ~_umask())
        except OSError as error:
            raise OutputError(
                str(self.path), (error.strerror or "cannot be made").lower(), "name a writable place"
            ) from error
        try:
            self._file = soundfile.SoundFile(self._raw, "w", rate, 1, subtype, format=kind, closefd=False)
        except soundfile.LibsndfileError as error:
            self.abort()
            raise StorageError(
                str(self.path), f"cannot be written: {error.error_string}", "free some disk space"
            ) from error

    def write(self, samples: NDArray[np.int16]) -> None:
        """Append mono samples, int16 [n] at `rate`."""
        self.samples += len(samples)
        if self._resampler is not None:
            samples = to_int16(self._resampler.accept(to_float(samples)))
        self._put(samples)

    def close(self) -> None:
        """Complete the file and give it its name."""
        if self._file is None:
            return
        if self._resampler is not None:
            self._put(to_int16(self._resampler.finish()))
        try:
            self._file.close()
            self._file = None
            if self._partial is not None:
                os.fsync(self._raw)
                os.replace(self._partial, self.path)
                self._partial = None
        except (OSError, soundfile.LibsndfileError) as error:
            raise self._full(error) from error
        finally:
            self.abort()

    def abort(self) -> None:
        """Give up: close and remove what is unfinished. Safe to call at any time."""
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError, soundfile.LibsndfileError):  # The file is thrown away in any case.
                file.close()
        if self._raw >= 0:
            os.close(self._raw)
            self._raw = -1
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)
            self._partial = None

    def __enter__(self) -> FileSink:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def _put(self, samples: NDArray[np.int16]) -> None:
        if self._file is None:
            raise OutputError(str(self.path), "is not open")
        if not len(samples):
            return
        try:
            self._file.write(samples)
        except (OSError, soundfile.LibsndfileError, AssertionError) as error:
            # soundfile asserts that libsndfile took every sample; a full disk shows up there first.
            self.abort()
            raise self._full(error) from error

    def _full(self, error: BaseException) -> StorageError:
        why = getattr(error, "strerror", None) or "writing stopped half-way (disk full?)"
        return StorageError(str(self.path), why.lower(), "free some disk space or choose another place")

    def _is_special(self) -> bool:
        try:
            return not stat.S_ISREG(os.stat(self.path).st_mode) and not self.path.is_dir()
        except OSError:
            return False


def write(path: str | Path, samples: NDArray[np.int16], rate: int) -> None:
    """Write one sound file, mono int16 [n] at `rate` Hz, atomically. Raises OutputError or StorageError."""
    with FileSink(path, rate) as sink:
        sink.write(samples)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
