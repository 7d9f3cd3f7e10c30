"""What the segmenter says of pauses; whether someone speaks is given."""

from __future__ import annotations

import numpy as np
import pytest

from edgevoice.audio.segmenter import Segmenter
from edgevoice.messages import Frame, Speech, SpeechAudio, SpeechPaused
from edgevoice.settings import EndpointSettings, VadSettings

BLOCK_S = 0.02


class Script:
    """Speech and silence as given: "#" is a block of speech, "." one of silence."""

    def __init__(self, script: str) -> None:
        self._script = iter(script)
        self.silence_s = 0.0

    def accept(self, samples: np.ndarray) -> bool:
        speech = next(self._script) == "#"
        self.silence_s = 0.0 if speech else self.silence_s + BLOCK_S
        return speech

    def reset(self) -> None:
        self.silence_s = 0.0


class Rule:
    """Pauses from 60 ms, never an end."""

    def pause(self, silence_s: float) -> bool:
        return silence_s >= 0.06

    def end(self, silence_s: float, segment: int) -> bool:
        return False

    def stopped(self, segment: int) -> float | None:
        return None


def listen(script: str) -> list[Speech]:
    segmenter = Segmenter(VadSettings(), EndpointSettings(settled_ms=240), Script(script), Rule())
    block = np.zeros(round(BLOCK_S * 16_000), np.float32)
    return [m for i in range(len(script)) for m in segmenter.accept(Frame(block, i * BLOCK_S))]


def test_a_long_pause_is_told_twice_and_a_short_one_once() -> None:
    pauses = [m for m in listen("#####......###" + "." * 20) if isinstance(m, SpeechPaused)]
    assert [(p.attempt, p.settled) for p in pauses] == [(1, False), (2, False), (2, True)]
    assert pauses[1].speech_end == pytest.approx(pauses[2].speech_end)


def test_every_block_of_the_segment_is_handed_on_once() -> None:
    script = "####" + "." * 30
    assert sum(isinstance(m, SpeechAudio) for m in listen(script)) == len(script)
