"""Long text in parts that a voice can hold: cut at sentence ends, else at commas, else between words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_PART = 300
"""Characters of a part, at most: memory stays flat however long the text is."""

_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[^a-z\s])|\n+")
_COMMA = re.compile(r"[,;:—–]\s+")
_SPACE = re.compile(r"\s+")
_ABBREVIATION = re.compile(r"(?:\b[A-Z]|\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|vs|etc|No|approx))\.\s+$")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the text."""

    text: str
    begin: int
    """Index of its first character in the text."""


def parts_of(text: str) -> Iterator[Part]:
    """The parts, in order; joined they are the text. Sentences that fit are kept whole, one to a part."""
    begin = 0
    while begin < len(text):
        end = _end(text, begin)
        if text[begin:end].strip():
            yield Part(text[begin:end], begin)
        begin = end


def _end(text: str, begin: int) -> int:
    for found in _SENTENCE.finditer(text, begin, min(len(text), begin + LONGEST_PART)):
        if not _ABBREVIATION.search(text[begin : found.end()]):
            return found.end()
    if len(text) - begin <= LONGEST_PART:
        return len(text)
    window = text[begin : begin + LONGEST_PART]
    for border in (_COMMA, _SPACE):
        ends = [found.end() for found in border.finditer(window)]
        if ends and ends[-1] > LONGEST_PART // 3:
            return begin + ends[-1]
    return begin + LONGEST_PART
