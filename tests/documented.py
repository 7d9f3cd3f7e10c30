"""The keys that docs/json.md promises, to hold what a verb prints against them."""

from __future__ import annotations

import re
from typing import Any

from tests.conftest import ROOT


def documented(verb: str) -> set[str]:
    """Keys of the table under the heading that begins with `edgevoice VERB`, e.g. `scores[].wer`."""
    section = (ROOT / "docs" / "json.md").read_text().split(f"## `edgevoice {verb} ")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def leaves(value: Any, path: str = "") -> set[str]:
    """The paths of all values in what a verb printed, as the document writes them."""
    if isinstance(value, dict):
        return {leaf for key, inner in value.items() for leaf in leaves(inner, f"{path}.{key}".lstrip("."))}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {leaf for inner in value for leaf in leaves(inner, f"{path}[]")}
    return {path}
