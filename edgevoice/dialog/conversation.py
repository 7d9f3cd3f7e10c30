"""The conversation: decides, from what is heard and what is audible, when to answer, wait, pause, stop or go on.

Pure logic on the turn ledger: no threads, no sound. It is told what happened (the `on_…` methods and `tick`) and acts
through two ports, `Voice` and `Brain`. One thread uses it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from edgevoice.asr.recognizer import Partial, Transcript
from edgevoice.dialog.ledger import Point, TurnLedger, TurnRecord
from edgevoice.dialog.rules.false_interruption import FalseInterruptionRule
from edgevoice.dialog.rules.loudness import Loudness, TooLoudTooQuiet
from edgevoice.dialog.states import TRANSITIONS, Event, State
from edgevoice.llm.generator import Exchange
from edgevoice.messages import (
    REDUCED,
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

log = logging.getLogger(__name__)

DOUBTED = 0.4
"""What is left of the first pass's confidence over the answer when the second pass has read something else."""
MISSED_EVERY_S = 60.0
"""Seconds between two spoken notes that sound was lost."""


class Voice(Protocol):
    """The assistant's mouth, as the conversation sees it."""

    def release(self, generation: int) -> None:
        """Let the (so far held) sound of this answer be heard."""

    def pause(self) -> None:
        """Fall silent, keeping the place."""

    def resume(self) -> None:
        """Go on from the same sample."""

    def cut(self) -> str:
        """Fall silent for good; the text of the answer that was audible."""


class Brain(Protocol):
    """Where questions go."""

    def prefill(self, request: Prefill) -> None:
        """Prepare for these words; may be dropped."""

    def ask(self, request: Ask) -> None:
        """Answer these words."""


