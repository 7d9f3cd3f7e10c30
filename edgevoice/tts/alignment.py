"""Which word is spoken when: phonemes back to words, and phoneme durations to samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgevoice.tts.synthesizer import SpokenWord

_NO_SOUND = frozenset("ˈˌː .,;:!?¿¡…\"'()-–—_")
"""Stress and length marks, spaces and punctuation: never what tells one word from another."""


def match_words(symbols: Sequence[str], alone: Sequence[Sequence[str]]) -> list[int]:
    """For each phoneme symbol of a sentence the word it belongs to; -1 for spaces and punctuation.

    `alone` holds the phonemes of each word spoken by itself. In a sentence words melt together ("of the" becomes one
    word) and change their vowels, so both strings are aligned by least edit distance.
    """
    sounding = [i for i, symbol in enumerate(symbols) if symbol not in _NO_SOUND]
    expected = [(symbol, word) for word, phonemes in enumerate(alone) for symbol in phonemes if symbol not in _NO_SOUND]
    owner = [-1] * len(symbols)
    if not sounding or not expected:
        return owner
    for i, word in zip(sounding, _align([symbols[i] for i in sounding], expected), strict=True):
        owner[i] = word
    _extend_over_marks(symbols, owner)
    return owner


def _align(heard: Sequence[str], expected: Sequence[tuple[str, int]]) -> list[int]:
    """The word of each heard symbol, along the cheapest alignment (substitution 1, insertion 1, deletion 1)."""
    rows, columns = len(heard), len(expected)
    codes: dict[str, int] = {}
    a = np.array([codes.setdefault(symbol, len(codes)) for symbol in heard])
    b = np.array([codes.setdefault(symbol, len(codes)) for symbol, _ in expected])
    different = (a[:, None] != b[None, :]).astype(np.int32)
    cost = np.zeros((rows + 1, columns + 1), np.int32)
    cost[0] = steps = np.arange(columns + 1, dtype=np.int32)
    for i in range(1, rows + 1):
        row = np.empty(columns + 1, np.int32)
        row[0] = i
        row[1:] = np.minimum(cost[i - 1, 1:] + 1, cost[i - 1, :-1] + different[i - 1])
        # Deletions run along the row: a running minimum of cost minus position.
        cost[i] = np.minimum.accumulate(row - steps) + steps
    words = [0] * rows
    i, j = rows, columns
    while i > 0:
        if j > 0 and cost[i, j] == cost[i - 1, j - 1] + different[i - 1, j - 1]:
            i, j = i - 1, j - 1
            words[i] = expected[j][1]
        elif cost[i, j] == cost[i - 1, j] + 1:
            i -= 1
            words[i] = expected[max(j - 1, 0)][1]
        else:
            j -= 1
    return words


def _extend_over_marks(symbols: Sequence[str], owner: list[int]) -> None:
    """Stress marks belong to the sound after them, length marks to the one before."""
    for i in range(len(symbols) - 2, -1, -1):
        if owner[i] < 0 and symbols[i] in "ˈˌ":
            owner[i] = owner[i + 1]
    for i in range(1, len(symbols)):
        if owner[i] < 0 and symbols[i] in "ː":
            owner[i] = owner[i - 1]


def spoken_words(
    words: Sequence[tuple[int, int]],
    word_of_id: Sequence[int],
    durations: NDArray[np.int64],
    hop: int,
    first_sample: int = 0,
    first_character: int = 0,
) -> tuple[SpokenWord, ...]:
    """Timing of each word: from its first phoneme's first sample to its last phoneme's last.

    `durations` are frames of `hop` samples for each phoneme id. `first_sample` and `first_character` are where this
    piece lies in the clause.
    """
    ends = np.concatenate([[0], np.cumsum(durations)]) * hop
    owners = np.asarray(word_of_id)
    found = []
    for word, (begin, end) in enumerate(words):
        mine = np.flatnonzero(owners == word)
        if len(mine) == 0:
            continue
        start, stop = int(ends[mine[0]]), int(ends[mine[-1] + 1])
        found.append(
            SpokenWord(
                first_character + begin,
                first_character + end,
                max(0, first_sample + start),
                max(0, first_sample + stop),
            )
        )
    return tuple(found)
