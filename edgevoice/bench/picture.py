"""What a benchmark that draws makes sure of before it measures for an hour."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from edgevoice.errors import OutputError, UnavailableError


def check(path: str | None) -> None:
    """A picture can be drawn and written at the end. Raises UnavailableError or OutputError; leaves no file behind."""
    if not path:
        return
    if importlib.util.find_spec("matplotlib") is None:
        raise UnavailableError("--png", "matplotlib is not installed", "pip install matplotlib")
    file = Path(path)
    existed = file.exists()
    try:
        file.open("ab").close()
    except OSError as error:
        raise OutputError(path, error.strerror or str(error), "name a file that can be written") from error
    if not existed:
        file.unlink()
