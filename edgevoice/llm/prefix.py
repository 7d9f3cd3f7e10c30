"""The evaluated fixed prompt on disk, so that the next start restores it instead of computing it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import logging
from collections.abc import Sequence
from pathlib import Path

from edgevoice.errors import StorageError
from edgevoice.llm.engine import Engine
from edgevoice.models.checksum import atomic_write
from edgevoice.models.places import cache_dir

log = logging.getLogger(__name__)

_MAGIC = b"EVKV1\n"
_KEEP = 4
"""Saved prompts kept on disk; the oldest go first."""


class SavedPrefix:
    """One file per model, prompt and library version; a damaged or foreign file is dropped, never an error."""

    def __init__(self, engine: Engine, tokens: Sequence[int]) -> None:
        self._engine, self._tokens = engine, list(tokens)
        stat = engine.path.stat()
        key = (
            str(engine.path.resolve()),
            stat.st_size,
            stat.st_mtime_ns,
            importlib.metadata.version("llama-cpp-python"),
            self._tokens,
        )
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:32]
        self.path: Path = cache_dir() / "prefix" / f"{digest}.kv"

    def restore(self) -> bool:
        """Fill the cache from disk; False if there is nothing usable."""
        try:
            content = self.path.read_bytes()
        except OSError:
            return False
        checksum, state = content[len(_MAGIC) : len(_MAGIC) + 32], content[len(_MAGIC) + 32 :]
        whole = content.startswith(_MAGIC) and hashlib.sha256(state).digest() == checksum
        if whole and self._engine.restore(state, self._tokens):
            return True
        log.warning("the saved prompt %s is damaged: dropped", self.path)
        self._drop(self.path)
        return False

    def save(self) -> None:
        """Write the cache, which must hold exactly the prefix. A full disk is not an error: it is slower next time."""
        state = self._engine.state()
        try:
            with atomic_write(self.path) as file:
                file.write(_MAGIC + hashlib.sha256(state).digest())
                file.write(state)
        except StorageError as error:
            log.warning("the evaluated prompt was not saved: %s", error)
            return
        older = sorted(self.path.parent.glob("*.kv"), key=lambda p: p.stat().st_mtime, reverse=True)[_KEEP:]
        for path in older:
            self._drop(path)

    @staticmethod
    def _drop(path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s: %s", path, error.strerror)
