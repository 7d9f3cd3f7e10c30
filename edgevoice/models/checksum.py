"""SHA-256 of model files, remembered, so that start-up does not read hundreds of megabytes each time."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from edgevoice.errors import StorageError
from edgevoice.models.places import cache_dir
from edgevoice.models.superseded import remove_abandoned

Progress = Callable[[int], None]
"""Called with the number of bytes just done."""

BLOCK = 1 << 20


def sha256(path: Path, progress: Progress | None = None) -> str:
    """Hexadecimal SHA-256 of a file. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            if progress:
                progress(len(block))
    return digest.hexdigest()


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that appears whole or not at all. Raises StorageError naming the path.

    What a process that was killed had left of this file is removed, once it is old.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent.glob(f".{glob.escape(path.name)}.????????"))
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            yield file
            file.flush()
            os.fsync(file.fileno())
        # NamedTemporaryFile makes files private; a model may be shared by several users of one machine.
        temporary.chmod(0o644)
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise StorageError(
            str(path), error.strerror or str(error), "free some space or choose another folder"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


class VerifiedFiles:
    """Which files were hashed before, keyed by path, with size and modification time as the sign of change."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or cache_dir() / "verified.json"

    def _read(self) -> dict[str, Any]:
        try:
            known = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def sha256(self, path: Path, progress: Progress | None = None, fresh: bool = False) -> str:
        """The file's hash: remembered while size and time are unchanged, computed anew otherwise or when `fresh`."""
        path = path.resolve()
        stat = path.stat()
        sign = [stat.st_size, stat.st_mtime_ns]
        if not fresh:
            known = self._read().get(str(path))
            if isinstance(known, list) and known[:2] == sign and len(known) == 3 and isinstance(known[2], str):
                if progress:
                    progress(stat.st_size)
                return known[2]
        digest = sha256(path, progress)
        self._remember(path, [*sign, digest])
        return digest

    def _remember(self, path: Path, value: list[Any]) -> None:
        known = {p: v for p, v in self._read().items() if os.path.exists(p)}  # False also where we may not look
        known[str(path)] = value
        # A read-only cache folder costs time at the next start, nothing else.
        with contextlib.suppress(StorageError), atomic_write(self._path) as file:
            file.write(json.dumps(known, indent=0).encode())
