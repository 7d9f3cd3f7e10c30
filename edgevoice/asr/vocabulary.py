"""The names and phrases a person has taught, kept in a text file beside the other data of edgevoice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from edgevoice.asr.biasing import Phrase, parse_phrases
from edgevoice.errors import SettingsError, StorageError
from edgevoice.models.checksum import atomic_write
from edgevoice.models.places import data_dir

FILE = "vocabulary.txt"


def vocabulary_file() -> Path:
    """Where the taught phrases are kept; one `phrase=weight` a line, `#` begins a comment."""
    return data_dir() / FILE


def taught_phrases() -> tuple[Phrase, ...]:
    """The phrases in the file; none if there is no file. Raises SettingsError or StorageError naming the file."""
    path = vocabulary_file()
    try:
        lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
        return parse_phrases(line for line in lines if line)
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(str(path), f"cannot be read ({error})", "mend or delete the file") from error
    except SettingsError as error:
        raise SettingsError(f"{path}: {error.what}", error.why, error.mend) from error


def save_phrases(phrases: Iterable[Phrase]) -> None:
    """Replace the file, at once or not at all. Raises StorageError."""
    path = vocabulary_file()
    lines = [f"{phrase.text}={phrase.weight:g}\n" for phrase in sorted(phrases, key=lambda phrase: phrase.text)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write("".join(lines).encode())
    except OSError as error:
        raise StorageError(str(path), f"cannot be written ({error.strerror})", "free some disk space") from error


def all_phrases(settings: Iterable[str]) -> tuple[Phrase, ...]:
    """Taught phrases and those of the settings, which win. Raises SettingsError or StorageError."""
    merged = {phrase.text: phrase for phrase in (*taught_phrases(), *parse_phrases(settings))}
    return tuple(merged.values())
