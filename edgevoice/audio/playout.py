"""The playout buffer: what the speaker's callback pulls from. Knows generations, pauses and cuts; knows no device.

Written by the playback stage, read by the device's callback (or by a file writer with its own clock). Per answer it
keeps the order: queued -> (held ->) sounding -> drained, or cut. Once an answer is cut not one more sample of it goes
out; whoever still writes to it writes into the void. Where sound begins or stops, a 5 ms ramp avoids the click: a stop
fades the *last sample value* out, so it holds no sound of the old answer.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgevoice.audio.answer import AUDIBLE, Answer, Played
from edgevoice.audio.pace import VoicePace
from edgevoice.settings import AudioSettings
from edgevoice.tts.synthesizer import SpokenWord

FADE_S = 0.005
"""Seconds of the ramps where sound begins or stops."""
IDLE_S = 1.0
"""Seconds without sound after which a sink may have fallen asleep, and the lead-in is played again."""
REPORTS_KEPT = 16
"""Past answers whose reports can still be asked for."""

Tap = Callable[[NDArray[np.float32], float, int], None]
"""Gets exactly what goes to the device: mono float32 samples, monotonic time of the first one, rate in Hz."""


@dataclass(frozen=True, slots=True)
class SoundStarted:
    """The first audible sample of an answer leaves the device at `time`."""

    generation: int
    time: float


@dataclass(frozen=True, slots=True)
class SoundEnded:
    """The last sample of an answer has left the device at `played.ended`."""

    generation: int
    played: Played


PlayoutEvent = SoundStarted | SoundEnded


class Playout:
    """Swap-able buffer of answers at the device's `rate` (0: not known yet).

    `listener` is called from the pulling thread and must return at once (put the event into a queue).
    """

    def __init__(
        self,
        rate: int = 0,
        lead_in_ms: int = 0,
        cushion_ms: int = 200,
        max_ahead_s: float = 2.0,
        listener: Callable[[PlayoutEvent], None] = lambda event: None,
        tap: Tap | None = None,
    ) -> None:
        self.rate, self.listener, self.tap = 0, listener, tap
        self.pace = VoicePace()
        self.underruns = 0
        """Gaps inside answers since the start."""
        self.padding = 0
        """Device samples of lead-in silence since the start."""
        self._lead_in_ms, self._cushion_ms, self._max_ahead_s = lead_in_ms, cushion_ms, max_ahead_s
        self._lock = threading.Condition()
        self._answers: OrderedDict[int, Answer] = OrderedDict()
        self._cut_up_to = -1
        self._paused = False
        self._due: list[SoundEnded] = []
        self._ramp = np.zeros(0, np.float32)
        self._fade_in_left = 0
        self._tail = np.zeros(0, np.float32)
        self._sounding = False
        self._last = 0.0
        self._lead_left = 0
        self._silent_since = float("-inf")
        if rate:
            self.use_rate(rate)

    @classmethod
    def of(cls, settings: AudioSettings) -> Playout:
        """A playout as the settings say; its rate comes with `use_rate`, or with the first sound."""
        return cls(0, settings.lead_in_ms, settings.playout_buffer_ms, settings.pcm_queue_s)

    def use_rate(self, rate: int) -> None:
        """Set the device's rate in Hz; once, before any sound."""
        self.rate = rate
        self._lead_in, self._cushion = rate * self._lead_in_ms // 1000, rate * self._cushion_ms // 1000
        self._max_ahead, self._fade = round(rate * self._max_ahead_s), round(rate * FADE_S)
        self._ramp = np.linspace(0.0, 1.0, self._fade + 2, dtype=np.float32)[1:-1]

    # --- written by the playback stage -------------------------------------------------------------------------------

    def begin(self, generation: int, held: bool = False) -> bool:
        """Announce an answer; `held`: queued but not audible until `release`. False if it is cut already."""
        with self._lock:
            if generation <= self._cut_up_to:
                return False
            if generation not in self._answers:
                self._answers[generation] = Answer(generation, held)
                self._forget_old()
            return True

    def play(
        self,
        generation: int,
        samples: NDArray[np.int16],
        rate: int,
        clause: int = 0,
        words: Sequence[SpokenWord] = (),
    ) -> bool:
        """Queue mono int16 samples at `rate` Hz. False: the answer was cut, the sound went into the void.

        One thread writes an answer. `words` (with a clause's first chunk) tell where a gap would not hurt.
        """
        if not self.begin(generation):
            return False
        answer = self._answers.get(generation)
        if answer is None or answer.finished:
            return False
        if not self.rate:
            self.use_rate(rate)
        self.pace.arrived(generation, clause, len(samples) / rate, time.monotonic())
        with self._lock:
            answer.begin_clause(clause, words, rate, self.rate)
        block = answer.resample(samples)
        with self._lock:
            if generation <= self._cut_up_to:
                return False
            answer.append(block)
            return True

    def end_clause(self, generation: int) -> None:
        """The clause being written is complete: it may begin even while the voice is slow."""
        with self._lock:
            if answer := self._answers.get(generation):
                answer.clause_complete = True

    def finish(self, generation: int) -> None:
        """No more sound follows in this answer; it ends when it is drained."""
        with self._lock:
            if (answer := self._answers.get(generation)) and not answer.finished:
                if answer.resampler is not None:
                    answer.append(answer.resampler.finish())
                answer.finished = answer.clause_complete = True

    def release(self, generation: int) -> None:
        """Let a held answer sound."""
        with self._lock:
            if answer := self._answers.get(generation):
                answer.held = False

    def cut(self, generation: int) -> Played | None:
        """Silence this answer and all before it, from the next sample on. The report of this one, if it was known."""
        with self._lock:
            self._cut_up_to = max(self._cut_up_to, generation)
            current = self._current()
            if current is not None and current.generation <= generation:
                self._stop_sounding()
            for answer in self._answers.values():
                if answer.generation <= generation and not answer.done:
                    answer.blocks.clear()
                    answer.breaks.clear()
                    answer.fed = answer.taken
                    answer.finished = True
            self._due = [event for event in self._due if event.generation > generation]
            self._paused = False
            self._lock.notify_all()
            cut = self._answers.get(generation)
            return cut.report() if cut else None

    def pause(self) -> None:
        """Fall silent from the next sample on; nothing is lost."""
        with self._lock:
            if not self._paused:
                self._paused = True
                self._stop_sounding()

    def resume(self) -> None:
        """Go on with the very sample `pause` stopped at."""
        with self._lock:
            self._paused = False

    def wait_room(self, generation: int, timeout: float) -> bool:
        """Wait until less than `max_ahead_s` seconds are queued; False if it was cut or `timeout` seconds passed."""
        deadline = time.monotonic() + timeout
        with self._lock:
            while generation > self._cut_up_to:
                answer = self._answers.get(generation)
                if answer is None or not self.rate or answer.queued < self._max_ahead:
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._lock.wait(left)
            return False

    def report(self, generation: int) -> Played | None:
        """What became of an answer so far."""
        with self._lock:
            answer = self._answers.get(generation)
            return answer.report() if answer else None

    @property
    def sounding(self) -> bool:
        """True while an answer has sound that is not drained, paused or not (held answers do not count)."""
        with self._lock:
            return self._current() is not None or bool(self._due)

    @property
    def queued_s(self) -> float:
        """Seconds of sound waiting, held answers included."""
        with self._lock:
            return sum(answer.queued for answer in self._answers.values()) / (self.rate or 1)

    def ready(self) -> int:
        """Device samples that can be pulled now without running dry; the closing ramp at the end of an answer."""
        with self._lock:
            answer = self._current()
            if answer is None or self._paused:
                return len(self._tail)
            return answer.queued + self._lead_left if answer.queued else self._fade * answer.finished

    # --- read by the device ------------------------------------------------------------------------------------------

    def pull(self, out: NDArray[np.float32], start: float, now: float) -> None:
        """Fill `out` (mono float32 [n]); its first sample leaves the device at monotonic time `start`, it is `now`."""
        events: list[PlayoutEvent] = []
        with self._lock:
            out[:] = 0.0
            self._fill(out, start, events)
            events += [event for event in self._due if (event.played.ended or 0.0) <= now]
            self._due = [event for event in self._due if (event.played.ended or 0.0) > now]
            self._lock.notify_all()
        if self.tap is not None:
            self.tap(out.copy(), start, self.rate)
        for event in events:
            self.listener(event)

    def _fill(self, out: NDArray[np.float32], start: float, events: list[PlayoutEvent]) -> None:
        at = 0
        while at < len(out):
            when = start + at / self.rate
            if self._lead_left:
                silence = min(self._lead_left, len(out) - at)
                self._lead_left -= silence
                self.padding += silence
                at += silence
                continue
            answer = self._ready(when)
            if answer is None:
                break
            if self._lead_left > 0:
                continue
            piece = answer.take(min(len(out) - at, self._until_break(answer)))
            if answer.first_audible is None and (loud := np.flatnonzero(np.abs(piece) > AUDIBLE)).size:
                answer.first_audible = when + int(loud[0]) / self.rate
                events.append(SoundStarted(answer.generation, answer.first_audible))
            self._emit(out[at : at + len(piece)], piece)
            at += len(piece)
            self._silent_since = start + at / self.rate
            if answer.done:
                self._ended(answer, self._silent_since)
        if at < len(out):
            self._stop_sounding()
        tail = min(len(self._tail), len(out) - at)
        out[at : at + tail] += self._tail[:tail]
        self._tail = self._tail[tail:]

    def _ready(self, when: float) -> Answer | None:
        """The answer whose next sample may sound at `when`, or None for silence."""
        answer = self._current()
        while answer is not None and answer.done:
            self._ended(answer, when)
            answer = self._current()
        if answer is None or self._paused:
            return None
        if not answer.queued:
            if answer.taken and not answer.starving:
                answer.starving = True
                # Silence between two complete clauses is the model thinking, not a device running dry.
                if not answer.clause_complete:
                    answer.underruns += 1
                    self.underruns += 1
            return None
        if not self._may_begin(answer):
            return None
        answer.starving = False
        if not self._sounding:
            if self._lead_in and when - self._silent_since > IDLE_S:
                self._lead_left = self._lead_in
                self._silent_since = when + self._lead_in / self.rate
            self._sounding, self._fade_in_left = True, self._fade
        return answer

    def _may_begin(self, answer: Answer) -> bool:
        """While the voice is slow no unit (word, or clause without word times) begins before all of it is here."""
        complete = answer.finished or answer.clause_complete or answer.queued >= self._max_ahead
        if complete or not (self.pace.slow or answer.starving):
            return True
        at_break = bool(answer.breaks) and answer.breaks[0] <= answer.taken
        if answer.starving and not at_break:
            return answer.queued >= self._cushion
        if not at_break:
            return True
        following = next((b for b in answer.breaks if b > answer.taken), None)
        return following is not None and following <= answer.fed

    def _until_break(self, answer: Answer) -> int:
        """Samples up to the next place where a gap may fall."""
        following = next((b for b in answer.breaks if b > answer.taken), None)
        return following - answer.taken if following is not None and self.pace.slow else answer.queued

    def _emit(self, out: NDArray[np.float32], piece: NDArray[np.float32]) -> None:
        out[:] = piece
        self._last = float(piece[-1])
        if self._fade_in_left:
            rising = min(self._fade_in_left, len(piece))
            first = self._fade - self._fade_in_left
            out[:rising] *= self._ramp[first : first + rising]
            self._last = float(out[-1])
            self._fade_in_left -= rising

    def _stop_sounding(self) -> None:
        if self._sounding:
            self._sounding = False
            self._tail, self._last = (self._last * self._ramp[::-1]).astype(np.float32), 0.0
            self._fade_in_left = self._lead_left = 0

    def _ended(self, answer: Answer, when: float) -> None:
        if answer.ended is None:
            answer.ended = when
            self._due.append(SoundEnded(answer.generation, answer.report()))

    def _current(self) -> Answer | None:
        for answer in self._answers.values():
            if answer.generation > self._cut_up_to and not answer.held and answer.ended is None:
                return answer
        return None

    def _forget_old(self) -> None:
        while len(self._answers) > REPORTS_KEPT:
            self._answers.popitem(last=False)
