"""The model catalogue: what is known about every model, read from one data file."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgevoice.errors import ModelMissingError

KINDS = ("asr", "llm", "tts", "wake")
SUMS_FILE = "SHA256SUMS"
"""Name of the hash list that lies in each shipped model folder (the format of `sha256sum`)."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model and what it must be."""

    name: str
    """Path relative to the model's folder, with `/`."""
    sha256: str
    """Hexadecimal."""
    size: int | None
    """Bytes; None where only the hash is known."""
    pieces: tuple[str, ...] = ()
    """`module:path` of each piece where packages carry the file in pieces."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the catalogue; the fields are explained at the head of `catalogue.toml`."""

    name: str
    kind: str
    title: str
    licence: str
    used_by: str
    memory_mb: int
    packages: tuple[str, ...] = ()
    module: str = ""
    folder: str = ""
    shipped: str = ""
    entry: str = ""
    optional: bool = False
    files: tuple[ModelFile, ...] = ()

    @property
    def in_pieces(self) -> bool:
        """Whether the packages carry it in pieces that have to be joined."""
        return any(f.pieces for f in self.files)

    def expected_files(self, folder: Path) -> tuple[ModelFile, ...]:
        """What must lie in `folder`: from the catalogue, or for a shipped model from the folder's own hash list."""
        return self.files or read_sums(folder / SUMS_FILE)

    def install_hint(self) -> str:
        """How a person gets this model."""
        if self.packages:
            pip = f"pip install {' '.join(self.packages)}"
            return f"run `edgevoice models fetch {self.name}` ({pip}), or `edgevoice models import FOLDER`"
        return (
            "it comes with edgevoice: install edgevoice again, or copy its folder with `edgevoice models import FOLDER`"
        )


def parse(document: dict[str, Any]) -> dict[str, Entry]:
    """Catalogue entries from a TOML document. Raises TypeError or ValueError on a malformed document."""
    entries = {}
    for name, table in document.items():
        fields = dict(table)
        fields["packages"] = tuple(table.get("packages", ()))
        fields["files"] = tuple(
            ModelFile(f["name"], f["sha256"], f["size"], tuple(f.get("from", ()))) for f in table.get("files", ())
        )
        entry = Entry(name=name, **fields)
        if entry.kind not in KINDS:
            raise ValueError(f"{name}: unknown kind {entry.kind!r}")
        entries[name] = entry
    return entries


@cache
def catalogue() -> dict[str, Entry]:
    """All models edgevoice knows by name."""
    return parse(tomllib.loads(files("edgevoice.models").joinpath("catalogue.toml").read_text("utf-8")))


def nearest(name: str, kind: str) -> str:
    """The known name most like `name`, else all names of that kind, as a mend for an error."""
    known = [e.name for e in catalogue().values() if e.kind == kind]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"


def lookup(name: str) -> Entry:
    """The entry called `name`. Raises ModelMissingError that names the nearest one."""
    found = catalogue().get(name)
    if found is None:
        close = difflib.get_close_matches(name, list(catalogue()), n=1, cutoff=0.5)
        mend = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(catalogue())}"
        raise ModelMissingError(f"model {name!r}", "not in the catalogue", mend)
    return found


def read_sums(path: Path) -> tuple[ModelFile, ...]:
    """A hash list in the format of `sha256sum`; empty if there is none or it is malformed."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    found = []
    for line in lines:
        digest, _, name = line.partition(" ")
        name = name.strip().lstrip("*")
        if len(digest) != 64 or not name or ".." in Path(name).parts or Path(name).is_absolute():
            return ()
        found.append(ModelFile(name, digest.lower(), None))
    return tuple(found)
