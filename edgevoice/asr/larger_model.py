"""A larger language model for the readings of a finished segment than the word graph has room for.

The graph holds a model pruned to a tenth: every n-gram costs it states for each of its phones. For the few dozen
readings that the search leaves over, what the small model said is taken back and the large one asked (two-pass decoding
with a larger n-gram, as in Ljolje, Pereira and Riley, 1999). Both lie in one file, `ngrams.npz`.
"""

from __future__ import annotations

import hashlib
import logging
import zipfile
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from edgevoice.asr.graph import WordGraph
from edgevoice.asr.ngrams import Ngrams
from edgevoice.errors import ModelDataError

log = logging.getLogger(__name__)

Reading = tuple[int, ...]
"""Word ids of the graph."""
NOT_KNOWN = -1
REMEMBERED = 4096
"""Costs kept: the readings of a segment differ in few places."""


class LargerModel:
    """What the large model says against the small one. One thread uses it."""

    def __init__(self, words: Sequence[str], small: Ngrams, large: Ngrams, graph: WordGraph) -> None:
        """`words` are those of the models; taught words (`graph.phrases`) are judged by neither."""
        index = {word: position for position, word in enumerate(words)}
        self._ids = [index.get(word, NOT_KNOWN) for word in graph.words]
        self._phrases = sorted(graph.phrases, key=len, reverse=True)
        self._small, self._large = (lru_cache(REMEMBERED)(model.cost) for model in (small, large))
        self._start, self._end = large.start, large.end

    def correction(self, reading: Reading, weight: float = 1.0) -> float:
        """What to add to the cost of a reading: `weight` times the large model's cost, less that of the small one.

        A taught phrase has its own cost in the graph: it counts nothing here, and no word after it has a history.
        """
        history: tuple[int, ...] = (self._start,)
        total = 0.0
        for word in [*self._without_phrases(reading), self._end]:
            if word == NOT_KNOWN:
                history = ()
                continue
            total += weight * self._large(history, word) - self._small(history, word)
            history = (*history, word)[-2:]
        return total

    def _without_phrases(self, reading: Reading) -> Iterable[int]:
        """The models' ids of the words; NOT_KNOWN in the place of each taught phrase and unknown word."""
        position = 0
        while position < len(reading):
            taught = next((p for p in self._phrases if reading[position : position + len(p)] == p), None)
            yield NOT_KNOWN if taught else self._ids[reading[position]]
            position += len(taught) if taught else 1


def open_larger(path: Path, language_model: Path, graph: WordGraph) -> LargerModel | None:
    """The model in `path`; None if there is none, or if it was made for another graph than that of `language_model`.

    Raises ModelDataError when the file is damaged.
    """
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        made_for = arrays["graph_sha256"].tobytes()
        words = arrays["words"].tobytes().decode().split("\n")
        small, large = Ngrams.of(arrays, "graph."), Ngrams.of(arrays, "large.")
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        mend = "copy the model's folder again; `edgevoice models verify` checks all"
        raise ModelDataError(str(path), f"not a readable language model ({error})", mend) from error
    if made_for != hashlib.sha256(language_model.read_bytes()).digest():
        log.info("%s belongs to another language model and is not used", path.name)
        return None
    return LargerModel(words, small, large, graph)
