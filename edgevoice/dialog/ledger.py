"""The turn ledger: one number that cancels, and one record per turn that measures.

Every attempt to answer gets a new *generation*. Whoever takes a message with an older generation drops it; raising the
number is the only way to cancel. Each turn also records when things happened, on the monotonic clock, so that latency
is read from one place by `bench`, metrics and people.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from edgevoice.dialog.endpoint import UNKNOWN_END, EndEvidence

KEPT_TURNS = 256
"""Finished turns that are kept for statistics; older ones are forgotten."""


class Point(StrEnum):
    """A moment of a turn. Names follow the order in which they normally happen."""

    SPEECH_START = "speech_start"
    FIRST_PARTIAL_AUDIO = "first_partial_audio"
    """Capture time of the last sample that the first partial accounts for."""
    FIRST_PARTIAL = "first_partial"
    SPEECH_END = "speech_end"
    """The last speech sample."""
    FIRST_PASS = "first_pass"
    FINAL_TEXT = "final_text"
    """The transcript that was answered was ready."""
    ENDPOINT = "endpoint"
    """It was decided that the user has finished."""
    ASK = "ask"
    """The language model was asked (for a speculative answer: before the endpoint)."""
    FIRST_TOKEN = "first_token"
    FIRST_CLAUSE = "first_clause"
    FIRST_PCM = "first_pcm"
    LAST_TOKEN = "last_token"
    FIRST_AUDIBLE = "first_audible"
    """The first sample above the threshold of hearing went to the device; leading silence is not counted."""
    END = "end"


INTERVALS: dict[str, tuple[Point, Point]] = {
    "first_partial": (Point.FIRST_PARTIAL_AUDIO, Point.FIRST_PARTIAL),
    "eou": (Point.SPEECH_END, Point.ENDPOINT),
    "asr": (Point.SPEECH_END, Point.FINAL_TEXT),
    "ttft": (Point.ASK, Point.FIRST_TOKEN),
    "first_clause": (Point.FIRST_TOKEN, Point.FIRST_CLAUSE),
    "ttfb": (Point.FIRST_CLAUSE, Point.FIRST_PCM),
    "ttfa": (Point.ASK, Point.FIRST_AUDIBLE),
    "eou_to_ttfa": (Point.ENDPOINT, Point.FIRST_AUDIBLE),
    "e2e": (Point.SPEECH_END, Point.FIRST_AUDIBLE),
}
"""Interval -> (from, to)."""


@dataclass
class TurnRecord:
    """What happened in one turn, and when. Times are monotonic seconds."""

    segment: int
    times: dict[Point, float] = field(default_factory=dict)
    attempts: dict[int, dict[Point, float]] = field(default_factory=dict)
    """Times of each attempt to answer, by generation."""
    facts: dict[str, float | int | str] = field(default_factory=dict)
    """Anything else worth knowing: snr_db, level, level_reason, tokens evaluated and reused, cached …"""
    generation: int = 0
    """The attempt that was committed."""
    first_pass: str = ""
    transcript: str = ""
    partials: list[tuple[str, float]] = field(default_factory=list)
    """(text, seconds after speech start)."""
    reply: str = ""
    """What was heard of the answer."""
    complete: bool = False
    closed: bool = False
    apologies: int = 0
    """How many of the attempts were fixed sentences because another could not be made."""

    @property
    def notice(self) -> bool:
        """Something that the assistant said on its own account: nobody asked, and nobody waited for it."""
        return self.segment < 0

    def time(self, point: Point) -> float | None:
        """When `point` happened in the committed attempt, else in the turn; None if it did not."""
        return self.attempts.get(self.generation, {}).get(point, self.times.get(point))

    def interval(self, name: str) -> float | None:
        """Seconds of one of `INTERVALS`, or None if either end is missing."""
        start, end = (self.time(p) for p in INTERVALS[name])
        return None if start is None or end is None else end - start

    def intervals_ms(self) -> dict[str, float | None]:
        """All intervals in milliseconds, keys `<name>_ms`."""
        found = {name: self.interval(name) for name in INTERVALS}
        return {f"{name}_ms": None if s is None else round(s * 1000, 1) for name, s in found.items()}


class TurnLedger:
    """Generations and records of the turns. Thread-safe."""

    def __init__(self, on_closed: Callable[[TurnRecord], None] | None = None) -> None:
        self.on_closed = on_closed
        self.finished: deque[TurnRecord] = deque(maxlen=KEPT_TURNS)
        self._lock = threading.Lock()
        self._generation = 0
        self._open: OrderedDict[int, TurnRecord] = OrderedDict()
        self._by_generation: OrderedDict[int, TurnRecord] = OrderedDict()
        self._ends: dict[int, EndEvidence] = {}
        self._words_until: tuple[int, float, float] = (-1, 0.0, 0.0)

    @property
    def generation(self) -> int:
        """The number of the attempt in force."""
        return self._generation

    def stale(self, generation: int) -> bool:
        """True if `generation` has been overtaken."""
        return generation != self._generation

    def withdraw(self) -> int:
        """Cancel whatever attempt is in force. The number from now on, which belongs to no attempt (a tone may have it)."""
        with self._lock:
            self._generation += 1
            return self._generation

    def new_attempt(self, segment: int) -> int:
        """Cancel the attempt in force and number a new one for the turn of `segment`."""
        with self._lock:
            self._generation += 1
            record = self._record(segment)
            record.attempts[self._generation] = {}
            self._by_generation[self._generation] = record
            while len(self._by_generation) > KEPT_TURNS:
                self._by_generation.popitem(last=False)
            return self._generation

    def commit(self, generation: int) -> None:
        """This attempt is the answer of its turn."""
        with self._lock:
            if record := self._by_generation.get(generation):
                record.generation = generation

    def mark(self, generation: int, point: Point, moment: float | None = None) -> None:
        """Note when `point` happened in an attempt; only the first time counts."""
        with self._lock:
            if record := self._by_generation.get(generation):
                record.attempts[generation].setdefault(point, time.monotonic() if moment is None else moment)

    def mark_turn(self, segment: int, point: Point, moment: float, last: bool = False) -> None:
        """Note when `point` happened in the turn of `segment`; the first time counts, or with `last` the last."""
        with self._lock:
            times = self._record(segment).times
            if last or point not in times:
                times[point] = moment

    def note(self, generation: int, **facts: float | int | str) -> None:
        """Add facts to the record of an attempt's turn."""
        with self._lock:
            if record := self._by_generation.get(generation):
                record.facts.update(facts)

    def record(self, segment: int) -> TurnRecord:
        """The open record of `segment`'s turn."""
        with self._lock:
            return self._record(segment)

    def record_of(self, generation: int) -> TurnRecord | None:
        """The record of an attempt's turn, if still known."""
        return self._by_generation.get(generation)

    def turn_of(self, generation: int) -> int:
        """The number of an attempt's turn (its segment); 0 if it is unknown or nobody's (a notice)."""
        record = self._by_generation.get(generation)
        return max(0, record.segment) if record else 0

    def close(self, record: TurnRecord, moment: float) -> None:
        """The turn is over; its record is final and goes to `on_closed`. Closing twice is harmless."""
        with self._lock:
            if record.closed:
                return
            record.closed = True
            record.attempts.get(record.generation, record.times).setdefault(Point.END, moment)
            self._open.pop(record.segment, None)
            self._ends.pop(record.segment, None)
            self.finished.append(record)
        if self.on_closed:
            self.on_closed(record)

    def drop(self, segment: int) -> None:
        """Forget a segment that became no turn (a cough, silence)."""
        with self._lock:
            self._open.pop(segment, None)
            self._ends.pop(segment, None)

    def note_end(self, segment: int, *, words: float | None = None, sound: float | None = None) -> None:
        """The language model thinks that the words are complete, or the recogniser that it sounds like an end, with this
        probability in [0, 1]. None says nothing."""
        with self._lock:
            if segment in self._open:
                known = self._ends.get(segment, UNKNOWN_END)
                self._ends[segment] = EndEvidence(
                    known.words if words is None else words, known.sound if sound is None else sound
                )

    def end_evidence(self, segment: int) -> EndEvidence:
        """What is known about whether `segment` is over."""
        return self._ends.get(segment, UNKNOWN_END)

    def forget_end(self, segment: int) -> None:
        """Speech went on: what was known about its end is void."""
        with self._lock:
            self._ends.pop(segment, None)

    def note_words_end(self, segment: int, ended: float, heard: float) -> None:
        """Of the `heard` seconds of `segment` that were recognised so far, the last sound of speech ended at `ended`."""
        self._words_until = (segment, ended, heard)

    def words_end(self, segment: int) -> tuple[float, float] | None:
        """The latest (ended, heard) of `segment`; None while no word is known."""
        known, ended, heard = self._words_until
        return (ended, heard) if known == segment else None

    def _record(self, segment: int) -> TurnRecord:
        if segment not in self._open:
            self._open[segment] = TurnRecord(segment)
            while len(self._open) > KEPT_TURNS:
                self._open.popitem(last=False)
        return self._open[segment]
