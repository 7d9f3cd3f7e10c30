"""Random interleavings of conversation, voice and devices: the real conversation, mouth and playout buffer, no threads.

Every answer has a sample value of its own, so that whatever reaches the speaker tells which answer it belongs to.
"""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from edgevoice.audio.echo_guard import EchoGuard
from edgevoice.audio.playout import REPORTS_KEPT, Playout
from edgevoice.dialog.mouth import Mouth
from edgevoice.messages import PlaybackEnded, PlaybackStarted
from edgevoice.tts.synthesizer import PcmChunk
from tests.dialog.world import World

RATE, BLOCK = 16_000, 320
FADE = 80
TEXTS = st.sampled_from(["", "yeah", "stop", "what time is it", "turn it off", "paris", "and in london"])


def value(generation: int) -> int:
    """The int16 sample of which this answer's sound is made; audible, and the same again after 200 answers."""
    return 2000 + 100 * (generation % 200)


class SoundInterleavings(RuleBasedStateMachine):
    """The user speaks, coughs and interrupts; words and sound come when they like; devices vanish and come back."""

    def __init__(self) -> None:
        super().__init__()
        self.playout = Playout(RATE, cushion_ms=0)
        self.guard = EchoGuard()
        self.told: list[PlaybackStarted | PlaybackEnded] = []
        self.mouth = Mouth(self.playout, self.told.append, self.guard)
        self.playout.listener = self.mouth.on_playout
        self.world = World(history_pairs=6, voice=self.mouth)
        self.clock = 100.0
        self.heard: list[np.ndarray] = []
        self.speaker_there = True
        self.clauses: dict[int, int] = {}
        self.finished: set[int] = set()

    # --- the user ---

    @rule()
    def speech(self) -> None:
        self.world.starts()

    @rule(text=TEXTS, phones=st.integers(0, 6))
    def words(self, text: str, phones: int) -> None:
        self.world.words(text, text, phones)

    @rule(text=TEXTS, attempt=st.integers(1, 3))
    def pause(self, text: str, attempt: int) -> None:
        self.world.heard(text, final=False, attempt=attempt)

    @rule(text=TEXTS)
    def final(self, text: str) -> None:
        self.world.heard(text)

    @rule()
    def cough(self) -> None:
        before = self.world.conversation.history
        self.world.starts()
        self.world.heard("")
        assert self.world.conversation.history == before

    @rule()
    def the_microphone_is_lost_in_the_middle_of_a_word(self) -> None:
        """Nothing more comes of this segment; sound was missed; the next one begins when it is back."""
        self.world.starts()
        self.world.words("turn on the", "turn on")
        self.world.conversation.on_missed(self.world.time)

    # --- the voice ---

    @precondition(lambda self: self.world.brain.asked)
    @rule(age=st.integers(0, 2), blocks=st.integers(1, 20), last=st.booleans())
    def sound_is_synthesised(self, age: int, blocks: int, last: bool) -> None:
        """Also for answers that are long cancelled: a stage may be in the middle of a chunk."""
        asked = self.world.brain.asked
        generation = asked[max(0, len(asked) - 1 - age)].generation
        if generation in self.finished or generation < self.mouth._writing:
            return
        self.mouth.begin_clause(generation, "some words ")
        chunk = PcmChunk(np.full(blocks * BLOCK, value(generation), np.int16), RATE)
        self.mouth.play(generation, chunk, 0.0)
        self.mouth.end_clause(generation)
        if last:
            self.mouth.finish(generation)
            self.finished.add(generation)

    # --- the devices ---

    @rule(blocks=st.integers(1, 40))
    def the_speaker_plays(self, blocks: int) -> None:
        if not self.speaker_there:
            return
        for _ in range(blocks):
            current, block = self.mouth._released, np.zeros(BLOCK, np.float32)
            self.playout.pull(block, self.clock, self.clock)
            self.clock += BLOCK / RATE
            self.heard.append(block)
            # 5 ms of the last sample's value fade out after a cut; nothing else may be of another answer.
            audible = block[FADE:][np.abs(block[FADE:]) > 0.03]
            assert not len(audible) or np.allclose(audible, value(current) / 32768, atol=2e-3), "stale sound"
        self.deliver()

    def deliver(self) -> None:
        for message in self.told[:]:
            self.told.remove(message)
            self.world.time = max(self.world.time, self.clock)
            if isinstance(message, PlaybackStarted):
                self.world.conversation.on_playback_started(message)
            else:
                self.world.conversation.on_playback_ended(message)

    @rule()
    def the_speaker_is_lost_or_comes_back(self) -> None:
        self.speaker_there = not self.speaker_there

    @rule(stage=st.sampled_from(["generate", "synthesise"]))
    def a_stage_fails(self, stage: str) -> None:
        self.world.failed(stage)

    @rule(seconds=st.floats(0, 5))
    def time_passes(self, seconds: float) -> None:
        self.world.time += seconds
        self.clock += seconds
        self.world.conversation.tick(self.world.time)

    # --- what always holds ---

    @invariant()
    def roles_alternate(self) -> None:
        assert all(exchange.user and exchange.assistant for exchange in self.world.conversation.history)

    @invariant()
    def memory_is_bounded(self) -> None:
        del self.heard[:-2]
        world = self.world
        assert len(world.conversation.history) <= 6
        assert len(self.playout._answers) <= REPORTS_KEPT + 1
        assert self.playout.queued_s <= 2.0 * (REPORTS_KEPT + 1)
        assert len(self.mouth._trackers) <= 8 and len(self.mouth._began) <= 8
        assert len(self.guard._played) <= 2000
        assert len(world.ledger._by_generation) <= 256 and len(world.ledger._open) <= 256

    @rule(text=st.sampled_from(["what time is it", "turn it off"]))
    def a_question_is_always_answered_in_the_end(self, text: str) -> None:
        """No deadlock and no lost turn, whatever came before: once the devices are back it is asked, spoken, over."""
        world = self.world
        self.speaker_there = True
        world.starts()
        world.words(text, text)
        world.heard(text)
        latest = world.brain.asked[-1]
        assert text in latest.words and not world.ledger.stale(latest.generation)
        for _ in range(4):  # a sentence about lost sound or loudness may follow the answer
            latest = world.brain.asked[-1]
            if latest.generation not in self.finished:
                self.mouth.begin_clause(latest.generation, "some words ")
                sound = np.full(2 * BLOCK, value(latest.generation), np.int16)
                self.mouth.play(latest.generation, PcmChunk(sound, RATE), 0.0)
                self.mouth.finish(latest.generation)
                self.finished.add(latest.generation)
            self.the_speaker_plays(300)
            self.world.conversation.tick(self.world.time + 10)
            self.the_speaker_plays(300)
        assert world.state == "idle"
        assert world.conversation.history and text in world.conversation.history[-1].user


SoundInterleavings.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestSoundInterleavings = SoundInterleavings.TestCase
