"""The synthesiser contract: what every voice looks like from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Cancelled = Callable[[], bool]
"""Asked between units of work; True means: stop, nobody wants the rest."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """When a word of the clause is spoken."""

    begin: int
    """First character of the word in the clause's text."""
    end: int
    """One past the last character of the word in the clause's text."""
    start_sample: int
    """Sample of the clause's audio at which the word begins."""
    end_sample: int
    """Sample of the clause's audio at which the word ends."""


@dataclass(frozen=True, slots=True)
class PcmChunk:
    """A piece of the clause's sound."""

    samples: NDArray[np.int16]
    """Mono, shape [n], at `rate`."""
    rate: int
    """Hz."""
    words: tuple[SpokenWord, ...] = ()
    """Timing of the clause's words; a later chunk may bring further and better ones. Empty when the voice cannot tell."""


def merged(*words: SpokenWord) -> tuple[SpokenWord, ...]:
    """The words in order; of several times of the same word the last one given, which is the best."""
    known = {word.begin: word for word in words}
    return tuple(known[begin] for begin in sorted(known))


class Synthesizer(Protocol):
    """A streaming voice. Not thread-safe: one thread uses it."""

    name: str
    sample_rate: int
    """Hz of every chunk; known after `load`."""

    def load(self) -> None:
        """Read the voice from disk. Raises ModelMissingError or ModelDataError."""

    def warm(self) -> None:
        """Synthesise once so that the first clause is as fast as later ones."""

    def synthesize(self, clause: str, cancelled: Cancelled = ...) -> Iterator[PcmChunk]:
        """Speak one clause of plain text (already normalised for speech). Yields the first chunk as early as possible.

        Text that holds nothing speakable yields nothing.
        """

    def close(self) -> None:
        """Release the voice's memory."""
