"""Streaming beam search over the decoding graph, with word times and confidences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import kaldi_decoder
import numpy as np
from numpy.typing import NDArray

from edgevoice.asr.graph import WordGraph
from edgevoice.asr.recognizer import Word

ENCODER_FRAME_SECONDS = 0.02
LogProbs = NDArray[np.float32]
"""Log-probabilities of blank and phones, shape [frames, 40], one frame per 20 ms."""
STABLE_CONFIDENCE = 0.8
"""A word this certain counts as stable at once."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How wide and with which weight to search."""

    beam: float = 12.0
    max_active: int = 2000
    """Most hypotheses kept per frame."""
    acoustic_scale: float = 2.0
    """Weight of the sound against the language model."""
    blank_penalty: float = 0.0
    """Taken from the blank's log-probability: CTC puts nearly all frames on the blank, where it is in doubt as well."""


class WordSearch:
    """The best words for the log-probabilities accepted so far."""

    def __init__(self, graph: WordGraph, options: SearchOptions) -> None:
        self._graph = graph
        self._options = options
        self._kaldi_options = kaldi_decoder.FasterDecoderOptions(beam=options.beam, max_active=options.max_active)
        self.reset()

    def reset(self) -> None:
        """Start a new segment."""
        self._decoder = kaldi_decoder.FasterDecoder(self._graph.fst, self._kaldi_options)
        self._decoder.init_decoding()
        self._evidence: list[LogProbs] = []
        self.frames = 0

    def accept(self, log_probs: LogProbs) -> None:
        """Search on through the next frames."""
        if not len(log_probs):
            return
        scaled = np.ascontiguousarray(log_probs * self._options.acoustic_scale, np.float32)
        scaled[:, 0] -= self._options.blank_penalty * self._options.acoustic_scale
        self._decoder.advance_decoding(kaldi_decoder.DecodableCtc(scaled, self.frames))
        self._evidence.append(log_probs)
        self.frames += len(log_probs)

    def words(self, final: bool = False) -> tuple[Word, ...]:
        """The best words so far; with `final` only readings that end with a whole word, if there is one.

        Times are seconds from the start of the segment.
        """
        if not self.frames:
            return ()
        found, path = self._decoder.get_best_path(use_final_probs=final)
        if not found:
            return ()
        return read_path(path, np.concatenate(self._evidence), self._graph.words)


def read_path(path: Any, evidence: LogProbs, vocabulary: tuple[str, ...]) -> tuple[Word, ...]:
    """Words with times and confidences of a linear path (input labels phones + 1, output labels words).

    A word's label stands where the graph could first tell it from others, which may be after its first phones: so a
    word begins with the first phone after the last phone that belongs to the word before it. That border is taken
    half-way in the blanks between.
    """
    labels: list[tuple[int, int]] = []
    """(word id, frame) where the label stood."""
    phones: list[tuple[int, int, float]] = []
    """(first frame, frame after the last, log-probability of its surest frame) of each phone."""
    frame, previous = 0, 0
    for phone, word in _arcs_of(path):
        if word:
            labels.append((word, frame))
        if phone > 1:
            score = float(evidence[frame, phone - 1])
            if phone == previous:
                begin, _, best = phones[-1]
                phones[-1] = (begin, frame + 1, max(best, score))
            else:
                phones.append((frame, frame + 1, score))
        frame += phone > 0
        previous = phone
    return _words(vocabulary, labels, phones)


def _arcs_of(path: Any) -> Iterator[tuple[int, int]]:
    """(input label, output label) of each arc of a linear lattice, in order."""
    rows = (line.split() for line in path.to_str(show_weight_one=True).splitlines())
    following = {int(row[0]): (int(row[1]), int(row[2]), int(row[3])) for row in rows if len(row) >= 4}
    state = path.start
    while state in following:
        state, phone, word = following[state]
        yield phone, word


def _words(
    vocabulary: tuple[str, ...], labels: list[tuple[int, int]], phones: list[tuple[int, int, float]]
) -> tuple[Word, ...]:
    words: list[Word] = []
    for index, (label, frame) in enumerate(labels):
        following = labels[index + 1][1] if index + 1 < len(labels) else np.inf
        own = [p for p in phones if frame <= p[0] < following] or [p for p in phones if p[0] <= frame][-1:]
        start, end = (own[0][0], own[-1][1]) if own else (frame, frame + 1)
        confidence = float(np.exp(np.mean([p[2] for p in own]))) if own else 0.0
        words.append(
            Word(vocabulary[label], start * ENCODER_FRAME_SECONDS, end * ENCODER_FRAME_SECONDS, min(1.0, confidence))
        )
    return tuple(words)


def stable_prefix(previous: tuple[Word, ...], current: tuple[Word, ...]) -> int:
    """How many leading words are not expected to change: equal in both decodes, or surer than `STABLE_CONFIDENCE`.

    The last word is never stable by confidence alone: its next phone may still make another word of it.
    """
    count = 0
    for index, word in enumerate(current):
        unchanged = index < len(previous) and previous[index].text == word.text
        sure = word.confidence > STABLE_CONFIDENCE and index < len(current) - 1
        if not (unchanged or sure):
            break
        count += 1
    return count
