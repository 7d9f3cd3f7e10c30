"""Taking models from a folder (a USB stick, another machine): the offline way to install or repair them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from edgevoice.errors import InputMissingError, ModelDataError
from edgevoice.models.catalogue import Entry, ModelFile, catalogue
from edgevoice.models.checksum import BLOCK, Progress, atomic_write, sha256
from edgevoice.models.places import data_dir


def import_folder(source: Path, progress: Progress | None = None) -> list[str]:
    """Copy every known model found in `source` (or its direct sub-folders) into the data folder; the names copied.

    A model counts only when all its files are there with the right SHA-256; the copy appears file by file, whole or not
    at all. Raises InputMissingError if `source` is no folder, ModelDataError if it holds no complete known model,
    StorageError if the disk is full.
    """
    if not source.is_dir():
        raise InputMissingError(str(source), "no such folder", "name the folder that holds the model files")
    taken = []
    for entry, folder in _candidates(source):
        if entry.name in taken:
            continue
        target = data_dir() / "models" / entry.name
        for file in entry.expected_files(folder):
            _copy(folder / file.name, target / file.name, progress)
        if entry.shipped:
            _copy(folder / "SHA256SUMS", target / "SHA256SUMS", None)
        taken.append(entry.name)
    if not taken:
        raise ModelDataError(
            str(source),
            "holds no complete model of the catalogue",
            "copy a model's whole folder from a working machine",
        )
    return taken


def _candidates(source: Path) -> Iterator[tuple[Entry, Path]]:
    folders = [source, *sorted(p for p in source.iterdir() if p.is_dir())]
    for entry in catalogue().values():
        for folder in folders:
            # A shipped model has no hashes in the catalogue: only the folder's name says which it is.
            if entry.shipped and folder.name != entry.shipped:
                continue
            expected = entry.expected_files(folder)
            if expected and all(_matches(folder / f.name, f) for f in expected):
                yield entry, folder
                break


def _matches(path: Path, file: ModelFile) -> bool:
    if not path.is_file() or (file.size is not None and path.stat().st_size != file.size):
        return False
    return sha256(path) == file.sha256


def _copy(source: Path, target: Path, progress: Progress | None) -> None:
    with source.open("rb") as file, atomic_write(target) as out:
        while block := file.read(BLOCK):
            out.write(block)
            if progress:
                progress(len(block))
