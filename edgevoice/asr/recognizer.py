"""The recogniser contract: what every speech recogniser looks like from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 16_000
"""Hz. Every recogniser hears 16 kHz mono float32 in [-1, 1]; the audio room resamples before."""

Samples = NDArray[np.float32]
"""Mono samples, shape [n], dtype float32, in [-1, 1], at `SAMPLE_RATE`."""


@dataclass(frozen=True, slots=True)
class Word:
    """One recognised word; times are seconds from the start of the segment."""

    text: str
    start: float
    end: float
    confidence: float
    """Posterior-like, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Partial:
    """What has been heard so far, while the speaker goes on."""

    text: str
    """All words so far, lower case, no punctuation."""
    stable: str
    """The prefix of `text` (whole words) that will hardly change: unchanged over two decodes or confidence > 0.8."""
    heard: float
    """Seconds of the segment's audio that this partial accounts for."""
    ended: float | None = None
    """Seconds into the segment at which the last sound of speech ended, whether it makes a word or not; None if there is
    no word yet or the recogniser cannot tell."""
    phones: int = 0
    """How many sounds of speech were read so far, in words or not; 0 if the recogniser cannot tell."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in a segment, after `finish`."""

    text: str
    """Empty when nothing was said. Lower case without punctuation for CTC; cased and punctuated for Whisper."""
    words: tuple[Word, ...] = ()
    confidence: float = 0.0
    """In [0, 1]; the mean of the words' confidences."""
    heard: float = 0.0
    """Seconds of audio the transcript accounts for."""
    language: str = "en"
    ended: float | None = None
    """Probability in [0, 1] that the speaker has finished, judged by the sound alone; None if the recogniser cannot tell."""


class Recognizer(Protocol):
    """A streaming recogniser of one segment (stretch of speech) at a time. Not thread-safe: one thread uses it."""

    name: str

    def load(self) -> None:
        """Read the model from disk. Raises ModelMissingError or ModelDataError."""

    def warm(self) -> None:
        """Run once on real-shaped input so that the first turn is as fast as later ones."""

    def accept(self, samples: Samples) -> list[Partial]:
        """Take the next samples (any length) of the segment; return the partials that became due (often none)."""

    def finish(self) -> Transcript:
        """Transcribe all that was accepted since `reset`, at once, without waiting for a full chunk.

        Does not end the segment: when the speaker goes on after a short pause, `accept` continues where it was and
        `finish` may be called again.
        """

    def reset(self) -> None:
        """Forget the segment and start a new one."""

    def close(self) -> None:
        """Release the model's memory."""
