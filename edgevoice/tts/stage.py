"""The synthesise stage: speaks clause after clause, from the phrase cache where it can."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol

from edgevoice.dialog.ledger import Point, TurnLedger
from edgevoice.errors import EdgeVoiceError
from edgevoice.messages import AnswerFailed, Clause
from edgevoice.runtime.queues import BoundedQueue
from edgevoice.runtime.rtf import RtfMeter
from edgevoice.runtime.stage import Stage
from edgevoice.tts.phrases import Phrases
from edgevoice.tts.synthesizer import PcmChunk

log = logging.getLogger(__name__)


class SoundOutlet(Protocol):
    """Where the sound goes: the playback side, as this stage sees it."""

    def begin_clause(self, generation: int, text: str) -> None:
        """The sound that follows speaks `text`."""

    def play(self, generation: int, chunk: PcmChunk, timeout: float) -> bool:
        """Queue sound; waits up to `timeout` seconds for room. True if it was taken."""

    def end_clause(self, generation: int) -> None:
        """The clause's sound is complete."""

    def finish(self, generation: int) -> None:
        """The answer's sound is complete."""


class SynthesiseStage(Stage[Clause]):
    """Owns the voice. Blocks on the outlet when the sound is far enough ahead."""

    name = "synthesise"

    def __init__(
        self,
        inbox: BoundedQueue[Clause],
        outlet: SoundOutlet,
        phrases: Phrases,
        ledger: TurnLedger,
        on_failed: Callable[[AnswerFailed], None],
    ) -> None:
        super().__init__(inbox)
        self.phrases = phrases
        self.rtf = RtfMeter(self.name)
        self._outlet, self._ledger, self._on_failed = outlet, ledger, on_failed
        self._failed = -1
        """The last answer of which a clause could not be spoken: without it the rest makes no sense."""

    def turn_of(self, item: Clause) -> int:
        """The ledger knows whose attempt it is."""
        return self._ledger.turn_of(item.generation)

    def work(self, item: Clause) -> None:
        """Speak one clause."""
        if item.generation == self._failed or self._gone(item.generation):
            return
        if item.spoken.strip():
            try:
                self._speak(item)
            except EdgeVoiceError as error:
                log.error("%s", error)
                self._failed = item.generation
                self._on_failed(AnswerFailed(item.generation, self.name, error.why))
                return
        if item.last and not self._gone(item.generation):
            self._outlet.finish(item.generation)

    def idle(self) -> None:
        """Between answers: get ready for a changed amount of work."""
        self.phrases.settle(lambda: self.stopping or len(self.inbox) > 0)

    def _speak(self, clause: Clause) -> None:
        def cancelled() -> bool:
            self.beat()
            return self._gone(clause.generation)

        begun, busy, length = time.monotonic(), 0.0, 0.0
        first = True
        chunks = self.phrases.speak(clause.spoken, cancelled)
        for chunk in chunks:
            busy += time.monotonic() - begun
            length += len(chunk.samples) / chunk.rate
            if first:
                first = False
                self._ledger.mark(clause.generation, Point.FIRST_PCM)
                if clause.index == 0:
                    self._ledger.note(clause.generation, cached=int(self.phrases.last_was_cached))
                self._outlet.begin_clause(clause.generation, clause.text)
            if not self._play(clause.generation, chunk):
                return
            begun = time.monotonic()
        self._outlet.end_clause(clause.generation)
        if length and not self.phrases.last_was_cached:
            self.rtf.add(busy, length)

    def _play(self, generation: int, chunk: PcmChunk) -> bool:
        while not self._gone(generation):
            if self._outlet.play(generation, chunk, timeout=0.1):
                return True
            self.beat()
        return False

    def _gone(self, generation: int) -> bool:
        return self.stopping or self._ledger.stale(generation)
