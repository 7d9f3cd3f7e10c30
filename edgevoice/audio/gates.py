"""Gates before the segmenter: speech counts after a wake word, in the follow-up window, or while a key is held."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.audio.ptt import PushToTalk
from edgevoice.audio.segmenter import Segmenter
from edgevoice.audio.wake import Detection, WakeWord
from edgevoice.messages import Frame, Speech

MOST_AGO_S = 2.0
"""Seconds of sound kept, from which the words after the wake word are taken."""
NOTHING_SAID_S = 0.25
"""Speech that ends this soon after the wake word was the wake word: the user has paused, the command is to come."""


class WakeGate:
    """Closed until the wake word; then open for one utterance. Used by the listening stage (`Gate`).

    "Wake word and command in one breath": the segment begins at the wake word's end, from kept sound. Nothing said for
    `no_input_s` seconds after the wake word closes the gate. `follow_up(time)`: does speech count without it (see
    `edgevoice.dialog.rules.follow_up`).
    """

    def __init__(
        self,
        wake: WakeWord,
        follow_up: Callable[[float], bool] = lambda time: False,
        no_input_s: float = 8.0,
        on_wake: Callable[[Detection, float], None] = lambda detection, time: None,
    ) -> None:
        self._wake, self._follow_up, self._no_input_s, self._on_wake = wake, follow_up, no_input_s, on_wake
        self._kept: deque[Samples] = deque()
        self._kept_samples = 0
        self._waiting_until = self._word_end = float("-inf")

    def accept(self, frame: Frame, segmenter: Segmenter) -> list[Speech] | None:
        """None while speech counts; else what to send instead (often nothing)."""
        self._keep(frame.samples)
        detection = self._wake.accept(frame.samples)
        if detection is not None:
            self._on_wake(detection, frame.time)
            self._waiting_until = frame.time + self._no_input_s
            self._word_end = frame.time - detection.samples_ago / SAMPLE_RATE
            ended = segmenter.end_now(frame.time, "wake_word")
            return [*ended, *segmenter.begin_now(frame, self._after(detection))]
        if segmenter.open or frame.time < self._waiting_until or self._follow_up(frame.time):
            return None
        return []

    def close(self, time: float, speech_end: float) -> None:
        """The utterance after the wake word was taken: the next needs the wake word again."""
        if speech_end <= self._word_end + NOTHING_SAID_S:
            return
        self._waiting_until = min(self._waiting_until, time)

    def _keep(self, samples: Samples) -> None:
        self._kept.append(samples)
        self._kept_samples += len(samples)
        while self._kept_samples - len(self._kept[0]) >= MOST_AGO_S * SAMPLE_RATE:
            self._kept_samples -= len(self._kept.popleft())

    def _after(self, detection: Detection) -> Samples:
        sound = np.concatenate(list(self._kept))
        return sound[max(0, len(sound) - detection.samples_ago) :]


class TalkKeyGate:
    """Open while the talk key is held; releasing it ends the utterance at once."""

    def __init__(self, ptt: PushToTalk) -> None:
        self._ptt = ptt
        self._was_held = False

    def close(self, time: float, speech_end: float) -> None:
        """The key alone opens and closes."""

    def accept(self, frame: Frame, segmenter: Segmenter) -> list[Speech] | None:
        """None while the key is held; else what to send instead."""
        held, before = self._ptt.held, self._was_held
        self._was_held = held
        if held and not before:
            return segmenter.begin_now(frame, frame.samples)
        if held:
            return None
        return segmenter.end_now(frame.time, "push_to_talk") if before else []
