"""The real daemon in a simulated room, answering from a script: what `bench room` and the tests of the room share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from edgevoice.assistant import Assistant
from edgevoice.audio.room_loop import RoomMicrophone, RoomSpec
from edgevoice.audio.speaker import FileSpeaker
from edgevoice.dialog.ledger import TurnRecord
from edgevoice.dialog.states import State
from edgevoice.llm.generator import Cancelled, Exchange, Token
from edgevoice.llm.template import TemplateGenerator
from edgevoice.settings import Settings

AUDIBLE = 10.0 ** (-50 / 20)
"""Absolute sample value from which the voice counts as audible."""
LONG_ANSWER = (
    "The harbour wakes slowly in the early morning. Two fishing boats come back with nets full of silver herring. "
    "A baker opens the shutters of her little shop, and the smell of warm bread drifts down to the water. "
    "Children walk to school along the old stone wall and count the gulls on the roofs. "
    "At noon the market begins, with baskets of apples, jars of honey and bunches of lavender. "
    "An old man repairs a wooden chair under a chestnut tree and tells stories about the lighthouse. "
    "In the afternoon a light wind fills the sails of the boats beyond the pier. "
    "Later the lamps are lit one after another, and somebody plays an accordion behind an open window. "
    "When the tide turns, the last ferry leaves for the islands, and the town becomes quiet again. "
)
"""About 45 seconds of plain prose when it is spoken."""


class Script(TemplateGenerator):
    """A `Generator` that says `text`, whatever it is asked; it can be changed at any time."""

    name = "script"

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.asked: list[tuple[float, str]] = []
        """(monotonic time, words) of everything it was asked to answer."""

    def completeness(self) -> float:
        """Never sure: the endpoint waits its longest, so that a recording with a pause is one question."""
        return 0.0

    def generate(
        self,
        history: Sequence[Exchange],
        words: str,
        cancelled: Cancelled = lambda: False,
        max_tokens: int | None = None,
    ) -> Iterator[Token]:
        """The text, word by word."""
        self.asked.append((time.monotonic(), words))
        for number, word in enumerate(self.text.split()):
            if cancelled():
                return
            yield Token(f"{word} ", number)


@dataclass(frozen=True)
class Happened:
    """An event of the conversation."""

    time: float
    name: str


class RoomSession:
    """Context manager: the daemon, listening and speaking in the room in real time.

    `text`: what the scripted model answers; None keeps the real one.
    """

    def __init__(
        self,
        settings: Settings,
        spec: RoomSpec | None = None,
        text: str | None = LONG_ANSWER,
        prepare: Callable[[Assistant], None] = lambda assistant: None,
    ) -> None:
        self.microphone = RoomMicrophone(spec or RoomSpec(), settings.audio.block_ms)
        self.turns: list[TurnRecord] = []
        self.events: list[Happened] = []
        self.audible_since = 0.0
        """When the present answer's first sample sounded."""
        self.last_audible = 0.0
        """When the last audible sample so far sounded."""
        self.script = Script(text or "")
        self.assistant = Assistant(
            settings, self.microphone, FileSpeaker(settings.audio), on_turn=self.turns.append, on_event=self._event
        )
        if text is not None:
            self.assistant.models.generator = self.script
        self.assistant.taps += [self.microphone.played, self._played]
        self.assistant.on_audible = self._audible
        self._prepare = prepare

    def __enter__(self) -> RoomSession:
        self.assistant.load()
        self._prepare(self.assistant)
        self.assistant.open_devices()
        self.assistant.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.assistant.stop()

    @property
    def speaking(self) -> bool:
        """True while an answer is audible and nobody is heard over it."""
        return self.assistant.conversation.state is State.SPEAKING

    def say(self, samples: NDArray[np.float32], after_s: float = 0.05) -> float:
        """Somebody says `samples`; the time of the first one."""
        moment = time.monotonic() + after_s
        self.microphone.say(samples, moment)
        return moment

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait for the condition; False when the time is over. Raises InternalError if a stage died."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.assistant.check()
            time.sleep(0.02)
        return True

    def wait_idle(self, seconds: float) -> bool:
        """Wait until nothing is going on."""
        return self.wait(lambda: not self.assistant.busy, seconds)

    def count(self, name: str, since: float = 0.0) -> int:
        """How many events of this name happened since."""
        return sum(1 for event in self.events if event.name == name and event.time >= since)

    def _event(self, name: str, facts: dict[str, object]) -> None:
        self.events.append(Happened(time.monotonic(), name))

    def _audible(self, moment: float) -> None:
        self.audible_since = moment

    def _played(self, samples: NDArray[np.float32], moment: float, rate: int) -> None:
        loud = np.flatnonzero(np.abs(samples) > AUDIBLE)
        if len(loud):
            self.last_audible = moment + (int(loud[-1]) + 1) / rate
