"""The converse stage: the thread on which the conversation lives."""

from __future__ import annotations

import time
from collections.abc import Callable

from edgevoice.dialog.conversation import Conversation
from edgevoice.messages import (
    AnswerFailed,
    Feedback,
    PlaybackEnded,
    PlaybackStarted,
    SegmentHeard,
    SegmentResumed,
    SegmentStarted,
    SoundMissed,
    Woken,
    Words,
    WordsHeard,
)
from edgevoice.runtime.queues import BoundedQueue
from edgevoice.runtime.stage import Stage


def newer_partial(new: Words | Feedback, old: Words | Feedback) -> bool:
    """A newer partial makes an older one of the same segment worthless; finals and feedback are never replaced."""
    return isinstance(new, WordsHeard) and isinstance(old, WordsHeard) and new.segment == old.segment


class ConverseStage(Stage[Words | Feedback]):
    """Hands each message to the conversation, and ticks it.

    `on_woken` is called once the conversation has fallen silent for the wake word: the tone must not come before.
    """

    name = "converse"

    def __init__(
        self,
        inbox: BoundedQueue[Words | Feedback],
        conversation: Conversation,
        on_woken: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(inbox)
        self.conversation = conversation
        self._on_woken = on_woken

    def turn_of(self, item: Words | Feedback) -> int:
        """Words know their segment, feedback its attempt."""
        match item:
            case SegmentStarted() | WordsHeard() | SegmentResumed() | SegmentHeard():
                return item.segment
            case PlaybackStarted() | PlaybackEnded() | AnswerFailed():
                return self.conversation.turn_of(item.generation)
            case Woken() | SoundMissed():
                return 0

    def work(self, item: Words | Feedback) -> None:
        """Pass on one message."""
        match item:
            case SegmentStarted():
                self.conversation.on_started(item)
            case WordsHeard():
                self.conversation.on_words(item)
            case SegmentResumed():
                self.conversation.on_resumed(item.segment)
            case SegmentHeard():
                self.conversation.on_heard(item)
            case PlaybackStarted():
                self.conversation.on_playback_started(item)
            case PlaybackEnded():
                self.conversation.on_playback_ended(item)
            case AnswerFailed():
                self.conversation.on_failed(item, time.monotonic())
            case Woken():
                self.conversation.on_woken(item.time)
                self._on_woken()
            case SoundMissed():
                self.conversation.on_missed(item.time)
        self.conversation.tick(time.monotonic())

    def idle(self) -> None:
        """Time passes."""
        self.conversation.tick(time.monotonic())
