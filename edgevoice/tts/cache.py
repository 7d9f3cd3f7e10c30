"""Phrase cache: the sound of sentences that are said again and again, in memory and on disk.

Greetings, acknowledgements and fixed replies are synthesised once and come from here afterwards. Memory answers at
once; a phrase found only on disk costs one read of a small file. Writing is left to a thread of its own, so that
speaking never waits for the disk; if that thread is behind, the phrase stays in memory only.

A file holds a magic word, the SHA-256 of all that follows, a JSON header and raw little-endian int16 samples. A file
that does not verify is deleted and counts as a miss: the caller synthesises again and puts it back. Nothing is ever
unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import queue
import struct
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgevoice.models.superseded import remove_abandoned
from edgevoice.tts.synthesizer import SpokenWord

log = logging.getLogger(__name__)

FORMAT = 2
"""Version of the file format; part of every key, so that old files are never read by new code."""

_MAGIC = b"EVPHRASE"
_SUFFIX = ".phrase"
_HEADER = struct.Struct("<8s32sI")
_MEBIBYTE = 1 << 20
_LOOK_S = 1.0
"""Seconds between two looks of the writing thread at whether the cache is closed."""


@dataclass(frozen=True, slots=True)
class PhraseKey:
    """What decides how a phrase sounds."""

    voice: str
    """Name of the voice."""
    tier: str
    """The voice's quality tier."""
    text: str
    """The clause as given to the synthesiser."""
    settings: str = ""
    """Everything else that changes the sound (speed, gain, rate, form of the voice, version of the shaping), in any form."""

    def digest(self) -> str:
        """Name of the phrase's file: a hash, so that no text can be read from a folder listing."""
        parts = json.dumps([FORMAT, self.voice, self.tier, self.text, self.settings])  # escapes lone surrogates
        return hashlib.sha256(parts.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class CachedPhrase:
    """The whole sound of a phrase."""

    samples: NDArray[np.int16]
    """Mono, shape [n], at `rate`; read-only."""
    rate: int
    """Hz."""
    words: tuple[SpokenWord, ...] = ()
    """Timing of its words; empty when the voice cannot tell."""


class PhraseCache:
    """Least recently used phrases, bounded in memory and on disk. Thread-safe.

    `load()` reads the folder's listing and starts the writing thread; before it, and without a folder, or with a disk
    that is full or read-only, the cache works in memory alone.
    """

    def __init__(self, folder: Path | None, disk_mb: float = 32, memory_mb: float = 16, queue_size: int = 64) -> None:
        self._folder = folder if disk_mb > 0 else None
        self._disk_limit, self._memory_limit = int(disk_mb * _MEBIBYTE), int(memory_mb * _MEBIBYTE)
        self._memory: OrderedDict[str, CachedPhrase] = OrderedDict()
        self._files: OrderedDict[str, int] = OrderedDict()  # digest -> bytes, least recently used first
        self._lock = threading.Lock()
        self._writes: queue.Queue[tuple[str, CachedPhrase | None] | None] = queue.Queue(queue_size)
        self._writer: threading.Thread | None = None
        self._touched: set[str] = set()
        """Files written or marked as used by this process."""
        self._disk_works = True
        self._closed = False
        self.memory_bytes = 0
        self.disk_bytes = 0
        self.hits = 0
        self.misses = 0
        self.damaged = 0
        """Files dropped because they did not verify."""
        self.unwritten = 0
        """Phrases that did not reach the disk."""

    def load(self) -> None:
        """List the folder (making it if needed), remove abandoned partial files, start the writing thread. Raises nothing."""
        if self._folder is None or self._writer is not None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            remove_abandoned(self._folder.glob("*.partial"))
            found = []
            for entry in os.scandir(self._folder):
                if entry.name.endswith(_SUFFIX):
                    status = entry.stat()
                    found.append((status.st_mtime, entry.name.removesuffix(_SUFFIX), status.st_size))
        except OSError as error:
            self._without_disk(error)
            return
        with self._lock:
            for _, digest, size in sorted(found):
                self._files[digest] = size
                self.disk_bytes += size
        self._shrink_disk()
        self._writer = threading.Thread(target=self._write_all, name="phrase-cache", daemon=True)
        self._writer.start()

    def get(self, key: PhraseKey) -> CachedPhrase | None:
        """The phrase's sound, or None: then synthesise it and `put` it."""
        digest = key.digest()
        with self._lock:
            phrase = self._memory.get(digest)
            if phrase is not None:
                self._memory.move_to_end(digest)
                self.hits += 1
                self._mark_used(digest)
                return phrase
            on_disk = digest in self._files
        phrase = self._read(digest) if on_disk else None
        with self._lock:
            if phrase is None:
                self.misses += 1
                return None
            self.hits += 1
            if digest in self._files:
                self._files.move_to_end(digest)
            self._mark_used(digest)
            self._remember(digest, phrase)
        return phrase

    def put(self, key: PhraseKey, phrase: CachedPhrase) -> None:
        """Keep a phrase. A phrase larger than the whole memory is not kept. Never waits for the disk."""
        samples = np.array(phrase.samples, dtype=np.int16)
        samples.flags.writeable = False
        phrase = CachedPhrase(samples, phrase.rate, phrase.words)
        digest = key.digest()
        with self._lock:
            self._remember(digest, phrase)
        if self._writer is None or not self._disk_works or samples.nbytes > self._disk_limit:
            return
        try:
            self._writes.put_nowait((digest, phrase))
        except queue.Full:
            self.unwritten += 1

    def close(self, deadline_s: float = 1.0) -> None:
        """Let waiting phrases reach the disk, within the deadline."""
        if self._writer is None:
            return
        self._closed = True
        with contextlib.suppress(queue.Full):
            self._writes.put(None, timeout=deadline_s)
        self._writer.join(deadline_s)
        self._writer = None

    def _mark_used(self, digest: str) -> None:
        """Let the writing thread put the time of use on the file, by which the next start knows what to drop first.

        Once per phrase; called with the lock held.
        """
        if digest in self._touched or digest not in self._files or self._writer is None:
            return
        with contextlib.suppress(queue.Full):
            self._writes.put_nowait((digest, None))
            self._touched.add(digest)

    def _remember(self, digest: str, phrase: CachedPhrase) -> None:
        """Keep in memory, and drop the least recently used beyond the limit. Called with the lock held."""
        old = self._memory.pop(digest, None)
        self.memory_bytes -= old.samples.nbytes if old else 0
        if phrase.samples.nbytes > self._memory_limit:
            return
        self._memory[digest] = phrase
        self.memory_bytes += phrase.samples.nbytes
        while self.memory_bytes > self._memory_limit:
            _, dropped = self._memory.popitem(last=False)
            self.memory_bytes -= dropped.samples.nbytes

    # --- disk --------------------------------------------------------------------------------------------------------

    def _path(self, digest: str) -> Path:
        assert self._folder is not None
        return self._folder / (digest + _SUFFIX)

    def _read(self, digest: str) -> CachedPhrase | None:
        try:
            return decode(self._path(digest).read_bytes())
        except OSError:
            self._forget(digest)
        except ValueError:
            self.damaged += 1
            log.warning("a damaged file of the phrase cache was dropped")
            self._forget(digest)
        return None

    def _forget(self, digest: str) -> None:
        with self._lock:
            self.disk_bytes -= self._files.pop(digest, 0)
        with contextlib.suppress(OSError):
            self._path(digest).unlink(missing_ok=True)

    def _write_all(self) -> None:
        while (item := self._next_write()) is not None:
            digest, phrase = item
            if not self._disk_works:
                continue
            if phrase is None:
                with contextlib.suppress(OSError):
                    os.utime(self._path(digest))
                continue
            try:
                self._write(digest, encode(phrase))
            except OSError as error:
                self._without_disk(error)
            else:
                self._shrink_disk()

    def _next_write(self) -> tuple[str, CachedPhrase | None] | None:
        """Wait for what is to be written (no phrase: it was only used); None once the cache is closed and nothing waits."""
        while True:
            try:
                return self._writes.get(timeout=_LOOK_S)
            except queue.Empty:
                if self._closed:
                    return None

    def _write(self, digest: str, data: bytes) -> None:
        path = self._path(digest)
        partial = path.with_name(f"{digest}.{os.getpid()}.partial")
        try:
            partial.write_bytes(data)
            os.replace(partial, path)
        except OSError:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
        with self._lock:
            self.disk_bytes += len(data) - self._files.pop(digest, 0)
            self._files[digest] = len(data)
            self._touched.add(digest)

    def _shrink_disk(self) -> None:
        while self.disk_bytes > self._disk_limit and self._files:
            self._forget(next(iter(self._files)))

    def _without_disk(self, error: OSError) -> None:
        """A full or read-only disk: said once, then memory alone."""
        self._disk_works = False
        self.unwritten += 1
        log.warning("the phrase cache works in memory only: %s", error.strerror or error)


def encode(phrase: CachedPhrase) -> bytes:
    """A phrase as the bytes of a file."""
    words = [[word.begin, word.end, word.start_sample, word.end_sample] for word in phrase.words]
    header = json.dumps({"rate": phrase.rate, "words": words, "samples": len(phrase.samples)}).encode("ascii")
    body = header + phrase.samples.astype("<i2").tobytes()
    length = struct.pack("<I", len(header))
    return _HEADER.pack(_MAGIC, hashlib.sha256(length + body).digest(), len(header)) + body


def decode(data: bytes) -> CachedPhrase:
    """The phrase in a file's bytes. Raises ValueError if they are not exactly what `encode` wrote."""
    if len(data) < _HEADER.size:
        raise ValueError("truncated")
    magic, checksum, length = _HEADER.unpack_from(data)
    body = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or hashlib.sha256(struct.pack("<I", length) + bytes(body)).digest() != checksum:
        raise ValueError("checksum differs")
    try:
        header = json.loads(bytes(body[:length]))
        rate, count = int(header["rate"]), int(header["samples"])
        words = tuple(SpokenWord(*map(int, word)) for word in header["words"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"header: {error}") from error
    samples = np.frombuffer(body[length:], dtype="<i2").astype(np.int16, copy=False)
    samples.flags.writeable = False
    if len(samples) != count:
        raise ValueError("length differs")
    return CachedPhrase(samples, rate, words)
