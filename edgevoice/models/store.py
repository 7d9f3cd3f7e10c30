"""The model store: finds a model by name or path, and hands out only files that are what they should be."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgevoice.errors import EdgeVoiceError, ModelDataError, ModelMissingError, SettingsError
from edgevoice.models import joining
from edgevoice.models.catalogue import Entry, catalogue, nearest
from edgevoice.models.checksum import Progress, VerifiedFiles
from edgevoice.models.formats import PICKLES, check_header
from edgevoice.models.places import model_dirs, shipped_dirs

log = logging.getLogger(__name__)

SUFFIXES = {"llm": ".gguf", "tts": ".onnx"}
"""Kinds whose model is one file; `find` returns the file, and the folder for all others."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder in which a model was found."""

    folder: Path
    origin: str
    """`shipped`, `package`, `joined` or `imported`."""


def find(name_or_path: str, kind: str, progress: Progress | None = None) -> Path:
    """The file or folder of a model, verified.

    `name_or_path` is a name of the catalogue, the name of a folder under `$EDGEVOICE_MODELS`, or a path (anything with
    a slash or a model's suffix); `kind` is `asr`, `llm`, `tts` or `wake`. Known models are held against their SHA-256
    (remembered, so usually no file is read); files given by path can only have their first bytes checked.
    Raises ModelMissingError, ModelDataError, SettingsError (a model of another kind), StorageError (joining).
    """
    if "/" in name_or_path or Path(name_or_path).suffix.lower() in {*SUFFIXES.values(), *PICKLES}:
        return _from_path(Path(name_or_path).expanduser(), kind)
    entry = catalogue().get(name_or_path)
    if entry is None:
        return _unlisted(name_or_path, kind)
    if entry.kind != kind:
        mend = f"choose a model of kind {kind}: {nearest(name_or_path, kind)}"
        raise SettingsError(f"model {name_or_path!r}", f"is of kind {entry.kind}, not {kind}", mend)
    damaged: EdgeVoiceError | None = None
    for place in places(entry, progress):
        try:
            check(entry, place.folder, progress=progress)
        except ModelDataError as error:
            log.warning("%s", error)
            if place.origin != "joined":
                # Another copy may be whole; if none is, the first error is the one to show.
                damaged = damaged or error
                continue
            joining.join(entry, place.folder, progress, afresh=True)
            check(entry, place.folder, progress=progress)
        return place.folder / entry.entry if entry.entry else place.folder
    raise damaged or ModelMissingError(f"model {entry.name}", "not installed on this machine", entry.install_hint())


def places(entry: Entry, progress: Progress | None = None, join: bool = True) -> Iterator[Place]:
    """Every folder that holds the model, best first; pieces are joined when it comes to that if `join`."""
    if entry.shipped:
        for base in shipped_dirs():
            if (base / entry.shipped).is_dir():
                yield Place(base / entry.shipped, "shipped")
    if entry.module and (folder := joining.package_folder(entry.module)):
        yield Place(folder / entry.folder, "package")
    for base in model_dirs():
        if (base / entry.name).is_dir():
            yield Place(base / entry.name, "imported")
    if entry.in_pieces and joining.installed(entry):
        folder = joining.joined_folder(entry)
        if join:
            joining.join(entry, folder, progress)
        yield Place(folder, "joined")


def check(entry: Entry, folder: Path, fresh: bool = False, progress: Progress | None = None) -> None:
    """Raise ModelDataError or ModelMissingError unless `folder` holds the model, byte for byte.

    `fresh` reads every file again instead of trusting a remembered hash.
    """
    expected = entry.expected_files(folder)
    if not expected:
        raise ModelDataError(str(folder), "its SHA256SUMS is missing or malformed", entry.install_hint())
    verified = VerifiedFiles()
    for file in expected:
        path = folder / file.name
        if not path.is_file():
            raise ModelDataError(str(path), "the file is missing", entry.install_hint())
        size = path.stat().st_size
        if file.size is not None and size != file.size:
            raise ModelDataError(str(path), f"{size} bytes instead of {file.size}", entry.install_hint())
        if path.suffix in SUFFIXES.values():
            check_header(path)
        try:
            digest = verified.sha256(path, progress, fresh)
        except OSError as error:
            raise ModelDataError(str(path), error.strerror or str(error), "check its permissions") from error
        if digest != file.sha256:
            raise ModelDataError(str(path), "its SHA-256 is not the expected one", entry.install_hint())


def verify(entry: Entry, progress: Progress | None = None) -> None:
    """Read every byte of the copy that would be used and hold it against its hash.

    Raises ModelMissingError if there is none, ModelDataError if it is damaged.
    """
    place = next(places(entry, progress), None)
    if place is None:
        raise ModelMissingError(f"model {entry.name}", "not installed on this machine", entry.install_hint())
    check(entry, place.folder, fresh=True, progress=progress)


def total_bytes(entry: Entry) -> int:
    """Bytes of all files of a model as the catalogue knows them (0 for shipped ones); for progress bars."""
    return sum(f.size or 0 for f in entry.files)


def _from_path(path: Path, kind: str) -> Path:
    if not path.exists():
        raise ModelMissingError(str(path), "no such file or folder", nearest(path.stem, kind))
    if path.is_dir():
        return _within(path, kind)
    check_header(path)
    suffix = SUFFIXES.get(kind)
    if suffix and path.suffix != suffix:
        raise ModelDataError(str(path), f"not a {suffix} file", f"a model of kind {kind} is a {suffix} file")
    if kind == "tts" and not path.with_name(path.name + ".json").is_file():
        raise ModelMissingError(
            f"{path}.json", "the voice's description is not beside it", "copy it from where the voice came"
        )
    return path


def _within(folder: Path, kind: str) -> Path:
    """The one model file in a folder, for kinds that are one file; else the folder itself."""
    suffix = SUFFIXES.get(kind)
    if suffix is None:
        return folder
    found = sorted(folder.glob(f"*{suffix}"))
    if len(found) != 1:
        names = ", ".join(p.name for p in found) or "none"
        raise ModelMissingError(str(folder), f"expected one {suffix} file, found {names}", "name the file itself")
    return _from_path(found[0], kind)


def _unlisted(name: str, kind: str) -> Path:
    """A folder that a person put under `$EDGEVOICE_MODELS` and that no catalogue knows."""
    for base in model_dirs():
        if name and (base / name).is_dir():
            return _within(base / name, kind)
    raise ModelMissingError(
        f"model {name!r}", "neither in the catalogue nor under EDGEVOICE_MODELS", nearest(name, kind)
    )
