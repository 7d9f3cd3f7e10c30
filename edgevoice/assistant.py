"""The assistant: builds the stages from the settings, wires the queues, starts and stops everything in order.

capture -> listen -> recognise -> converse -> generate -> compose -> synthesise -> playout
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgevoice.asr.recognizer import SAMPLE_RATE
from edgevoice.asr.stage import RecogniseStage
from edgevoice.assembly import Models
from edgevoice.audio.capture import Capture
from edgevoice.audio.earcons import earcon
from edgevoice.audio.echo_guard import EchoGuard
from edgevoice.audio.hearing import Hearing
from edgevoice.audio.listen import ListenStage
from edgevoice.audio.playout import Tap
from edgevoice.audio.segmenter import Segmenter
from edgevoice.audio.source import Source
from edgevoice.audio.speaker import Speaker
from edgevoice.audio.vad import SpeechDetector
from edgevoice.dialog.build import build_conversation, build_intents
from edgevoice.dialog.endpoint import Endpointer
from edgevoice.dialog.ledger import TurnLedger, TurnRecord
from edgevoice.dialog.mouth import Mouth
from edgevoice.dialog.ports import Questions, WordsAwareSilence
from edgevoice.dialog.rules.follow_up import FollowUpWindow
from edgevoice.dialog.rules.no_new_words import NoNewWords
from edgevoice.dialog.stage import ConverseStage, newer_partial
from edgevoice.dialog.states import State
from edgevoice.errors import EdgeVoiceError, InternalError
from edgevoice.llm.phrases import phrases
from edgevoice.llm.stage import GenerateStage
from edgevoice.messages import (
    AnswerFailed,
    AnswerText,
    Captured,
    Clause,
    Feedback,
    Frame,
    PlaybackEnded,
    PlaybackStarted,
    Request,
    SoundMissed,
    Speech,
    SpeechAudio,
    Woken,
    Words,
)
from edgevoice.runtime.allocator import give_back
from edgevoice.runtime.cores import plan
from edgevoice.runtime.ladder import Quality
from edgevoice.runtime.queues import BoundedQueue, Closed, Overflow
from edgevoice.runtime.stage import Stage
from edgevoice.settings import Settings
from edgevoice.tts.compose import ComposeStage, clauses_of
from edgevoice.tts.phrases import build_phrases
from edgevoice.tts.stage import SynthesiseStage

log = logging.getLogger(__name__)

SETTLED_S = 0.2
"""Seconds of calm after which the assistant counts as not busy."""
MeasuredStage = ListenStage | RecogniseStage | GenerateStage | SynthesiseStage


class Assistant:
    """`load()`, `start()`, any number of turns, `stop()`.

    `on_turn` gets the record of every finished turn, `on_event` the small things that happen (names in docs/metrics.md).
    Both are called from stage threads and must not block.
    """

    def __init__(
        self,
        settings: Settings,
        source: Source,
        speaker: Speaker,
        on_turn: Callable[[TurnRecord], None] = lambda record: None,
        on_event: Callable[[str, dict[str, object]], None] = lambda name, facts: None,
    ) -> None:
        self.settings = settings
        self.models = Models.build(settings)
        self._cores = plan(settings)
        self.ledger = TurnLedger(on_turn)
        self.ended = threading.Event()
        """Set when the source is exhausted or lost for good, and all its sound has been listened to."""
        self.source_error: EdgeVoiceError | None = None
        self._on_event = on_event
        self._source, self._speaker = source, speaker
        self.intents = build_intents(settings)
        self.guard = EchoGuard() if settings.echo.text_guard else None
        self.follow_up = FollowUpWindow(settings.wake.follow_up_s)
        self.hearing = Hearing(settings, self.follow_up.open_at, self._woken)
        self.taps: list[Tap] = [self.hearing.played]
        """Each gets exactly what goes to the speaker; set before `load`."""
        self.on_audible: Callable[[float], None] = lambda moment: None
        """Hears of the first audible sample of every answer, on the sound device's thread."""
        self._settled_since = self._asked_at = 0.0

    # --- life ------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Load and warm every model. Raises ModelMissingError or ModelDataError."""
        sys.setswitchinterval(0.001)  # a stage that waits for the interpreter should not wait 5 ms
        self.models.load()
        self.hearing.load()
        self.phrases = build_phrases(self.settings, self.models.synthesizer)
        self.phrases.prepare(self._fixed_sentences())
        give_back()  # what reading and preparing the models needed
        self._wire()

    def open_devices(self, wait_s: float = 0.0) -> None:
        """Open speaker and source; absent devices are waited for up to `wait_s` seconds. Raises DeviceError."""
        self._speaker.open(wait_s)
        self._source.open(wait_s)

    def close_devices(self) -> None:
        """Close source and speaker; ends an `open_devices` that waits on another thread."""
        self._source.close()
        self._speaker.close()

    def start(self) -> None:
        """Start listening. The devices are open."""
        for stage in reversed(self.stages):
            stage.start()
        self.capture.start()

    def stop(self) -> bool:
        """Stop input, then processing, then output; True if every thread ended within `runtime.stop_deadline_s`."""
        deadline = time.monotonic() + self.settings.runtime.stop_deadline_s
        self.capture.stop()
        ended = {self.capture.name: self.capture.join(0.5)}
        self.ledger.withdraw()
        for stage in self.stages:
            stage.stop()
        for stage in self.stages:
            ended[stage.name] = stage.join(max(0.05, deadline - time.monotonic()))
        self.phrases.close(max(0.05, deadline - time.monotonic()))
        self._speaker.close()
        if late := [name for name, done in ended.items() if not done]:
            log.error("stages that did not end: %s", ", ".join(late))
        else:
            self.models.close()
            self.hearing.close()
        return not late

    # --- the picture -----------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        settings, models, ledger = self.settings, self.models, self.ledger
        live = self._source.live
        self.frames: BoundedQueue[Captured] = BoundedQueue(
            "frames",
            settings.audio.capture_queue_s,
            Overflow.DROP_NEWEST if live else Overflow.BLOCK,
            _captured_seconds,
        )
        self.speech: BoundedQueue[Speech] = BoundedQueue(
            "speech", 10.0, Overflow.DROP_NEWEST if live else Overflow.BLOCK, _speech_seconds
        )
        self.words: BoundedQueue[Words | Feedback] = BoundedQueue("words", 64, Overflow.REPLACE, replaces=newer_partial)
        self.requests: BoundedQueue[Request] = BoundedQueue(
            "requests", 16, Overflow.REPLACE, replaces=lambda new, old: type(new) is type(old)
        )
        self.tokens: BoundedQueue[AnswerText] = BoundedQueue("tokens", settings.llm.lead_tokens, Overflow.BLOCK)
        self.clauses: BoundedQueue[Clause] = BoundedQueue("clauses", 8, Overflow.BLOCK)

        playout = self._speaker.playout
        self.mouth = Mouth(playout, self._tell, self.guard, self._voice_cut)
        playout.listener, playout.tap = self.mouth.on_playout, self._played
        questions = Questions(self.requests)
        self.conversation = build_conversation(
            settings, ledger, self.mouth, questions, self.intents, self.guard, self._event
        )
        silence = WordsAwareSilence(Endpointer(settings.endpoint), ledger, NoNewWords.of(settings.endpoint))
        segmenter = Segmenter(settings.vad, settings.endpoint, SpeechDetector(settings.vad), silence)

        self.capture = Capture(self._source, self.frames, self._source_ended)
        self.listen = ListenStage(
            self.frames,
            self.speech,
            segmenter,
            (self.hearing.echo,),
            self.hearing.gate,
            self._missed,
            on_ended=self.ended.set,
            missed_before=lambda: self._source.missed,
        )
        self.recognise = RecogniseStage(
            self.speech, self.words, models.recognizer, models.second_pass, settings.asr.chunk_ms
        )
        self.recognise.hurry = lambda: self.conversation.state in (State.SPEAKING, State.OVERLAP)
        self.converse = ConverseStage(self.words, self.conversation, self._listening_tone)
        self.generate = GenerateStage(self.requests, self.tokens, models.generator, ledger, self._tell, settings.llm)
        self.generate.threads = self._threads_for_the_model
        self.compose = ComposeStage(
            self.tokens, self.clauses, ledger, self._tell, settings.tts.flush_after_ms / 1000, settings.asr.language
        )
        self.synthesise = SynthesiseStage(self.clauses, self.mouth, self.phrases, ledger, self._tell)
        self.stages: list[Stage[Any]] = [
            self.listen,
            self.recognise,
            self.converse,
            self.generate,
            self.compose,
            self.synthesise,
        ]
        self.queues: list[BoundedQueue[Any]] = [
            self.frames,
            self.speech,
            self.words,
            self.requests,
            self.tokens,
            self.clauses,
        ]

    def _fixed_sentences(self) -> list[str]:
        language = self.settings.asr.language
        sentences = [*phrases(language).values(), *self.intents.fixed_replies()]
        return [spoken for sentence in sentences for spoken in clauses_of(sentence, language)]

    # --- what it is doing ------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """False once nothing has been going on for `SETTLED_S`: nobody speaks, nothing is queued or worked on.

        Ask several times in that span.
        """
        active = (
            # A file at full speed runs ahead of the listening; what waits there may well be speech.
            self.frames.depth > SETTLED_S
            or self.listen.segmenter.open
            or self.conversation.state is not State.IDLE
            or any(len(queue) for queue in self.queues[1:])
            or any(stage.working for stage in self.stages[1:])
        )
        now = time.monotonic()
        if active or now - self._asked_at > SETTLED_S:
            self._settled_since = now  # not asked lately: what was going on just now is unknown
        self._asked_at = now
        return now - self._settled_since < SETTLED_S

    def check(self) -> None:
        """Raise InternalError if a stage has died; for the main thread."""
        for stage in self.stages:
            if stage.failure:
                raise InternalError(f"stage {stage.name}", f"died of {type(stage.failure).__name__}", "see the log")

    @property
    def measured(self) -> tuple[MeasuredStage, ...]:
        """The stages whose real-time factor the governor watches."""
        return (self.listen, self.recognise, self.generate, self.synthesise)

    @property
    def waiting_for(self) -> str:
        """The device it waits for, in words; empty while all are there."""
        return self._speaker.waiting_for or self._source.waiting_for

    # --- steering --------------------------------------------------------------------------------------------------

    def apply(self, quality: Quality) -> None:
        """Work as hard as this level says, from the next piece of work on."""
        log.info("quality: %s", quality.name)
        self.recognise.set_quality(quality.asr_chunk_ms, quality.second_pass)
        self.conversation.attempts = quality.attempts
        self.generate.max_tokens = quality.llm_max_tokens
        self.compose.long = quality.clause_tokens
        self.synthesise.phrases.set_tier(quality.voice_tier)

    def push_to_talk(self) -> None:
        """The talk key was pressed (or, the second time, released); safe in a signal handler."""
        if self.hearing.talk_key is not None:
            self.hearing.talk_key.toggle()

    def stage_died(self, name: str) -> None:
        """A stage died (and will be started again): if it held an answer, the user is told."""
        self._tell(AnswerFailed(self.ledger.generation, name, "the stage died"))

    def _threads_for_the_model(self) -> int:
        others = self.recognise.working or self.synthesise.working
        return self._cores.llm_shared if others else self._cores.llm

    # --- signals ---------------------------------------------------------------------------------------------------

    def _missed(self) -> None:
        self._tell(SoundMissed(time.monotonic()))

    def _woken(self, moment: float) -> None:
        self._tell(Woken(moment))

    def _listening_tone(self) -> None:
        if self.settings.wake.earcons and self.hearing.echo.mode != "half_duplex":
            rate = self.models.synthesizer.sample_rate
            self.mouth.earcon(self.ledger.withdraw(), earcon("listening", rate), rate)

    def _voice_cut(self, moment: float) -> None:
        self.hearing.echo.cut(moment)
        self.follow_up.answer_ended(moment)
        if self.guard:
            self.guard.cut(moment)

    def _played(self, samples: NDArray[np.float32], moment: float, rate: int) -> None:
        for tap in self.taps:
            tap(samples, moment, rate)

    def _tell(self, message: Feedback) -> None:
        if isinstance(message, PlaybackStarted):
            self.follow_up.answer_started()
            self.on_audible(message.time)
        elif isinstance(message, PlaybackEnded):
            self.follow_up.answer_ended(message.time)
        try:
            self.words.put_urgent(message)
        except Closed:
            log.debug("told after the end: %s", type(message).__name__)

    def _source_ended(self, error: EdgeVoiceError | None) -> None:
        self.source_error = error

    def _event(self, name: str, facts: dict[str, object]) -> None:
        log.info("%s", name)
        self._on_event(name, facts)


def _captured_seconds(item: Captured) -> float:
    return len(item.samples) / SAMPLE_RATE if isinstance(item, Frame) else 0.0


def _speech_seconds(message: Speech) -> float:
    return len(message.samples) / SAMPLE_RATE if isinstance(message, SpeechAudio) else 0.0
