"""A conversation with recording doubles for its two ports, driven by hand: fast tests of turn-taking rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from edgevoice.asr.recognizer import Partial, Transcript
from edgevoice.dialog.conversation import Conversation
from edgevoice.dialog.ledger import TurnLedger
from edgevoice.messages import (
    AnswerFailed,
    Ask,
    PlaybackEnded,
    PlaybackStarted,
    Prefill,
    SegmentHeard,
    SegmentStarted,
    WordsHeard,
)
from edgevoice.settings import DialogSettings, EndpointSettings

SENTENCES = {"failed": "sorry", "missed": "sorry", "reduced": "sorry, reduced"}
BACKCHANNELS = {"yeah", "mm-hmm", "uh huh"}


@dataclass
class FakeVoice:
    """Remembers what it was told; `heard` is what the next cut reports."""

    released: list[int] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    heard: str = "the capital of"

    def release(self, generation: int) -> None:
        self.released.append(generation)
        self.calls.append("release")

    def pause(self) -> None:
        self.calls.append("pause")

    def resume(self) -> None:
        self.calls.append("resume")

    def cut(self) -> str:
        self.calls.append("cut")
        return self.heard


@dataclass
class FakeBrain:
    """Remembers what it was asked."""

    asked: list[Ask] = field(default_factory=list)
    prefilled: list[str] = field(default_factory=list)

    def prefill(self, request: Prefill) -> None:
        self.prefilled.append(request.words)

    def ask(self, request: Ask) -> None:
        self.asked.append(request)


class TwoWords:
    """Two words interrupt; one real word pauses; a back-channel does neither."""

    def interrupts(
        self, text: str, final: bool, confidence: float = 0.0, first_pass: str = "", read: bool = True
    ) -> bool:
        return text not in BACKCHANNELS and (final or len(text.split()) >= 2 or text == "stop")

    def own(self, text: str) -> str:
        return text

    def pauses(self, text: str, phones: int = 0, heard_s: float = 0.0) -> bool:
        return text not in BACKCHANNELS if text else phones >= 4


class World:
    """One conversation and short names for what can happen to it."""

    def __init__(self, voice: Any = None, **dialog: object) -> None:
        self.ledger, self.voice, self.brain = TurnLedger(), voice or FakeVoice(), FakeBrain()
        self.events: list[str] = []
        self.time = 100.0
        self.segment = 0
        self.conversation = Conversation(
            self.ledger,
            self.voice,
            self.brain,
            TwoWords(),
            str.lower,
            DialogSettings(**dialog),  # type: ignore[arg-type]
            EndpointSettings(),
            on_event=lambda name, facts: self.events.append(name),
            template=lambda reason: SENTENCES.get(reason, ""),
        )

    @property
    def state(self) -> str:
        return str(self.conversation.state)

    def starts(self) -> int:
        self.segment += 1
        self.time += 1
        self.conversation.on_started(SegmentStarted(self.segment, self.time))
        return self.segment

    def words(self, text: str, stable: str = "", phones: int = 0) -> None:
        self.time += 0.3
        partial = Partial(text, stable, 0.3, phones=phones)
        self.conversation.on_words(WordsHeard(self.segment, partial, self.time))

    def heard(
        self,
        text: str,
        final: bool = True,
        attempt: int = 1,
        reason: str = "silence",
        tentative: bool = False,
        settled: bool = False,
    ) -> None:
        self.time += 0.1
        said = Transcript(text)
        ready = self.time
        self.conversation.on_heard(
            SegmentHeard(
                self.segment,
                attempt,
                said,
                said,
                ready - 0.2,
                final,
                ready,
                ready if final else 0.0,
                reason,
                settled=settled,
                tentative=tentative,
            )
        )

    def asks(self, text: str) -> int:
        """The user asks `text`; the generation of the answer."""
        self.starts()
        self.heard(text)
        return self.brain.asked[-1].generation

    def audible(self, generation: int | None = None) -> None:
        self.time += 0.1
        self.conversation.on_playback_started(PlaybackStarted(generation or self.ledger.generation, self.time))

    def ended(self, heard: str, generation: int | None = None) -> None:
        self.time += 1
        self.conversation.on_playback_ended(PlaybackEnded(generation or self.ledger.generation, heard, self.time))

    def failed(self, stage: str = "generate", reason: str = "test") -> None:
        self.time += 0.1
        self.conversation.on_failed(AnswerFailed(self.ledger.generation, stage, reason), self.time)
