"""The final words of a segment: the readings that phones and language model leave open are told apart by their spelling.

Two heads sit on the encoder. The phone head leads the search; of the word lattice it leaves, the likeliest readings are
scored again with the character head, which knows what phones cannot tell ("b" and "be", "four" and "for" in a number,
spelled names). N-best rescoring with a second acoustic score is usual in hybrid CTC systems (Watanabe et al., "Hybrid
CTC/Attention Architecture", 2017); the phone and character pair is ours.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Any

import kaldi_decoder
import kaldifst
import numpy as np

from edgevoice.asr.graph import WordGraph
from edgevoice.asr.larger_model import LargerModel
from edgevoice.asr.recognizer import Word
from edgevoice.asr.search import LogProbs, SearchOptions, read_path
from edgevoice.asr.spelling import CharacterLogProbs, spelling_costs

log = logging.getLogger(__name__)

_ARC = re.compile(r"^(\d+ +\d+ +)\d+ +(\d+)", re.MULTILINE)
"""Source and target, label in, label out."""


@dataclass(frozen=True, slots=True)
class RescoringOptions:
    """Chosen on recordings of held-out speakers (docs/models.md)."""

    spelling_weight: float = 0.4
    """Weight of the character head's log-probability."""
    acoustic_share: float = 0.4
    """The phones' weight, as a part of what it is in the search alone: the spelling says part of it again."""
    larger_weight: float = 1.0
    """Weight of the larger language model, where there is one, against the graph's own in the search."""
    beam: float = 9.0
    """How wide to search: narrower than the search alone, whose words it only has to come near to."""
    lattice_beam: float = 5.0
    """Readings this much worse than the best (in negative natural log-probability) are not looked at."""
    readings: int = 100
    """Most readings that the larger language model judges."""
    spelled: int = 25
    """Most of them whose spelling is looked at: the likeliest by then."""
    most_arcs: int = 60_000
    """A bigger lattice is not speech: it would take long and tell nothing."""
    most_states: int = 20_000
    """The same for the lattice of words alone."""


class Rescorer:
    """Finds the words of a finished segment. One thread uses it."""

    def __init__(
        self,
        graph: WordGraph,
        search: SearchOptions,
        options: RescoringOptions | None = None,
        larger: LargerModel | None = None,
    ) -> None:
        """`larger` is asked about the readings in the place of the graph's own language model."""
        self._graph, self._search, self._larger = graph, search, larger
        self._options = options or RescoringOptions()
        self._config = kaldi_decoder.LatticeSimpleDecoderConfig(
            beam=self._options.beam, lattice_beam=self._options.lattice_beam
        )

    def words(self, phones: LogProbs, characters: CharacterLogProbs) -> tuple[Word, ...] | None:
        """The best words with their times; None if the lattice is no use (empty, or too big to be speech)."""
        lattice = self._lattice(phones)
        readings = self._readings(lattice) if lattice else {}
        if not readings:
            return None
        costs = np.array(list(readings.values()))
        if self._larger:
            weight = self._options.larger_weight
            costs += np.array([self._larger.correction(reading, weight) for reading in readings])
        likely = sorted(zip(costs, readings, strict=True))[: self._options.spelled]
        texts = [" ".join(self._graph.words[word] for word in reading) for _, reading in likely]
        spelling = self._options.spelling_weight * spelling_costs(characters, texts)
        _, best = likely[int(np.argmin([cost for cost, _ in likely] + spelling))]
        return read_path(_aligned(lattice, best), phones, self._graph.words)

    def _lattice(self, phones: LogProbs) -> str:
        """All likely paths, phones in and words out, in OpenFst's text format; empty if there is none."""
        if not len(phones):
            return ""
        scale = self._search.acoustic_scale * self._options.acoustic_share
        scaled = np.ascontiguousarray(phones * scale, np.float32)
        scaled[:, 0] -= self._search.blank_penalty * scale
        decoder = kaldi_decoder.LatticeSimpleDecoder(self._graph.fst, self._config)
        if not decoder.decode(kaldi_decoder.DecodableCtc(scaled, 0)):
            return ""
        found, lattice = decoder.get_raw_lattice(True)
        if not found:
            return ""
        # Kaldi keeps the costs of graph and sound apart: here they are one.
        kaldifst.scale_lattice([[1.0, 1.0], [0.0, 0.0]], lattice)
        text = str(lattice.to_str(show_weight_one=True))
        if text.count("\n") > self._options.most_arcs:
            log.debug("a lattice of %d arcs is left alone", text.count("\n"))
            return ""
        return text.replace(",0\n", "\n")

    def _readings(self, lattice: str) -> dict[tuple[int, ...], float]:
        """Word ids -> cost of the best way to say them, the likeliest readings only; without the empty one."""
        words = kaldifst.compile(_ARC.sub(r"\1\2 \2", lattice))
        try:
            cut_short = kaldifst.determinize_star(words, max_states=self._options.most_states)
        except RuntimeError as error:  # kaldifst has no exception of its own
            log.debug("a lattice is left alone: %s", str(error).splitlines()[-1])
            return {}
        if cut_short:
            return {}
        found = kaldifst.shortest_path(words, n=self._options.readings)
        readings: dict[tuple[int, ...], float] = {}
        waiting: list[tuple[int, tuple[int, ...], float]] = [(found.start, (), 0.0)] if found.start >= 0 else []
        while waiting:
            state, reading, cost = waiting.pop()
            end = cost + found.final(state).value
            if reading and np.isfinite(end):
                readings[reading] = min(end, readings.get(reading, np.inf))
            for arc in kaldifst.ArcIterator(found, state):
                more = (arc.olabel,) if arc.olabel else ()
                waiting.append((arc.nextstate, reading + more, cost + arc.weight.value))
        return readings


def _aligned(lattice: str, reading: tuple[int, ...]) -> Any:
    """The best path of the lattice that says exactly these words."""
    paths = kaldifst.compile(lattice)
    rows = [f"{index} {index + 1} {word} {word} 0" for index, word in enumerate(reading)]
    said = kaldifst.compile("\n".join([*rows, f"{len(reading)} 0"]))
    kaldifst.arcsort(paths, "olabel")
    return kaldifst.shortest_path(kaldifst.compose(paths, said))
