"""Every message that crosses a queue: the single source of truth for what flows between stages.

Two numbers order everything. `segment` counts stretches of the user's speech as the listening stage hears them.
`generation` counts the assistant's attempts to answer (see `edgevoice.dialog.ledger`): whoever takes a message with an
old generation drops it. Times are monotonic seconds on the audio clock (the time at which the sample was captured).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgevoice.asr.recognizer import Partial, Transcript
from edgevoice.llm.generator import Exchange

# --- capture -> listen -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """A block of microphone sound, 16 kHz mono float32 in [-1, 1]."""

    samples: NDArray[np.float32]
    time: float
    """Capture time of the sample after the last one."""


@dataclass(frozen=True, slots=True)
class SourceEnded:
    """No frame will follow: the file is exhausted, or the device is lost for good."""


Captured = Frame | SourceEnded

# --- listen -> recognise -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The user began to speak. The pre-roll follows as ordinary `SpeechAudio`."""

    segment: int
    time: float


@dataclass(frozen=True, slots=True)
class SpeechAudio:
    """The next sound of the segment, pauses inside it included."""

    segment: int
    samples: NDArray[np.float32]
    time: float
    """Capture time of the sample after the last one."""


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    """A short silence: speech may have ended. The recogniser is flushed and an answer is begun speculatively."""

    segment: int
    attempt: int
    """Counts the pauses of this segment, from 1."""
    speech_end: float
    """Time of the last speech sample."""
    time: float
    settled: bool = False
    """The same pause once more, grown so long that speech has probably ended."""


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """Speech went on after a `SpeechPaused`: the attempt made from it is withdrawn."""

    segment: int
    time: float


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """The endpoint: the user has finished (or spoke too long)."""

    segment: int
    attempt: int
    """The pause this endpoint confirms; 0 if there was none (cap on length)."""
    speech_end: float
    time: float
    reason: str = "silence"
    """`silence`, `no_new_words`, `too_long`, `push_to_talk`, `wake_word`, `source_ended`."""


Speech = SpeechStarted | SpeechAudio | SpeechPaused | SpeechResumed | SpeechEnded

# --- recognise -> converse ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WordsHeard:
    """A partial transcript of a segment that goes on."""

    segment: int
    partial: Partial
    time: float
    """When the partial was ready."""


@dataclass(frozen=True, slots=True)
class SegmentStarted:
    """Passed on from listen, in order with the words."""

    segment: int
    time: float


@dataclass(frozen=True, slots=True)
class SegmentResumed:
    """Passed on from listen: whatever was begun for the last pause is withdrawn."""

    segment: int
    time: float


@dataclass(frozen=True, slots=True)
class SegmentHeard:
    """A full transcript: at a pause (`final` False, speculative) or at the endpoint (`final` True)."""

    segment: int
    attempt: int
    first_pass: Transcript
    transcript: Transcript
    """What to answer: the second pass where it ran, else the first."""
    speech_end: float
    final: bool
    ready: float
    """When this transcript was ready."""
    endpoint: float = 0.0
    """Time of the endpoint decision; 0 while it is not final."""
    reason: str = ""
    snr_db: float | None = None
    """Estimated signal-to-noise ratio; None if unknown. With final transcripts only, as the next two."""
    level_dbfs: float = -96.0
    """Level of the whole segment."""
    clipped_share: float = 0.0
    """Share of samples at full scale."""
    settled: bool = False
    """The silence after it has grown so long that speech has probably ended."""
    doubted: bool = False
    """The second pass has read something else there, which did not count: the words are the first pass's alone."""
    tentative: bool = False
    """The second pass is still to read it: an answer may be begun, and is dropped if the words come out otherwise."""


Words = SegmentStarted | WordsHeard | SegmentResumed | SegmentHeard

# --- converse -> generate ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prefill:
    """Compute the KV cache up to the words heard so far."""

    segment: int
    words: str
    history: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Answer these words. `generation` is the ledger's number of this attempt."""

    generation: int
    segment: int
    words: str
    history: tuple[Exchange, ...]
    fixed_reply: str = ""
    """Say this instead of asking the model (intent, template, spoken error)."""


Request = Prefill | Ask

# --- generate -> compose -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The next piece of the answer as the model writes it."""

    generation: int
    text: str
    last: bool = False
    """The answer is complete."""


# --- compose -> synthesise ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of the answer, ready to be spoken."""

    generation: int
    index: int
    text: str
    """As it stands in the history; `spoken` is derived from it."""
    spoken: str
    """Normalised for speech."""
    last: bool = False
    """Nothing follows in this answer (its text may be empty then)."""


# --- back to converse --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlaybackStarted:
    """The first audible sample of an answer went out."""

    generation: int
    time: float


@dataclass(frozen=True, slots=True)
class PlaybackEnded:
    """All sound of an answer has left the device. Never sent for one that was cut off: whoever cut it knows."""

    generation: int
    heard: str
    """The text of the answer, all of which was audible."""
    time: float


REDUCED = "quality is reduced to fixed sentences"
"""Reason of an answer that the model was not asked for, because the machine is too slow for it now: no failure."""


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """A stage could not answer; a template is spoken instead."""

    generation: int
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class SoundMissed:
    """A queue was full: some of what the user said is lost."""

    time: float


@dataclass(frozen=True, slots=True)
class Woken:
    """The wake word was heard: whatever is being said is cut off, what follows is a request."""

    time: float


Feedback = PlaybackStarted | PlaybackEnded | AnswerFailed | SoundMissed | Woken
