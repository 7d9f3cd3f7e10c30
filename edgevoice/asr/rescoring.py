"""The final words of a segment: the readings that phones and language model leave open are told apart by their spelling.

Two heads sit on the encoder. The phone head leads the search; of the word lattice it leaves, the likeliest readings are
scored again with the character head, which knows what phones cannot tell ("b" and "be", "four" and "for" in a number,
spelled names). N-best rescoring with a second acoustic score is usual in hybrid CTC systems (Watanabe et al., "Hybrid
CTC/Attention Architecture", 2017); the phone and character pair is ours.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import kaldi_decoder
import kaldifst
import numpy as np

from edgevoice.asr.graph import WordGraph
from edgevoice.asr.recognizer import Word
from edgevoice.asr.search import LogProbs, SearchOptions, read_path
from edgevoice.asr.spelling import CharacterLogProbs, spelling_costs

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RescoringOptions:
    """Chosen on recordings of held-out speakers (docs/models.md)."""

    spelling_weight: float = 0.5
    """Weight of the character head's log-probability."""
    acoustic_share: float = 0.7
    """The phones' weight, as a part of what it is in the search alone: the spelling says part of it again."""
    lattice_beam: float = 6.0
    """Readings this much worse than the best (in negative natural log-probability) are not looked at."""
    readings: int = 50
    """Most readings that are scored again."""
    most_arcs: int = 60_000
    """A bigger lattice is not speech: it would take long and tell nothing."""
    most_states: int = 20_000
    """The same for the lattice of words alone."""


class Rescorer:
    """Finds the words of a finished segment. One thread uses it."""

    def __init__(self, graph: WordGraph, search: SearchOptions, options: RescoringOptions | None = None) -> None:
        self._graph, self._search = graph, search
        self._options = options or RescoringOptions()
        self._config = kaldi_decoder.LatticeSimpleDecoderConfig(
            beam=search.beam, lattice_beam=self._options.lattice_beam
        )

    def words(self, phones: LogProbs, characters: CharacterLogProbs) -> tuple[Word, ...] | None:
        """The best words with their times; None if the lattice is no use (empty, or too big to be speech)."""
        arcs = self._lattice(phones)
        readings = self._readings(arcs) if arcs else {}
        if not readings:
            return None
        texts = [" ".join(self._graph.words[word] for word in reading) for reading in readings]
        costs = np.array(list(readings.values())) + self._options.spelling_weight * spelling_costs(characters, texts)
        best = list(readings)[int(np.argmin(costs))]
        return read_path(_aligned(arcs, best), phones, self._graph.words)

    def _lattice(self, phones: LogProbs) -> list[_Arc]:
        scale = self._search.acoustic_scale * self._options.acoustic_share
        scaled = np.ascontiguousarray(phones * scale, np.float32)
        scaled[:, 0] -= self._search.blank_penalty * scale
        decoder = kaldi_decoder.LatticeSimpleDecoder(self._graph.fst, self._config)
        if not decoder.decode(kaldi_decoder.DecodableCtc(scaled, 0)):
            return []
        found, lattice = decoder.get_raw_lattice(True)
        if not found:
            return []
        lines = lattice.to_str(show_weight_one=True).splitlines()
        if len(lines) > self._options.most_arcs:
            log.debug("a lattice of %d arcs is left alone", len(lines))
            return []
        return [_arc(line.split()) for line in lines]

    def _readings(self, arcs: list[_Arc]) -> dict[tuple[int, ...], float]:
        """Word ids -> cost of the best way to say them, the likeliest readings only; without the empty one."""
        words = kaldifst.compile("\n".join(arc.text(arc.word, arc.word) for arc in arcs))
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


@dataclass(frozen=True, slots=True)
class _Arc:
    """An arc of the raw lattice, or (`target` empty) a final state."""

    source: str
    target: str
    phone: str
    word: str
    cost: float

    def text(self, label_in: str, label_out: str) -> str:
        """In OpenFst's text format with other labels."""
        return (
            f"{self.source} {self.target} {label_in} {label_out} {self.cost}"
            if self.target
            else f"{self.source} {self.cost}"
        )


def _arc(fields: list[str]) -> _Arc:
    final = len(fields) < 4
    weight = fields[-1] if len(fields) in (2, 5) else "0,0"
    graph, acoustic, *_ = weight.split(",")
    cost = float(graph) + float(acoustic)
    return _Arc(fields[0], "", "", "", cost) if final else _Arc(fields[0], fields[1], fields[2], fields[3], cost)


def _aligned(arcs: list[_Arc], reading: tuple[int, ...]) -> Any:
    """The best path of the lattice that says exactly these words."""
    lattice = kaldifst.compile("\n".join(arc.text(arc.phone, arc.word) for arc in arcs))
    rows = [f"{index} {index + 1} {word} {word} 0" for index, word in enumerate(reading)]
    said = kaldifst.compile("\n".join([*rows, f"{len(reading)} 0"]))
    kaldifst.arcsort(lattice, "olabel")
    return kaldifst.shortest_path(kaldifst.compose(lattice, said))
