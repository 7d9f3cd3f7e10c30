"""The listen stage: echo control, wake word, voice activity, endpointing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from edgevoice.asr.recognizer import SAMPLE_RATE
from edgevoice.audio.segmenter import Segmenter
from edgevoice.messages import Captured, Frame, SourceEnded, Speech, SpeechAudio, SpeechEnded
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.runtime.rtf import RtfMeter
from edgevoice.runtime.stage import Stage

MISSED_EVERY_S = 1.0
"""Seconds between two reports of lost sound: while it is lost, everything is late enough already."""


class FrameFilter(Protocol):
    """Changes frames before they are listened to (echo control)."""

    def process(self, frame: Frame) -> Frame:
        """The cleaned frame."""


class Gate(Protocol):
    """Decides whether speech counts now (wake word, push-to-talk)."""

    def accept(self, frame: Frame, segmenter: Segmenter) -> list[Speech] | None:
        """None: pass the frame to the segmenter; else these messages instead."""

    def close(self, time: float, speech_end: float) -> None:
        """An utterance has ended at `time`, its speech at `speech_end`: is the next one still meant for us?"""


class ListenStage(Stage[Captured]):
    """Turns frames into segments of speech. `speech` is its outbox.

    `on_missed` hears of dropped sound, once a second; what was lost before the inbox counts, too (`missed_before`).
    `on_ended` is called when everything up to the source's end was listened to.
    """

    name = "listen"

    def __init__(
        self,
        inbox: BoundedQueue[Captured],
        speech: BoundedQueue[Speech],
        segmenter: Segmenter,
        filters: tuple[FrameFilter, ...] = (),
        gate: Gate | None = None,
        on_missed: Callable[[], None] = lambda: None,
        on_ended: Callable[[], None] = lambda: None,
        missed_before: Callable[[], int] = lambda: 0,
    ) -> None:
        super().__init__(inbox)
        self.segmenter = segmenter
        self.rtf = RtfMeter(self.name)
        self._speech, self._filters, self._gate = speech, filters, gate
        self._on_missed, self._on_ended, self._missed_before = on_missed, on_ended, missed_before
        self._last_time = 0.0
        self._dropped = 0
        self._told_missed = float("-inf")

    def turn_of(self, item: Captured) -> int:
        """The segment that is open."""
        return self.segmenter.turn

    def work(self, item: Captured) -> None:
        """Listen to one frame, or to the end."""
        if isinstance(item, SourceEnded):
            self._finish()
        else:
            self._listen(item)

    def _listen(self, item: Frame) -> None:
        begun = time.monotonic()
        for step in self._filters:
            item = step.process(item)
        messages = self._gate.accept(item, self.segmenter) if self._gate else None
        if messages is None:
            messages = self.segmenter.accept(item)
        else:
            self.segmenter.skip()
        self.rtf.add(time.monotonic() - begun, len(item.samples) / SAMPLE_RATE)
        for message in messages:
            self._send(message)
        self._last_time = item.time
        self._tell_missed(item.time)

    def _tell_missed(self, moment: float) -> None:
        dropped = self._missed_before() + self.inbox.dropped + self._speech.dropped
        if dropped > self._dropped and moment - self._told_missed >= MISSED_EVERY_S:
            self._dropped, self._told_missed = dropped, moment
            self._on_missed()

    def _finish(self) -> None:
        # By the frames' own clock: at full speed they run ahead of the wall clock.
        for message in self.segmenter.finish(self._last_time):
            self._send(message)
        self._on_ended()

    def _send(self, message: Speech) -> None:
        if isinstance(message, SpeechEnded) and message.reason != "wake_word" and self._gate:
            self._gate.close(message.time, message.speech_end)
        # A live microphone's sound may be lost when recognising is too slow, a file's waits. Marks of a segment must
        # not be lost when its sound is; they keep their place in the order.
        if isinstance(message, SpeechAudio) and self._speech.overflow is Overflow.DROP_NEWEST:
            self._speech.put(message, timeout=0.5)
        else:
            self.hand_on(self._speech, message)
