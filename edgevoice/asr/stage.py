"""The recognise stage: decodes speech while it arrives, and reads the whole segment again at each pause."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Partial, Recognizer, Samples, Transcript
from edgevoice.asr.snr import estimate_snr
from edgevoice.asr.two_pass import SecondPass
from edgevoice.audio.level import clipped_share, dbfs
from edgevoice.messages import (
    Feedback,
    SegmentHeard,
    SegmentResumed,
    SegmentStarted,
    Speech,
    SpeechAudio,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    Words,
    WordsHeard,
)
from edgevoice.runtime.queues import BoundedQueue
from edgevoice.runtime.rtf import RtfMeter
from edgevoice.runtime.stage import Stage

log = logging.getLogger(__name__)

AFTER_WORDS_S = 0.4
"""Seconds kept after the last phone (which is known where it is surest, not where it ends) when noise has followed."""
LONE_WORD_CONFIDENCE = 0.75
"""Confidence that a word needs to be believed when it is all that was heard and no second pass confirms it: music and
noise are read as such words, while of 51 held-out single words that were right one had less than 0.71."""
HURRIED_CHUNK_MS = 160
"""Milliseconds decoded at a time while somebody talks over the voice: whether it has to stop is urgent."""


@runtime_checkable
class Chunked(Protocol):
    """A recogniser whose chunk can be changed between segments."""

    def set_chunk(self, chunk_ms: int) -> None:
        """Decode this many milliseconds at a time from the next `reset` on."""


class RecogniseStage(Stage[Speech]):
    """Owns both recognisers. `words` is its outbox."""

    name = "recognise"

    def __init__(
        self,
        inbox: BoundedQueue[Speech],
        words: BoundedQueue[Words | Feedback],
        recognizer: Recognizer,
        second: SecondPass | None,
        chunk_ms: int = 0,
    ) -> None:
        """`chunk_ms`: what the recogniser decodes at a time as set up; 0: leave it alone."""
        super().__init__(inbox)
        self.recognizer, self.second = recognizer, second
        self.hurry: Callable[[], bool] = lambda: False
        """Asked when speech starts: are its first words urgent? Ignored while the governor asks for bigger chunks."""
        self._chunk_ms = self._usual_ms = chunk_ms
        self._read_again = second is not None
        self.rtf = RtfMeter(self.name)
        self._words = words
        self._segment = -1
        self._audio: list[Samples] = []
        self._started = 0.0
        self._last: SegmentHeard | None = None

    def set_quality(self, chunk_ms: int, second_pass: bool) -> None:
        """From the next segment on decode so many milliseconds at a time; read finished segments again, or do not."""
        self._chunk_ms, self._read_again = chunk_ms, second_pass

    def turn_of(self, item: Speech) -> int:
        """Speech names its segment."""
        return item.segment

    def work(self, item: Speech) -> None:
        """Handle one message of the listening stage."""
        match item:
            case SpeechStarted():
                if self._chunk_ms and isinstance(self.recognizer, Chunked):
                    urgent = self._chunk_ms <= self._usual_ms and self.hurry()
                    self.recognizer.set_chunk(HURRIED_CHUNK_MS if urgent else self._chunk_ms)
                self.recognizer.reset()
                self._segment, self._audio, self._last = item.segment, [], None
                self._started = item.time
                self._tell(SegmentStarted(item.segment, item.time))
            case SpeechAudio():
                self._decode(item)
            case SpeechPaused(settled=True):
                if self._last is not None and self._last.attempt == item.attempt:
                    self._tell(replace(self._last, settled=True))
            case SpeechPaused():
                self._last = self._read(item.segment, item.attempt, item.speech_end)
                self._tell(self._last)
            case SpeechResumed():
                self._last = None
                self._tell(SegmentResumed(item.segment, item.time))
            case SpeechEnded():
                self._end(item)

    def _decode(self, item: SpeechAudio) -> None:
        # When decoding fell behind, all that waits is decoded at once: bigger chunks cost less per second.
        waiting = self.inbox.take_while(lambda s: isinstance(s, SpeechAudio) and s.segment == item.segment)
        pieces = [item.samples, *(w.samples for w in waiting if isinstance(w, SpeechAudio))]
        samples = np.concatenate(pieces) if waiting else item.samples
        self._audio.append(samples)
        with self.rtf.measure(len(samples) / SAMPLE_RATE):
            partials = self.recognizer.accept(samples)
        if partials:
            self._tell(WordsHeard(item.segment, partials[-1], time.monotonic()))

    def _read(self, segment: int, attempt: int, speech_end: float) -> SegmentHeard:
        first = best = self.recognizer.finish()
        doubtful = len(first.words) == 1 and first.confidence < LONE_WORD_CONFIDENCE
        doubted = False
        if self.second and self._read_again and first.text:
            if not doubtful:
                # The language model can already answer what is probably said while the second pass reads it.
                now = time.monotonic()
                heard = Partial(first.text, stable=first.text, heard=first.heard)
                self._tell(WordsHeard(segment, heard, now))
                self._tell(SegmentHeard(segment, attempt, first, first, speech_end, False, now, tentative=True))
            best = self.second.refine(self._sound(), first)
            doubted = best is first and self.second.doubted
        if doubtful and best is first:
            best = Transcript("", heard=first.heard)
        now = time.monotonic()
        return SegmentHeard(segment, attempt, first, best, speech_end, final=False, ready=now, doubted=doubted)

    def _sound(self) -> Samples:
        """All of the segment so far."""
        return np.concatenate(self._audio) if self._audio else np.zeros(0, np.float32)

    def _forget_after(self, moment: float) -> None:
        """Read the segment again without what came after `moment`."""
        samples = self._sound()
        self._audio = [samples[: max(0, round((moment - self._started) * SAMPLE_RATE))]]
        self._last = None
        self.recognizer.reset()
        self.recognizer.accept(self._audio[0])

    def _end(self, item: SpeechEnded) -> None:
        if item.reason == "no_new_words":
            self._forget_after(item.speech_end + AFTER_WORDS_S)
        heard = self._last
        # Where nothing was found at the pause, the longer silence that is known now may still bring a short word out.
        if heard is None or heard.attempt != item.attempt or not heard.transcript.text:
            heard = self._read(item.segment, item.attempt, item.speech_end)
        samples = self._sound()
        self._last, self._audio = None, []
        final = replace(
            heard,
            attempt=item.attempt,
            speech_end=item.speech_end,
            final=True,
            endpoint=item.time,
            reason=item.reason,
            snr_db=estimate_snr(samples),
            level_dbfs=dbfs(samples),
            clipped_share=clipped_share(samples),
        )
        self._tell(final)

    def _tell(self, message: Words) -> None:
        """Nothing that the conversation must know is lost, however long it takes to look."""
        self.hand_on(self._words, message)
