"""Fixed sentences of the assistant, by language."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


@cache
def phrases(language: str = "en") -> dict[str, str]:
    """All fixed sentences of `language` by name (the head of `phrases.toml` explains them); English if unknown."""
    table = tomllib.loads(files("edgevoice.llm").joinpath("phrases.toml").read_text("utf-8"))
    return {**table["en"], **table.get(language.split("-")[0].lower(), {})}


def phrase(name: str, language: str = "en") -> str:
    """One fixed sentence; empty if there is none of that name."""
    return phrases(language).get(name, "")
