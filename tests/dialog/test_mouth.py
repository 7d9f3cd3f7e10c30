"""The mouth between conversation, voice and a playout buffer that is pulled by hand."""

from __future__ import annotations

import time

import numpy as np

from edgevoice.assistant import Assistant
from edgevoice.audio.echo_guard import EchoGuard
from edgevoice.audio.playout import Playout
from edgevoice.audio.room_loop import RoomMicrophone, RoomSpec
from edgevoice.audio.speaker import FileSpeaker
from edgevoice.dialog.mouth import Mouth
from edgevoice.dialog.stage import ConverseStage
from edgevoice.llm.generator import Exchange
from edgevoice.messages import PlaybackEnded, PlaybackStarted, Woken
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.settings import Settings
from edgevoice.tts.synthesizer import PcmChunk, SpokenWord
from tests.dialog.world import World

RATE = 16_000


class Room:
    """A mouth, a conversation that uses it, and a device that plays when it is told to."""

    def __init__(self) -> None:
        self.guard, self.clock = EchoGuard(), 100.0
        self.playout = Playout(RATE, cushion_ms=0)
        self.told: list[PlaybackStarted | PlaybackEnded] = []
        self.mouth = Mouth(self.playout, self.told.append, self.guard)
        self.playout.listener = self.mouth.on_playout
        self.world = World(voice=self.mouth)

    def synthesise(self, generation: int, seconds: float, words: tuple[SpokenWord, ...] = ()) -> None:
        sound = np.full(round(seconds * RATE), 5000, np.int16)
        assert self.mouth.play(generation, PcmChunk(sound, RATE, words), 0.0)

    def play(self, seconds: float) -> np.ndarray:
        block = np.zeros(round(seconds * RATE), np.float32)
        self.playout.pull(block, self.clock, self.clock)
        self.clock += seconds
        while self.told:
            message = self.told.pop(0)
            if isinstance(message, PlaybackStarted):
                self.world.conversation.on_playback_started(message)
            else:
                self.world.conversation.on_playback_ended(message)
        return block

    def answers(self, words: str, text: str, seconds: float) -> int:
        """The user asks `words`, and `text` begins to be spoken."""
        generation = self.world.asks(words)
        self.mouth.begin_clause(generation, text)
        self.synthesise(generation, seconds)
        self.mouth.end_clause(generation)
        return generation


def test_the_wake_words_tone_neither_hides_what_was_heard_nor_leaves_a_record() -> None:
    room = Room()
    world, tone = room.world, np.full(RATE // 5, 9000, np.int16)
    room.answers("tell me a story", "One two three four", 2.0)
    room.play(1.0)
    assert world.state == "speaking"
    stage = ConverseStage(
        BoundedQueue("words", 4, Overflow.BLOCK),
        world.conversation,
        lambda: room.mouth.earcon(world.ledger.withdraw(), tone, RATE),
    )
    for second in range(3):
        stage.work(Woken(room.clock + second))
    assert world.conversation.history == (Exchange("tell me a story", "One two", interrupted=True),)
    assert np.abs(room.play(0.5)).max() > 0.2, "the tone is heard"
    assert not room.told and len(room.mouth._began) == 1, "it is no answer"
    assert not world.ledger._open


def test_c1_the_last_words_of_a_long_clause_are_its_own_when_they_come_back() -> None:
    room = Room()
    text = "The market begins with baskets of apples in the afternoon."
    for timed in (True, False):
        words = tuple(SpokenWord(i, i, round(i * 0.49 * RATE), round((i + 1) * 0.49 * RATE)) for i in range(10))
        generation = room.world.asks("tell me a story")
        room.mouth.begin_clause(generation, text)
        for chunk in range(49):
            room.synthesise(generation, 0.1, words if timed and chunk == 0 else ())
            room.play(0.1)
        assert room.guard.remove("in the afternoon", room.clock) == ""
        assert room.guard.remove("the afternoon", room.clock + 20) == "the afternoon", "long after, they are the user's"
        room.mouth.end_clause(generation)
        room.mouth.finish(generation)
        room.play(1.0)
        assert room.world.conversation.history[-1].assistant == text
        room.clock += 60.0


def test_b7_a_voice_that_ran_dry_has_not_said_the_rest_of_its_clause() -> None:
    room = Room()
    generation = room.world.asks("tell me a story")
    room.mouth.begin_clause(generation, "The market begins with baskets of apples in the afternoon.")
    room.synthesise(generation, 1.0)
    room.play(2.0)
    room.world.starts()
    room.world.words("what about")
    heard = room.world.conversation.history[-1]
    assert heard.interrupted and heard.assistant == "The market begins"


def test_whoever_cuts_the_voice_off_may_go_on_without_the_wake_word() -> None:
    settings = Settings()
    assistant = Assistant(settings, RoomMicrophone(RoomSpec(), 20), FileSpeaker(settings.audio))
    mouth = Mouth(Playout(RATE), lambda message: None, None, assistant._voice_cut)
    before = time.monotonic()
    assert not assistant.follow_up.open_at(before)
    mouth.cut()
    assert assistant.follow_up.open_at(before + settings.wake.follow_up_s - 0.01)
    assert not assistant.follow_up.open_at(time.monotonic() + settings.wake.follow_up_s)
