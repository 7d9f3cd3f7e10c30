"""The generate stage: asks the language model, keeps its deadlines, and streams the answer's text."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from edgevoice.dialog.ledger import Point, TurnLedger
from edgevoice.llm.generator import Generator
from edgevoice.messages import REDUCED, AnswerFailed, AnswerText, Ask, Prefill, Request
from edgevoice.runtime.queues import BoundedQueue
from edgevoice.runtime.rtf import RtfMeter
from edgevoice.runtime.stage import Stage
from edgevoice.settings import LlmSettings

log = logging.getLogger(__name__)

SPOKEN_SECONDS_PER_TOKEN = 0.25
"""Roughly how long one token takes to say; makes the model's speed comparable to real time."""


@runtime_checkable
class Threaded(Protocol):
    """A generator whose number of threads can be changed between two tokens."""

    def set_threads(self, threads: int) -> None:
        """Use so many from the next evaluation on."""


class GenerateStage(Stage[Request]):
    """Owns the language model. `tokens` is its outbox; `on_failed` hears of answers that could not be made."""

    name = "generate"

    def __init__(
        self,
        inbox: BoundedQueue[Request],
        tokens: BoundedQueue[AnswerText],
        generator: Generator,
        ledger: TurnLedger,
        on_failed: Callable[[AnswerFailed], None],
        settings: LlmSettings,
    ) -> None:
        super().__init__(inbox)
        self.generator = generator
        self.max_tokens = settings.max_tokens
        """Tokens of one answer; the quality governor lowers it, at last to 0: a fixed sentence instead."""
        self._threaded = generator if isinstance(generator, Threaded) else None
        self.threads: Callable[[], int] | None = None
        """Asked before every evaluation how many cores are free for it; None: as many as the generator was made with."""
        self.rtf = RtfMeter(self.name)
        self._tokens, self._ledger, self._on_failed = tokens, ledger, on_failed
        self._deadline_s = settings.first_token_deadline_ms / 1000

    def turn_of(self, item: Request) -> int:
        """Requests name their segment."""
        return max(0, item.segment)

    def work(self, item: Request) -> None:
        """Prefill, or answer."""
        self._share_cores()
        if isinstance(item, Prefill):
            self.generator.prefill(item.history, item.words, lambda: self.stopping or len(self.inbox) > 0)
        elif not self._ledger.stale(item.generation):
            self._answer(item)

    def _answer(self, ask: Ask) -> None:
        self._ledger.mark(ask.generation, Point.ASK)
        if ask.fixed_reply:
            self._judge_end(ask, 1.0)
            self._ledger.mark(ask.generation, Point.FIRST_TOKEN)
            self._ledger.note(ask.generation, fixed=1)
            self._put(AnswerText(ask.generation, ask.fixed_reply, last=True))
            return
        if self.max_tokens <= 0:
            self._on_failed(AnswerFailed(ask.generation, self.name, REDUCED))
            return
        for attempt in (1, 2):
            started = self._stream(ask)
            if started or self._gone(ask.generation):
                return
            log.warning("no token within %.0f ms (attempt %d)", self._deadline_s * 1000, attempt)
        self._on_failed(AnswerFailed(ask.generation, self.name, "first token too late"))

    def _stream(self, ask: Ask) -> bool:
        """Stream the answer; False if the first token missed its deadline (a retry finds the prefix evaluated)."""
        generation, begun = ask.generation, time.monotonic()
        count, first, said = 0, begun, False

        def cancelled() -> bool:
            self.beat()
            return self._gone(generation) or (count == 0 and time.monotonic() - begun > self._deadline_s)

        self.generator.prefill(ask.history, ask.words, cancelled)
        if cancelled():
            return False
        self._judge_end(ask, None)
        for token in self._generate(ask, cancelled):
            count += 1
            if count == 1:
                first = time.monotonic()
                self._ledger.mark(generation, Point.FIRST_TOKEN, first)
                use = self.generator.last_use()
                self._ledger.note(generation, tokens_evaluated=use.evaluated, tokens_reused=use.reused)
            said = said or bool(token.strip())
            if token and not self._put(AnswerText(generation, token)):
                return True
        if count == 0 and cancelled():
            return False
        self._ledger.mark(generation, Point.LAST_TOKEN)
        self._ledger.note(generation, tokens=count)
        if count > 1:
            # The wait for the first token is judged as latency; here it is whether the voice can be kept supplied.
            self.rtf.add(time.monotonic() - first, (count - 1) * SPOKEN_SECONDS_PER_TOKEN)
        if said:
            self._put(AnswerText(generation, "", last=True))
        else:
            self._on_failed(AnswerFailed(generation, self.name, "no answer"))
        return True

    def _generate(self, ask: Ask, cancelled: Callable[[], bool]) -> Iterator[str]:
        for token in self.generator.generate(ask.history, ask.words, cancelled, self.max_tokens):
            yield token.text
            self._share_cores()

    def _share_cores(self) -> None:
        if self.threads is not None and self._threaded is not None:
            self._threaded.set_threads(self.threads())

    def _judge_end(self, ask: Ask, probability: float | None) -> None:
        self._ledger.note_end(ask.segment, words=self.generator.completeness() if probability is None else probability)

    def _put(self, text: AnswerText) -> bool:
        """Hand on a piece; waits while the voice is too far behind. False once nobody wants the answer."""
        return self.hand_on(self._tokens, text, lambda: not self._gone(text.generation))

    def _gone(self, generation: int) -> bool:
        return self.stopping or self._ledger.stale(generation)
