"""A back-off n-gram model in small arrays, to score whole sentences with: three to twelve bytes an n-gram.

What follows a word stands side by side, sorted; costs are one of 256 steps. Only lookups: `scripts/asr/pack_ngrams.py`
makes the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Ngrams:
    """Costs are negative natural log-probabilities, those of backing off too. Words are indices; the two behind the
    last one are the start and the end of a sentence.
    """

    costs1: Array
    """float16 [words + 2]: of a word alone."""
    backoffs1: Array
    """float16 [words + 2]: of what follows a word without a pair of its own."""
    begins2: Array
    """int32 [words + 3]: where the pairs of a first word begin."""
    words2: Array
    """uint16 [pairs]: their second words, ascending."""
    costs2: Array
    """uint8 [pairs]: index into `steps`."""
    backoffs2: Array
    """uint8 [pairs]."""
    begins3: Array
    """int32 [pairs + 1]: where the triples of a pair begin."""
    words3: Array
    """uint16 [triples]: their third words, ascending."""
    costs3: Array
    """uint8 [triples]."""
    steps: Array
    """float32 [256]."""
    backoff_steps: Array
    """float32 [256]."""

    @classmethod
    def of(cls, arrays: Mapping[str, Array], prefix: str) -> Ngrams:
        """From a file's arrays, whose names begin with `prefix`. Raises KeyError when one is not there."""
        return cls(**{name: arrays[f"{prefix}{name}"] for name in cls.__dataclass_fields__})

    @property
    def start(self) -> int:
        """Index of the start of a sentence."""
        return len(self.costs1) - 2

    @property
    def end(self) -> int:
        """Index of its end."""
        return len(self.costs1) - 1

    def cost(self, history: Sequence[int], word: int) -> float:
        """Of a word after the (up to two) words before it."""
        if not history:
            return float(self.costs1[word])
        pair = _find(self.words2, self.begins2, history[-1], word)
        shorter = float(self.backoffs1[history[-1]]) + float(self.costs1[word])
        if pair >= 0:
            shorter = float(self.steps[self.costs2[pair]])
        if len(history) < 2:
            return shorter
        known = _find(self.words2, self.begins2, history[-2], history[-1])
        if known < 0:
            return shorter
        triple = _find(self.words3, self.begins3, known, word)
        if triple >= 0:
            return float(self.steps[self.costs3[triple]])
        return float(self.backoff_steps[self.backoffs2[known]]) + shorter


def _find(followers: Array, begins: Array, context: int, word: int) -> int:
    """Position of `word` among the followers of a context, -1 if it is none."""
    begin, end = int(begins[context]), int(begins[context + 1])
    position = begin + int(np.searchsorted(followers[begin:end], word))
    return position if position < end and followers[position] == word else -1
