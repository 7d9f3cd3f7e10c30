"""Which recordings a benchmark plays: files, folders, manifests, or the few that come with the source."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from edgevoice.commands.options import count
from edgevoice.errors import InputMissingError, UsageError

BUNDLED = Path(__file__).resolve().parents[2] / "tests" / "data"
SUFFIXES = frozenset({".wav", ".flac", ".opus", ".ogg", ".mp3"})


def add_argument(parser: argparse.ArgumentParser) -> None:
    """The positional argument that all benchmarks on recordings share."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="RECORDING",
        help="sound files, folders of them, or manifests (.jsonl with `audio`); default: those that come with the source",
    )
    parser.add_argument("--limit", type=count, default=0, help="take at most so many, evenly spread (default: all)")


def expand(names: Sequence[str], limit: int = 0) -> list[str]:
    """The sound files that `names` stand for. Raises InputMissingError or UsageError."""
    found = [str(path) for name in names or [str(BUNDLED)] for path in _files(Path(name))]
    if not found:
        raise UsageError("recordings", "none were named and none come with this installation", "name sound files")
    if limit and len(found) > limit:
        found = [found[i * len(found) // limit] for i in range(limit)]
    return found


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(p for p in path.iterdir() if p.suffix.lower() in SUFFIXES)
    if path.suffix == ".jsonl":
        try:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            return [path.parent / row["audio"] for row in rows]
        except OSError as error:
            raise InputMissingError(str(path), error.strerror or str(error), "name a manifest") from error
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(str(path), "is no manifest: one JSON object per line with `audio`", "name one") from error
    return [path]
