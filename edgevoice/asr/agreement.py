"""How alike two transcripts sound, what one of them only says again, and what is no word at all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from edgevoice.asr.lexicon import pronunciations
from edgevoice.asr.normalize import plain_words
from edgevoice.errors import UsageError

_PUNCTUATION = re.compile(r"[.!?,]+(?=\s|$)")
_HUM = re.compile(r"[hmn]+|u[hm]+|huh+|ah+|eh+")
_NASAL = re.compile(r"^[hmn]+$")
_ALIKE = 2
"""So many words that are the same again are a repetition."""


def hum_in(text: str) -> str:
    """The hum that is all of the text, in its usual spelling ("HN, Hmm." is "hm hm"); empty if there are other words."""
    sounds = re.findall(r"[^\W_]+", text.lower())
    if not all(_HUM.fullmatch(sound) for sound in sounds):
        return ""
    return " ".join(_NASAL.sub("hm", sound) for sound in sounds)


def phone_distance(one: str, other: str) -> float:
    """Edit distance of the phones of two plain transcripts, divided by the longer one's length; in [0, 1]."""
    return float(Levenshtein.normalized_distance(_phones(one), _phones(other)))


def _phones(words: str) -> Sequence[int]:
    phones: list[int] = []
    for word in words.split():
        try:
            phones += pronunciations(word)[0]
        except UsageError:
            phones.append(0)
    return phones


def without_repetition(text: str, heard: str) -> str:
    """`text` without what it only says again after a punctuation mark and what is not in `heard` twice.

    Whisper begins a short utterance again when it does not see the end of it.
    """
    best, closest = text, phone_distance(plain_words(text), heard)
    for mark in _PUNCTUATION.finditer(text):
        kept, again = plain_words(text[: mark.start()]).split(), plain_words(text[mark.end() :]).split()
        alike = min(len(kept), len(again), _ALIKE)
        if not alike or kept[:alike] != again[:alike]:
            continue
        distance = phone_distance(" ".join(kept), heard)
        if distance < closest:
            best, closest = text[: mark.end()].rstrip(" ,"), distance
    return best
