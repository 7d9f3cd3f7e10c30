"""Reading a text aloud: any amount of text in, clauses ready for a voice out, with memory that stays flat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from edgevoice.errors import DataError, InputMissingError
from edgevoice.tts.clauses import ClauseBuffer
from edgevoice.tts.normalize import for_speech
from edgevoice.tts.sanitize import Sanitizer

BLOCK = 2048
"""Characters read at a time."""


def spoken_clauses(blocks: Iterable[str], language: str, first_min: int = 3) -> Iterator[str]:
    """Clauses of the text, cleaned and normalised for speech; none for a text that holds nothing to say.

    `first_min`: words before a comma that may be the first clause.
    """
    sanitizer, buffer = Sanitizer(), ClauseBuffer(first_min)
    for block in blocks:
        yield from _normalized(buffer.feed(sanitizer.feed(block), 0.0), language)
    yield from _normalized(buffer.feed(sanitizer.flush(), 0.0), language)
    yield from _normalized(buffer.flush(), language)


def _normalized(clauses: Iterable[str], language: str) -> Iterator[str]:
    for clause in clauses:
        spoken = for_speech(clause, language)
        if spoken.strip():
            yield spoken


def blocks_of_text(text: str) -> Iterator[str]:
    """A text that is there already."""
    for first in range(0, len(text), BLOCK):
        yield text[first : first + BLOCK]


def blocks_of_file(path: Path) -> Iterator[str]:
    """A UTF-8 file, block by block. Raises InputMissingError or DataError."""
    try:
        with path.open(encoding="utf-8") as file:
            yield from blocks_of_stream(file, str(path))
    except OSError as error:
        raise InputMissingError(str(path), (error.strerror or "cannot be read").lower(), "name a text file") from error


def blocks_of_stream(stream: IO[str], name: str) -> Iterator[str]:
    """Text from an open stream. Raises DataError if it is not UTF-8."""
    try:
        while block := stream.read(BLOCK):
            yield block
    except UnicodeDecodeError as error:
        raise DataError(name, "is not UTF-8 text", "convert it, e.g. with iconv") from error
