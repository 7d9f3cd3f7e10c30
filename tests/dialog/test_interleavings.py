"""Random interleavings of everything that can happen to a conversation; the invariants hold after every step."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.dialog.world import World

TEXTS = st.sampled_from(["", "yeah", "stop", "what time is it", "mm-hmm", "turn it off", "no wait", "paris"])


class Interleavings(RuleBasedStateMachine):
    """Events may come late, twice, or for generations that are long gone (A13)."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(history_pairs=6)
        self.unanswered: str | None = None

    @rule()
    def speech(self) -> None:
        self.world.starts()

    @rule(text=TEXTS)
    def words(self, text: str) -> None:
        self.world.words(text, text)

    @rule(text=TEXTS, attempt=st.integers(1, 5))
    def pause(self, text: str, attempt: int) -> None:
        self.world.heard(text, final=False, attempt=attempt)

    @rule()
    def resumed(self) -> None:
        self.world.conversation.on_resumed(self.world.segment)

    @rule(text=TEXTS)
    def final(self, text: str) -> None:
        asked = len(self.world.brain.asked)
        conversation = self.world.conversation
        listening = self.world.state == "listening" and conversation._segment == self.world.segment
        listening = listening and not conversation._pause.dismissed  # its words may have come to nothing
        self.world.heard(text)
        if listening and text:
            # No lost user turn: it is asked now, or its speculative answer was already asked and is released.
            latest = self.world.brain.asked[-1]
            assert text in latest.words and not self.world.ledger.stale(latest.generation)
            assert len(self.world.brain.asked) > asked or self.world.voice.released[-1] == latest.generation

    @rule(age=st.integers(0, 3), heard=st.sampled_from(["", "Paris.", "It is noon."]))
    def ended(self, age: int, heard: str) -> None:
        self.world.ended(heard, max(1, self.world.ledger.generation - age))

    @rule(age=st.integers(0, 3))
    def audible(self, age: int) -> None:
        self.world.audible(max(1, self.world.ledger.generation - age))

    @rule(stage=st.sampled_from(["generate", "synthesise"]))
    def failed(self, stage: str) -> None:
        self.world.failed(stage)

    @rule(seconds=st.floats(0, 5))
    def time_passes(self, seconds: float) -> None:
        self.world.time += seconds
        self.world.conversation.tick(self.world.time)

    @invariant()
    def every_exchange_has_both_sides(self) -> None:
        assert all(e.user and e.assistant for e in self.world.conversation.history)

    @invariant()
    def only_the_newest_attempt_is_ever_released(self) -> None:
        released = self.world.voice.released
        assert released == sorted(set(released)) and (not released or released[-1] <= self.world.ledger.generation)

    @invariant()
    def the_voice_is_never_left_paused_outside_of_an_overlap(self) -> None:
        pauses = [c for c in self.world.voice.calls if c in ("pause", "resume", "cut", "release")]
        if pauses and pauses[-1] == "pause":
            assert self.world.state == "overlap" and self.world.conversation._pause.paused

    @invariant()
    def memory_is_bounded(self) -> None:
        assert len(self.world.conversation.history) <= 6
        assert len(self.world.ledger._by_generation) <= 256 and len(self.world.ledger._open) <= 256

    @precondition(lambda self: self.world.state in ("thinking", "speaking", "overlap"))
    @rule()
    def it_can_always_come_to_rest(self) -> None:
        world = self.world
        if world.state == "thinking":
            world.audible()
        world.conversation.tick(world.time + 10)
        world.ended("Done.")
        assert world.state in ("idle", "listening")


Interleavings.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestInterleavings = Interleavings.TestCase
