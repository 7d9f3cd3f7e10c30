"""The assistant's mouth: joins voice, playout buffer and conversation, and knows what was heard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgevoice.audio.echo_guard import EchoGuard
from edgevoice.audio.playout import Playout, PlayoutEvent, SoundStarted
from edgevoice.dialog.heard import HeardTracker
from edgevoice.messages import PlaybackEnded, PlaybackStarted
from edgevoice.tts.synthesizer import PcmChunk


class Mouth:
    """Sound of an attempt is held until the conversation releases it. Thread-safe.

    `feedback` is called from the sound device's thread and must not block. `guard` is told what is said and when;
    `on_cut` hears of the moment at which the voice was cut off.
    """

    def __init__(
        self,
        playout: Playout,
        feedback: Callable[[PlaybackStarted | PlaybackEnded], None],
        guard: EchoGuard | None = None,
        on_cut: Callable[[float], None] = lambda time: None,
    ) -> None:
        self.playout = playout
        self._guard, self._on_cut = guard, on_cut
        self._began: dict[int, float] = {}
        self._feedback = feedback
        self._lock = threading.Lock()
        self._released = -1
        self._clauses = 0
        self._writing = -1
        self._trackers: dict[int, HeardTracker] = {}
        self._paused_at: float | None = None

    # --- conversation ----------------------------------------------------------------------------------------------

    def release(self, generation: int) -> None:
        """Let the sound of this answer be heard; older ones are thrown away."""
        with self._lock:
            self._released = generation
            self._paused_at = None
            self._forget_before(generation)
        self.playout.cut(generation - 1)
        self.playout.release(generation)

    def pause(self) -> None:
        """Fall silent, keeping the place."""
        self._paused_at = time.monotonic()
        self.playout.pause()

    def resume(self) -> None:
        """Go on from the same sample."""
        self.playout.resume()
        since, self._paused_at = self._paused_at, None
        if since is None:
            return
        # What was announced for later is now said that much later.
        late = time.monotonic() - since
        with self._lock:
            self._began = {generation: began + late for generation, began in self._began.items()}
        if self._guard:
            self._guard.delay(since, late)

    def cut(self) -> str:
        """Fall silent for good. The text of the released answer that was audible."""
        with self._lock:
            generation, tracker = self._released, self._trackers.get(self._released)
        played = self.playout.cut(generation)
        self._paused_at = None
        self._on_cut(time.monotonic())
        return tracker.text_at(played.samples) if played and tracker else ""

    def earcon(self, generation: int, samples: NDArray[np.int16], rate: int) -> None:
        """Play a tone under a generation of its own. It is no answer: nobody is told of its beginning and end."""
        if self.playout.play(generation, samples, rate):
            self.playout.finish(generation)

    # --- synthesise stage ------------------------------------------------------------------------------------------

    def begin_clause(self, generation: int, text: str) -> None:
        """The sound that follows speaks `text`."""
        with self._lock:
            self._begin(generation).begin_clause(text)
            self._clauses += 1

    def play(self, generation: int, chunk: PcmChunk, timeout: float) -> bool:
        """Queue sound; waits up to `timeout` seconds for room. True if it was taken."""
        if not self.playout.wait_room(generation, timeout):
            return False
        with self._lock:
            tracker, clause = self._trackers.get(generation), self._clauses
            if tracker:
                tracker.update_words(chunk.words)
        if self.playout.play(generation, chunk.samples, chunk.rate, clause, chunk.words) and tracker:
            tracker.add_samples(len(chunk.samples), chunk.rate)
            self._tell_guard(generation, tracker)
        return True

    def end_clause(self, generation: int) -> None:
        """The clause is complete."""
        with self._lock:
            tracker = self._trackers.get(generation)
            if tracker:
                tracker.end_clause()
        if tracker:
            self._tell_guard(generation, tracker)
        self.playout.end_clause(generation)

    def finish(self, generation: int) -> None:
        """The answer's sound is complete."""
        with self._lock:
            self._begin(generation)
        self.playout.finish(generation)

    # --- sound device ----------------------------------------------------------------------------------------------

    def on_playout(self, event: PlayoutEvent) -> None:
        """The playout buffer's listener."""
        with self._lock:
            tracker = self._trackers.get(event.generation)
            if tracker is None:
                return  # a tone
            if isinstance(event, SoundStarted):
                self._began[event.generation] = event.time
        if isinstance(event, SoundStarted):
            self._tell_guard(event.generation, tracker)
            self._feedback(PlaybackStarted(event.generation, event.time))
            return
        self._feedback(PlaybackEnded(event.generation, tracker.full_text, event.played.ended or 0.0))

    def _tell_guard(self, generation: int, tracker: HeardTracker) -> None:
        began = self._began.get(generation)
        if self._guard is None or began is None:
            return
        with self._lock:
            fresh = tracker.untold()
        for text, start_s, end_s in fresh:
            self._guard.said(text, began + start_s, began + end_s)

    def _begin(self, generation: int) -> HeardTracker:
        if generation != self._writing:
            self._writing, self._clauses = generation, -1
            self._trackers[generation] = HeardTracker()
            self._forget_before(min(generation, self._released))
            self.playout.begin(generation, held=generation != self._released)
        # A newer answer may have been released in the middle of this one: what is still written goes into the void.
        return self._trackers.get(generation) or HeardTracker()

    def _forget_before(self, generation: int) -> None:
        for old in [g for g in self._trackers if g < generation]:
            del self._trackers[old]
            self._began.pop(old, None)
