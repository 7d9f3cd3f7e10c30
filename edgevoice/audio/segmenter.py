"""Cuts the stream of frames into segments of speech, with pre-roll, pauses and endpoints. Knows no clock but theirs."""

from __future__ import annotations

from collections import deque
from typing import Protocol

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.messages import (
    Frame,
    Speech,
    SpeechAudio,
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
)
from edgevoice.settings import EndpointSettings, VadSettings


class ActivityDetector(Protocol):
    """Tells speech from silence, block by block."""

    def accept(self, samples: Samples) -> bool:
        """Take the next block; True while someone speaks."""

    @property
    def silence_s(self) -> float:
        """Seconds since the last speech sample, up to the end of the last block."""

    def reset(self) -> None:
        """Forget the past."""


class SilenceRule(Protocol):
    """Decides what a silence means (see `edgevoice.dialog.endpoint`)."""

    def pause(self, silence_s: float) -> bool:
        """The silence is long enough to try an answer."""

    def end(self, silence_s: float, segment: int) -> bool:
        """The silence ends the segment."""

    def stopped(self, segment: int) -> float | None:
        """Seconds into the segment at which its last word ended, if sound goes on but words do not; else None."""


class Segmenter:
    """Feed it frames; it returns the messages for the recognise stage. One thread uses it."""

    def __init__(
        self, vad: VadSettings, endpoint: EndpointSettings, detector: ActivityDetector, rule: SilenceRule
    ) -> None:
        self.endpoint = endpoint
        self._detector, self._rule = detector, rule
        self._preroll_samples = SAMPLE_RATE * vad.preroll_ms // 1000
        self._preroll: deque[Samples] = deque()
        self._held = 0
        self._segment = 0
        self._open = False
        self._paused = self._settled = False
        self._attempt = 0
        self._length = 0.0

    @property
    def open(self) -> bool:
        """True inside a segment."""
        return self._open

    @property
    def turn(self) -> int:
        """Number of the open segment, 0 outside of one."""
        return self._segment if self._open else 0

    def accept(self, frame: Frame) -> list[Speech]:
        """Take one frame."""
        speech = self._detector.accept(frame.samples)
        self._keep(frame.samples)
        if not self._open:
            return self._begin(frame) if speech else []
        self._length += len(frame.samples) / SAMPLE_RATE
        audio = SpeechAudio(self._segment, frame.samples, frame.time)
        silence = self._detector.silence_s
        if self._length >= self.endpoint.max_speech_s:
            return [audio, self._end(frame, silence, "too_long")]
        if (words_s := self._rule.stopped(self._segment)) is not None:
            return [audio, self._end(frame, self._length - words_s, "no_new_words")]
        if speech:
            resumed: list[Speech] = [SpeechResumed(self._segment, frame.time)] if self._paused else []
            self._paused = False
            return [*resumed, audio]
        messages: list[Speech] = [audio]
        if not self._paused and self._rule.pause(silence):
            self._paused = True
            self._attempt += 1
            self._settled = False
            messages.append(SpeechPaused(self._segment, self._attempt, frame.time - silence, frame.time))
        if self._paused and not self._settled and silence * 1000 >= self.endpoint.settled_ms:
            self._settled = True
            messages.append(SpeechPaused(self._segment, self._attempt, frame.time - silence, frame.time, settled=True))
        if self._rule.end(silence, self._segment):
            messages.append(self._end(frame, silence, "silence"))
        return messages

    def finish(self, time: float) -> list[Speech]:
        """The source has ended: so has the segment."""
        if not self._open:
            return []
        return [self._end(Frame(np.zeros(0, np.float32), time), self._detector.silence_s, "source_ended")]

    def begin_now(self, frame: Frame, preroll: Samples) -> list[Speech]:
        """Open a segment at once (wake word, push-to-talk), with this sound before it (`frame`'s own included)."""
        if self._open:
            return []
        self._preroll, self._held = deque([preroll]), len(preroll)
        # The detector did not hear what the gate kept back: its silence would count from the speech before, and end
        # the new segment at once.
        self._detector.reset()
        self._detector.accept(preroll)
        return self._begin(frame)

    def skip(self) -> None:
        """A gate keeps the frame back: what was heard before it does not belong to what will be heard after it."""
        if self._held and not self._open:
            self._forget()
            self._detector.reset()

    def end_now(self, time: float, reason: str) -> list[Speech]:
        """Close the segment at once (push-to-talk released, nothing said)."""
        if not self._open:
            return []
        return [self._end(Frame(np.zeros(0, np.float32), time), self._detector.silence_s, reason)]

    def _begin(self, frame: Frame) -> list[Speech]:
        self._segment += 1
        self._open, self._paused, self._attempt = True, False, 0
        before = np.concatenate(list(self._preroll)) if self._preroll else np.zeros(0, np.float32)
        self._forget()
        self._length = len(before) / SAMPLE_RATE
        started = SpeechStarted(self._segment, frame.time - self._length)
        return [started, SpeechAudio(self._segment, before, frame.time)]

    def _end(self, frame: Frame, silence_s: float, reason: str) -> SpeechEnded:
        self._open = False
        attempt = self._attempt if self._paused else 0
        if reason == "no_new_words":
            attempt = 0  # what was read at a pause held the noise that followed
        else:
            self._forget()
        return SpeechEnded(self._segment, attempt, frame.time - silence_s, frame.time, reason)

    def _forget(self) -> None:
        self._preroll.clear()
        self._held = 0

    def _keep(self, samples: Samples) -> None:
        self._preroll.append(samples)
        self._held += len(samples)
        while self._preroll and self._held - len(self._preroll[0]) >= self._preroll_samples:
            self._held -= len(self._preroll.popleft())
