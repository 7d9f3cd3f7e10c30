"""The models of an assistant: chosen by settings, loaded, warmed and closed together."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from edgevoice.asr.factory import build_recognizer, build_second_pass
from edgevoice.asr.recognizer import Recognizer
from edgevoice.asr.two_pass import SecondPass
from edgevoice.llm.factory import build_generator
from edgevoice.llm.generator import Generator
from edgevoice.settings import Settings
from edgevoice.tts.factory import build_synthesizer
from edgevoice.tts.synthesizer import Synthesizer

log = logging.getLogger(__name__)


@dataclass
class Models:
    """The four models, each behind its contract."""

    recognizer: Recognizer
    second_pass: SecondPass | None
    generator: Generator
    synthesizer: Synthesizer
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each took to load and warm, in seconds."""

    @classmethod
    def build(cls, settings: Settings) -> Models:
        """Choose the back ends; touches no disk."""
        return cls(
            build_recognizer(settings),
            build_second_pass(settings),
            build_generator(settings),
            build_synthesizer(settings),
        )

    def load(self) -> None:
        """Load and warm all, one after the other: side by side is hardly faster, but the peaks of memory add up.

        Raises ModelMissingError or ModelDataError.
        """
        for name, load, warm, _ in self._parts():
            begun = time.monotonic()
            load()
            warm()
            self.seconds[name] = time.monotonic() - begun

    def close(self) -> None:
        """Release all."""
        for _, _, _, close in self._parts():
            close()

    def _parts(self) -> list[tuple[str, Callable[[], None], Callable[[], None], Callable[[], None]]]:
        named = {
            "recognizer": self.recognizer,
            "second_pass": self.second_pass,
            "generator": self.generator,
            "synthesizer": self.synthesizer,
        }
        return [(name, part.load, part.warm, part.close) for name, part in named.items() if part is not None]
