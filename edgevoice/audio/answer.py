"""The sound of one answer on its way to the device, and what is known about it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from edgevoice.audio.resample import MonoResampler, to_float
from edgevoice.tts.synthesizer import SpokenWord

AUDIBLE = 10.0 ** (-50 / 20)
"""Absolute sample value (-50 dBFS) from which a sample counts as audible."""


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one answer's sound."""

    generation: int
    samples: int
    """Samples of the voice that went to the device, at the voice's own rate; padding is not counted."""
    seconds: float
    """The same in seconds."""
    first_audible: float | None
    """Monotonic time at which the first sample above -50 dBFS leaves the device; None: nothing audible yet."""
    ended: float | None
    """Monotonic time at which the last sample leaves the device; None while there is more."""
    underruns: int
    """Gaps inside the answer because the next sound was late."""


@dataclass
class Answer:
    """Sound of one generation at the device's rate: a queue that ends when `finished` and empty."""

    generation: int
    held: bool = False
    finished: bool = False
    rate: int = 0
    """Hz of the device; known with the first sound."""
    voice_rate: int = 0
    """Hz of the synthesiser; known with the first sound."""
    fed: int = 0
    """Device samples queued so far."""
    taken: int = 0
    """Device samples handed out so far."""
    underruns: int = 0
    first_audible: float | None = None
    ended: float | None = None
    starving: bool = False
    """Ran dry in the middle and waits for a cushion."""
    clause: int = -1
    clause_complete: bool = True
    resampler: MonoResampler | None = None
    blocks: deque[NDArray[np.float32]] = field(default_factory=deque)
    breaks: deque[int] = field(default_factory=deque)
    """Device samples, ascending, at which a gap may fall: clause and word beginnings not yet handed out."""

    @property
    def queued(self) -> int:
        """Device samples waiting."""
        return self.fed - self.taken

    @property
    def done(self) -> bool:
        """True when all sound was handed out."""
        return self.finished and not self.queued

    def resample(self, samples: NDArray[np.int16]) -> NDArray[np.float32]:
        """int16 voice samples to float32 at the device's rate; one resampler for the whole answer."""
        assert self.resampler is not None, "begin_clause comes first"
        return self.resampler.accept(to_float(samples))

    def begin_clause(self, index: int, words: Sequence[SpokenWord], voice_rate: int, rate: int) -> None:
        """The next sound belongs to clause `index`; its words tell where a gap would not hurt."""
        if self.resampler is None:
            self.rate, self.voice_rate = rate, voice_rate
            self.resampler = MonoResampler(voice_rate, rate, low_latency=True)
        if index == self.clause:
            return
        start = self.resampler.taken
        self.clause, self.clause_complete = index, False
        for sample in {0, *(word.start_sample for word in words if word.start_sample > 0)}:
            self.breaks.append(round((start + sample) * self.rate / self.voice_rate))
        self.breaks = deque(sorted(self.breaks))

    def append(self, samples: NDArray[np.float32]) -> None:
        """Queue float32 samples at the device's rate."""
        if len(samples):
            self.blocks.append(samples)
            self.fed += len(samples)

    def take(self, limit: int) -> NDArray[np.float32]:
        """At most `limit` queued samples from the head of the queue."""
        block = self.blocks.popleft()
        if len(block) > limit:
            self.blocks.appendleft(block[limit:])
            block = block[:limit]
        self.taken += len(block)
        while self.breaks and self.breaks[0] < self.taken:
            self.breaks.popleft()
        return block

    def report(self) -> Played:
        """What became of it so far."""
        seconds = self.taken / (self.rate or 1)
        samples = self.taken if self.voice_rate == self.rate else round(seconds * self.voice_rate)
        return Played(self.generation, samples, seconds, self.first_audible, self.ended, self.underruns)
