"""Reading ARPA n-gram files, plain or gzip."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from edgevoice.errors import ModelDataError


@contextmanager
def open_arpa(path: Path) -> Iterator[IO[str]]:
    """The lines of an ARPA file. Raises ModelDataError when it is no text, damaged or cut short."""
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            yield cast(IO[str], file)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        mend = "copy the model's folder again; `edgevoice models verify` checks all"
        raise ModelDataError(str(path), f"not a readable language model ({error})", mend) from error


def unigrams(path: Path) -> list[str]:
    """The words of an ARPA file, in its order. Raises ModelDataError."""
    words: list[str] = []
    with open_arpa(path) as lines:
        inside = False
        for line in lines:
            if line.startswith("\\"):
                if inside:
                    return words
                inside = line.startswith("\\1-grams:")
            elif inside and "\t" in line:
                words.append(line.split("\t")[1].strip())
    raise ModelDataError(str(path), "not an ARPA language model, or cut short", "copy the model's folder again")
