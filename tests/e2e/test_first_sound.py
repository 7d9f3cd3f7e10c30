"""A long answer begins to sound while the model still writes it (acceptance row F5)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from edgevoice.assistant import Assistant
from edgevoice.dialog.ledger import Point
from edgevoice.llm.generator import Cancelled, Exchange, Token
from edgevoice.llm.template import TemplateGenerator
from edgevoice.replayer import replay
from tests.conftest import DATA
from tests.e2e.conftest import patient

BEGINNING = "The statue in the garden is very old, "
END = "and a man from the next village made it out of one large stone."
DEADLINE_S = 60.0


class WaitingGenerator(TemplateGenerator):
    """Writes the end of its answer only once the beginning has gone to the speaker: the order cannot be an accident."""

    def __init__(self) -> None:
        super().__init__()
        self.sound_was_first = False
        self.audible = threading.Event()

    def generate(
        self,
        history: Sequence[Exchange],
        words: str,
        cancelled: Cancelled = lambda: False,
        max_tokens: int | None = None,
    ) -> Iterator[Token]:
        pieces = BEGINNING.split(" ")
        for index, piece in enumerate(pieces):
            yield Token(piece + " ", index)
        waited = 0.0
        while not cancelled() and not self.audible.wait(0.05) and waited < DEADLINE_S:
            waited += 0.05
        self.sound_was_first = self.audible.is_set()
        yield Token(END, len(pieces))


def test_f5_the_first_sound_goes_out_before_the_last_token() -> None:
    generator = WaitingGenerator()

    def sounds(samples: NDArray[np.float32], moment: float, rate: int) -> None:
        if samples.any():
            generator.audible.set()

    def loaded(assistant: Assistant) -> None:
        assistant.taps.append(sounds)
        assistant.generate.generator = generator

    result = replay(patient(), [DATA / "question.flac"], "fast", on_loaded=loaded)
    (turn,) = result.turns
    assert generator.sound_was_first
    first_pcm, last_token = turn.time(Point.FIRST_PCM), turn.time(Point.LAST_TOKEN)
    assert first_pcm is not None and last_token is not None and first_pcm < last_token
    assert turn.reply == BEGINNING + END, "and nothing of the answer is lost"
