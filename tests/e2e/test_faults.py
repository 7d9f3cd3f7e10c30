"""What the service does when a stage dies, keeps dying, or cannot keep up. Everything but the fault itself is real."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import pytest

from edgevoice import config
from edgevoice import service as service_module
from edgevoice.asr.recognizer import SAMPLE_RATE, Partial, Samples, Transcript
from edgevoice.assistant import Assistant
from edgevoice.audio.files import FileSource, read_all
from edgevoice.audio.speaker import FileSpeaker
from edgevoice.dialog.ledger import TurnRecord
from edgevoice.errors import EXIT_OK, InternalError
from edgevoice.llm.phrases import phrase
from edgevoice.messages import Ask, Frame
from edgevoice.service import Service
from edgevoice.settings import AudioSettings, Settings
from tests.conftest import DATA, needs_espeak

LIGHT = {
    "llm": {"backend": "template"},
    "asr": {"second_pass": "off"},
    "tts": {"backend": "espeak"},
    "echo": {"mode": "off"},
}
pytestmark = [pytest.mark.timeout(300), needs_espeak]


class Microphone(FileSource):
    """Says the question `QUESTIONS` times, each after the answer to the one before."""

    open_retries = reopened = overruns = 0
    questions = 2

    def __init__(self, settings: AudioSettings) -> None:
        super().__init__([DATA / "question.flac"] * self.questions, pace="fast", block_ms=settings.block_ms)


class Speaker(FileSpeaker):
    """Plays to nobody, as fast as sound comes."""

    open_retries = reopened = underflows = 0

    def __init__(self, settings: AudioSettings) -> None:
        super().__init__(settings, None, pace="fast")


class World:
    """The service with files for devices."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.turns: list[TurnRecord] = []
        self.events: list[str] = []
        self.assistant: Assistant | None = None
        world = self

        class Watched(Assistant):
            def __init__(self, settings: Settings, source: Any, speaker: Any, on_turn: Any, on_event: Any) -> None:
                def kept(record: TurnRecord) -> None:
                    world.turns.append(record)
                    on_turn(record)

                def noted(name: str, facts: dict[str, object]) -> None:
                    world.events.append(name)
                    on_event(name, facts)

                super().__init__(settings, source, speaker, kept, noted)
                source.busy = lambda: self.busy
                world.assistant = self

            def load(self) -> None:
                super().load()
                world.fault(self)

        monkeypatch.setattr(service_module, "Assistant", Watched)
        monkeypatch.setattr(service_module, "Microphone", Microphone)
        monkeypatch.setattr(service_module, "DeviceSpeaker", Speaker)

    def fault(self, assistant: Assistant) -> None:
        """Break something."""

    def run(self, **sections: dict[str, Any]) -> int:
        changes = {name: {**LIGHT.get(name, {}), **sections.get(name, {})} for name in {*LIGHT, *sections}}
        return Service(lambda: config.replace(config.load(), **changes)).run()


class Dying(World):
    """The generate stage dies of the first `deaths` questions (of fixed sentences, too)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, deaths: int) -> None:
        super().__init__(monkeypatch)
        self.deaths = deaths

    def fault(self, assistant: Assistant) -> None:
        work = assistant.generate.work

        def die_or_work(item: Any) -> None:
            if isinstance(item, Ask) and self.deaths > 0:
                self.deaths -= 1
                raise RuntimeError("as told")
            work(item)

        assistant.generate.work = die_or_work  # type: ignore[method-assign]


def test_a_stage_that_dies_is_started_again_and_its_question_answered_with_a_fixed_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Dying(monkeypatch, deaths=1)
    assert world.run(dialog={"speculate": False}) == EXIT_OK
    assert [turn.reply for turn in world.turns] == [phrase("failed"), phrase("reduced")]
    assert world.turns[0].facts["failed"] == "generate"
    assert world.events.count("answer_failed") == 1, "said once"


def test_a_stage_that_dies_of_a_speculative_answer_still_answers_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Dying(monkeypatch, deaths=1)
    assert world.run() == EXIT_OK
    assert [turn.reply for turn in world.turns] == [phrase("reduced")] * 2, "the template's answer, not the apology"


def test_three_deaths_within_a_minute_end_the_process_with_70(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Dying(monkeypatch, deaths=3)
    with pytest.raises(InternalError, match="generate") as caught:
        world.run(dialog={"speculate": False})
    assert caught.value.exit_code == 70
    assert world.deaths == 0


FASTER = 30
"""Times real time."""
FLOOD_S = 600.0


class Flood(Microphone):
    """Ten minutes of a story without an end, as a live device: what is not taken is lost."""

    live = True

    def frames(self) -> Iterator[Frame]:
        story, block = read_all(DATA / "story.flac"), SAMPLE_RATE // 50
        clock = began = time.monotonic()
        for index in range(round(FLOOD_S * 50)):
            at = index * block % (len(story) - block)
            clock += 0.02
            self._closed.wait(max(0.0, began + (clock - began) / FASTER - time.monotonic()))
            if self._closed.is_set():
                return
            yield Frame(story[at : at + block], clock)
        for _ in range(1000):
            if self._closed.wait(0.02):
                return
            clock += 0.02
            yield Frame(np.zeros(block, np.float32), clock)
            if not self.busy():
                return


class HalfAsFast:
    """A recogniser that needs two seconds for each second of sound."""

    def reset(self) -> None: ...

    def accept(self, samples: Samples) -> list[Partial]:
        time.sleep(2 * len(samples) / SAMPLE_RATE / FASTER)
        return []

    def finish(self) -> Transcript:
        return Transcript("")

    def close(self) -> None: ...


class Behind(World):
    """The recogniser cannot keep up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch)
        monkeypatch.setattr(service_module, "Microphone", Flood)
        self.rss: list[int] = []
        self.deepest = 0.0

    def fault(self, assistant: Assistant) -> None:
        assistant.recognise.recognizer = HalfAsFast()  # type: ignore[assignment]
        work, process = assistant.listen.work, psutil.Process()

        def watched(item: Frame) -> None:
            work(item)
            self.deepest = max(self.deepest, assistant.frames.depth, assistant.speech.depth)
            self.rss.append(process.memory_info().rss)

        assistant.listen.work = watched  # type: ignore[method-assign]


def test_d6_a_recogniser_twice_too_slow_for_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Behind(monkeypatch)
    assert world.run() == EXIT_OK
    assert world.assistant is not None
    dropped = world.assistant.frames.dropped + world.assistant.speech.dropped
    assert dropped > FLOOD_S / 0.02 / 10, "a good part could not be heard, and that was counted"
    assert world.deepest <= 10.5, "no queue grows beyond its ten seconds"
    assert "missed_sound" in world.events
    assert phrase("missed") in [turn.reply for turn in world.turns], "and the user was told"
    quarter = len(world.rss) // 4
    assert world.rss[-1] - world.rss[quarter] < 30 * 2**20