class OverlapRules(Protocol):
    """What counts as an interruption."""

    def interrupts(
        self, text: str, final: bool, confidence: float = 0.0, first_pass: str = "", read: bool = True
    ) -> bool:
        """True if these words, heard over the answer, are meant to stop it.

        Confidence 0: they are still coming. `read`: all of it has been read at a pause, as well as it can be.
        """

    def own(self, text: str) -> str:
        """The user's share of these words: what is left without an echo of the answer."""

    def pauses(self, text: str, phones: int = 0, heard_s: float = 0.0) -> bool:
        """True if these words, or so many phones in the first `heard_s`, are reason to fall silent until it is clear."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    generation: int
    segment: int
    words: str


class Conversation:
    """The state machine. `plain` turns a transcript into the bare words that are compared and given to the model."""

    def __init__(
        self,
        ledger: TurnLedger,
        voice: Voice,
        brain: Brain,
        rules: OverlapRules,
        plain: Callable[[str], str],
        dialog: DialogSettings,
        endpoint: EndpointSettings,
        on_event: Callable[[str, dict[str, object]], None] = lambda name, facts: None,
        intent: Callable[[str, tuple[Exchange, ...]], str | None] = lambda words, history: None,
        template: Callable[[str], str] = lambda reason: "",
    ) -> None:
        self.state = State.IDLE
        self.attempts = endpoint.max_attempts if dialog.speculate else 0
        """Answers of the model begun before the endpoint, for each turn; the quality governor lowers it."""
        self.history: tuple[Exchange, ...] = ()
        self._ledger, self._voice, self._brain, self._rules, self._plain = ledger, voice, brain, rules, plain
        self._dialog, self._endpoint = dialog, endpoint
        self._on_event, self._intent, self._template = on_event, intent, template
        self._segment: int | None = None
        self._attempt: _Attempt | None = None
        self._begun = 0
        """Speculative answers begun for the segment."""
        self._answering: _Attempt | None = None
        self._waiting_words = ""
        """The user's words whose answer was withdrawn before any of it was heard: the next words are added to them."""
        self._pause = FalseInterruptionRule(dialog.resume_after_s)
        self._spoke_until = float("-inf")
        """When the last answer's sound ended by itself."""
        self._prefilled = ""
        self._apologised = False
        self._told_missed = -MISSED_EVERY_S
        self._loudness = TooLoudTooQuiet()
        self._advice = ""
        """A sentence about the user's loudness or lost sound, to be said when nobody speaks."""

    def turn_of(self, generation: int) -> int:
        """The number of the turn that an attempt belongs to; 0 if unknown."""
        return self._ledger.turn_of(generation)

    # --- heard -----------------------------------------------------------------------------------------------------

    def on_started(self, message: SegmentStarted) -> None:
        """Speech, or something like it, has started."""
        self._segment = message.segment
        self._prefilled, self._begun = "", 0
        self._pause.segment_started()
        self._ledger.mark_turn(message.segment, Point.SPEECH_START, message.time)
        if self._go(Event.SPEECH) and self.state is State.LISTENING:
            self._attempt = None

    def on_words(self, message: WordsHeard) -> None:
        """Words of a segment that goes on."""
        if message.segment != self._segment:
            return
        record, text = self._ledger.record(message.segment), message.partial.text
        if message.partial.ended is not None:
            self._ledger.note_words_end(message.segment, message.partial.ended, message.partial.heard)
        if text:
            if not record.partials:
                begun = record.times.get(Point.SPEECH_START, message.time)
                self._ledger.mark_turn(message.segment, Point.FIRST_PARTIAL, message.time)
                self._ledger.mark_turn(
                    message.segment, Point.FIRST_PARTIAL_AUDIO, min(message.time, begun + message.partial.heard)
                )
            if not record.partials or record.partials[-1][0] != text:
                record.partials.append((text, message.time - record.times.get(Point.SPEECH_START, message.time)))
        if self.state in (State.OVERLAP, State.THINKING):
            # Nothing is audible yet while it thinks: what was said and what is being said are one turn, soon found out.
            self._consider_interruption(text, message.time, False, read=self.state is State.THINKING)
            self._consider_pause(message.partial, message.time)
        if self.state is State.LISTENING:
            self._go(Event.WORDS)
            stable = self._plain(message.partial.stable)
            if stable and stable != self._prefilled:
                self._prefilled = stable
                self._brain.prefill(Prefill(message.segment, self._with_waiting(stable), self.history))

    def on_resumed(self, segment: int) -> None:
        """The speaker goes on: the speculative answer is withdrawn."""
        if segment != self._segment or not self._go(Event.RESUME):
            return
        self._ledger.forget_end(segment)
        if self._attempt:
            self._ledger.withdraw()
            self._attempt = None

    def on_heard(self, message: SegmentHeard) -> None:
        """A full transcript, at a pause or at the end of the segment."""
        if message.segment != self._segment:
            return
        record, words = self._ledger.record(message.segment), self._plain(message.transcript.text)
        self._ledger.note_end(message.segment, sound=message.first_pass.ended)
        if self.state is State.LISTENING and words and self._outlasted(record, words, message.first_pass):
            if message.final:
                self._nothing(message.segment, "no_match")
            return
        # One attempt is kept for what the second pass will say, and one for a silence that looks like the end.
        if message.tentative:
            self._speculate(message.segment, words, self.attempts - 2)
            return
        if message.settled:
            self._speculate(message.segment, words, self.attempts)
            return
        record.first_pass, record.transcript = message.first_pass.text, message.transcript.text
        self._ledger.mark_turn(message.segment, Point.FINAL_TEXT, message.ready, last=not message.final)
        self._ledger.mark_turn(message.segment, Point.SPEECH_END, message.speech_end, last=True)
        if message.final:
            self._ledger.mark_turn(message.segment, Point.ENDPOINT, message.endpoint)
            if message.snr_db is not None:
                record.facts["snr_db"] = round(message.snr_db, 1)
            if words:
                self._judge_loudness(message.level_dbfs, message.clipped_share)
        sure = message.final or message.transcript is not message.first_pass or self.state is State.THINKING
        if self.state in (State.OVERLAP, State.THINKING) and not self._consider_interruption(
            words, message.ready, message.final, self._confirmed(message), sure
        ):
            if not message.final:
                self._reconsider_pause(words, message.ready)
            else:
                # Words that are neither a back-channel nor enough to stop for: doubtful, short, or its own echo.
                doubtful = "no_match" if self._rules.pauses(words) else "backchannel"
                self._nothing(message.segment, doubtful if words else "no_words")
            return
        if self.state is not State.LISTENING:
            return
        if message.final:
            self._segment_ended(message.segment, words, message.reason)
        else:
            self._speculate(message.segment, words, self.attempts - 1)

    # --- audible ---------------------------------------------------------------------------------------------------

    def on_playback_started(self, message: PlaybackStarted) -> None:
        """The first audible sample of an answer went out."""
        if self._answering and message.generation == self._answering.generation and self._go(Event.AUDIBLE):
            self._waiting_words = ""
            self._ledger.mark(message.generation, Point.FIRST_AUDIBLE, message.time)
            if self._segment is not None and self._segment != self._answering.segment:
                self._go(Event.SPEECH)  # the user's sound began while the answer was still being made

    def on_playback_ended(self, message: PlaybackEnded) -> None:
        """The answer's sound has left the device."""
        if not self._answering or message.generation != self._answering.generation or not self._go(Event.ENDED):
            return
        self._pause.over()
        self._spoke_until = message.time
        self._finish(message.heard, True, message.time)
        self._say_advice()

    def on_failed(self, message: AnswerFailed, now: float) -> None:
        """A stage could not answer: say so once; if that fails too, give up quietly."""
        if self._ledger.stale(message.generation) or not (self._answering or self._attempt):
            return
        self._on_event("answer_failed", {"stage": message.stage, "reason": message.reason})
        if self._answering is None:
            # Nobody waits for it yet: the endpoint makes a new attempt instead of waiting for this one for ever.
            self._ledger.withdraw()
            self._attempt = None
            return
        reduced = message.reason == REDUCED  # a choice, not a failure
        self._ledger.note(message.generation, **({"reduced": 1} if reduced else {"failed": message.stage}))
        apology = self._template("reduced" if reduced else "failed")
        if self._apologised or not apology or message.stage == "synthesise":
            self._fall_silent(now)
            self._go(Event.ENDED)
            if self._segment is not None:
                self._go(Event.SPEECH)  # the user has been speaking while the answer was in the making
            return
        self._go(Event.FAILED)
        self._pause.over()  # the new answer is not held up by what was heard over the old one
        self._apologised = True
        answering = self._answering
        if record := self._ledger.record_of(answering.generation):
            record.apologies += 1
        self._start(answering.segment, answering.words, apology, committed=True)

    def tick(self, now: float) -> None:
        """Called every 100 ms or so: goes on speaking when nothing came of an interruption."""
        if self.state is State.OVERLAP and self._pause.due(now):
            self._go(Event.FALSE_ALARM)
            self._voice.resume()
            self._on_event("false_interruption", {})

    def on_woken(self, now: float) -> None:
        """The wake word: stop whatever is going on; the words after it are a segment of their own."""
        self._on_event("wake", {})
        if self.state is not State.IDLE:
            self._fall_silent(now)
            self._segment = self._attempt = None
            self._go(Event.WAKE)

    def on_missed(self, now: float) -> None:
        """Sound was lost: tell the user, once a minute at most, and after their words if they are speaking."""
        self._on_event("missed_sound", {})
        sentence = self._template("missed")
        if sentence and now - self._told_missed >= MISSED_EVERY_S:
            self._told_missed, self._advice = now, sentence
            self._say_advice()

    # --- decisions -------------------------------------------------------------------------------------------------

    def _consider_interruption(
        self, text: str, now: float, final: bool, first: Transcript | None = None, read: bool = False
    ) -> bool:
        """Interrupt if the rules say so; `first`: the first pass's transcript; `read`: nothing else can be read there."""
        if not text or self._segment is None or (self._answering and self._segment == self._answering.segment):
            return False
        if self._interrupts(text, final, first, read):
            self._interrupt(now)
            return True
        return False

    def _confirmed(self, message: SegmentHeard) -> Transcript:
        """The first pass's transcript: beyond doubt if the second pass has read the same words, doubtful if others."""
        first, second = message.first_pass, message.transcript
        if message.doubted:
            return replace(first, confidence=first.confidence * DOUBTED)
        same = second is not first and self._plain(second.text) == self._plain(first.text)
        return replace(first, confidence=1.0) if same else first

    def _interrupts(self, text: str, final: bool, first: Transcript | None, read: bool = True) -> bool:
        facts = (first.confidence, first.text) if first else (0.0, "")
        # What came to nothing (a word of the television) must not hide the "stop" behind it.
        since = " ".join(text.split()[self._pause.dismissed or 0 :])
        return any(
            self._rules.interrupts(words, final, *facts, read=read) for words in dict.fromkeys((text, since)) if words
        )

    def _outlasted(self, record: TurnRecord, words: str, first: Transcript) -> bool:
        """True if these words merely outlasted the answer: its echo, or what had come to nothing and nothing new."""
        began = record.times.get(Point.SPEECH_START, self._spoke_until)
        echo = began < self._spoke_until and not self._rules.own(words)
        return echo or (bool(self._pause.dismissed) and not self._interrupts(words, True, first))

    def _consider_pause(self, heard: Partial, now: float) -> None:
        """Perhaps fall silent for a moment, or stay so."""
        dismissed, count = self._pause.dismissed, len(heard.text.split())
        if self.state is not State.OVERLAP or (heard.text and count <= (dismissed or 0)):
            return
        if self._rules.pauses(heard.text, heard.phones if dismissed is None else 0, heard.heard):
            if not self._pause.paused:
                self._voice.pause()
            self._pause.pause(now, count)

    def _reconsider_pause(self, words: str, now: float) -> None:
        """All that was said so far has been read: fall silent for these words, or go on at once if there are none."""
        if self._rules.pauses(words):
            self._consider_pause(Partial(words, "", 0.0), now)
        elif self.state is State.OVERLAP:
            self._resume()
            self._pause.dismiss()

    def _interrupt(self, now: float) -> None:
        was_audible = self.state is State.OVERLAP
        self._go(Event.INTERRUPT)
        heard = self._voice.cut()
        self._ledger.withdraw()
        self._pause.interrupted()
        answered = self._answering
        if was_audible and heard:
            self._on_event("barge_in", {})
            self._finish(heard, False, now)
        elif answered:
            # Nothing of the answer was heard: what was asked and what is being said now are one turn of the user.
            self._waiting_words = answered.words
            if record := self._ledger.record_of(answered.generation):
                record.facts["merged"] = 1
                self._ledger.close(record, now)
            self._answering = None
        self._attempt = None

    def _speculate(self, segment: int, words: str, most: int) -> None:
        """Begin an answer to these words, unless the model has been asked `most` times in this segment."""
        if not words or not self._dialog.speculate or self.state is not State.LISTENING:
            return
        words = self._with_waiting(words)
        if self._attempt and self._attempt.words == words:
            return
        reply = self._intent(words, self.history) or ""
        if reply or self._begun < most:
            self._begun += not reply  # an intent's reply costs nothing
            self._go(Event.PAUSE)
            self._attempt = self._start(segment, words, reply, committed=False)

    def _segment_ended(self, segment: int, words: str, reason: str) -> None:
        if not words and not self._waiting_words:
            self._nothing(segment, "no_input")
            return
        if reason in ("too_long", "no_new_words"):
            self._on_event(reason, {})
        self._go(Event.REQUEST)
        self._segment = None
        self._apologised = False
        words = self._with_waiting(words)
        attempt = self._attempt
        if attempt is None or attempt.words != words or self._ledger.stale(attempt.generation):
            attempt = self._start(segment, words, self._intent(words, self.history) or "", committed=True)
        else:
            self._ledger.note(attempt.generation, speculative=1)
            self._commit(attempt)
        self._attempt = None

    def _judge_loudness(self, level_dbfs: float, clipped_share: float) -> None:
        """Too loud or too quiet is told once, after the answer, when it keeps happening."""
        kind = self._loudness.judge(level_dbfs, clipped_share)
        if kind is not Loudness.FINE:
            self._on_event(kind, {})
        if self._loudness.advise:
            self._advice = self._template(kind)

    def _nothing(self, segment: int, why: str) -> None:
        self._on_event(why, {})
        self._segment = None
        self._ledger.drop(segment)
        if self._attempt:
            self._ledger.withdraw()
            self._attempt = None
        was_overlap = self.state is State.OVERLAP
        self._go(Event.NOTHING)
        if was_overlap:
            self._resume()
        self._say_advice()

    def _say_advice(self) -> None:
        if self._advice and self._go(Event.SAY):
            advice, self._advice = self._advice, ""
            self._start(-1, "", advice, committed=True)

    # --- helpers ---------------------------------------------------------------------------------------------------

    def _start(self, segment: int, words: str, fixed_reply: str, committed: bool) -> _Attempt:
        attempt = _Attempt(self._ledger.new_attempt(segment), segment, words)
        if committed:
            self._commit(attempt)
        self._brain.ask(Ask(attempt.generation, segment, words, self.history, fixed_reply))
        return attempt

    def _commit(self, attempt: _Attempt) -> None:
        self._answering = attempt
        self._ledger.commit(attempt.generation)
        self._voice.release(attempt.generation)

    def _finish(self, heard: str, complete: bool, now: float) -> None:
        answered, self._answering = self._answering, None
        if answered is None:
            return
        if heard and answered.words:
            self.history = self._trimmed((*self.history, Exchange(answered.words, heard, interrupted=not complete)))
        record: TurnRecord | None = self._ledger.record_of(answered.generation)
        if record:
            record.reply, record.complete = heard, complete
            self._ledger.close(record, now)

    def _fall_silent(self, now: float) -> None:
        """Nothing more of the answer is made or heard, and no words wait for another."""
        was_audible = self.state in (State.SPEAKING, State.OVERLAP)
        heard = self._voice.cut()
        self._ledger.withdraw()
        self._pause.over()
        self._waiting_words = ""
        self._finish(heard if was_audible else "", False, now)

    def _resume(self) -> None:
        if self._pause.paused:
            self._pause.over()
            self._voice.resume()

    def _with_waiting(self, words: str) -> str:
        return f"{self._waiting_words} {words}".strip()

    def _trimmed(self, history: tuple[Exchange, ...]) -> tuple[Exchange, ...]:
        # Dropping the older half at once keeps the prompt's prefix (and its KV cache) unchanged for many turns.
        most = self._dialog.history_pairs
        return history if len(history) <= most else history[len(history) - most // 2 :] if most else ()

    def _go(self, event: Event) -> bool:
        following = TRANSITIONS.get((self.state, event))
        if following is None:
            return False
        if following is not self.state:
            log.debug("%s --%s--> %s", self.state, event, following)
        self.state = following
        return True
