"""A hundred sentences as an assistant says them, 1 to 38 words, written to measure voices with."""

from __future__ import annotations

from importlib.resources import files


def sentences(count: int = 100) -> list[str]:
    """`count` of them, spread evenly over all lengths."""
    lines = files("edgevoice.tts.optimize").joinpath("sentences.txt").read_text(encoding="utf-8").splitlines()
    step = len(lines) / max(1, count)
    return [lines[int((i + 0.5) * step)] for i in range(min(count, len(lines)))]
