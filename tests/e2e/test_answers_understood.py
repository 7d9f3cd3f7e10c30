"""Ten answers of the language model, spoken and heard again by another recogniser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgevoice.assembly import Models
from edgevoice.audio import sink
from edgevoice.tts.compose import clauses_of
from tests.e2e.conftest import patient, word_error_rate

QUESTIONS = (
    "what is the capital of france",
    "how do birds know where to fly in winter",
    "can you recommend a good breakfast",
    "why is the sky blue",
    "who wrote romeo and juliet",
    "what should i wear when it rains",
    "how do i make a cup of tea",
    "what do bees do all day",
    "tell me something about the moon",
    "is it dangerous to swim in a river",
)


@pytest.fixture(scope="module")
def answers() -> list[str]:
    """The real language model's answer to each question, as it is written."""
    generator = Models.build(patient()).generator
    generator.load()
    generator.warm()
    texts = ["".join(token.text for token in generator.generate((), question)) for question in QUESTIONS]
    generator.close()
    return texts


def test_ten_spoken_answers_are_understood(answers: list[str], tmp_path: Path, listener: Callable[[Path], str]) -> None:
    assert len(set(answers)) == len(QUESTIONS), "ten different answers"
    voice = Models.build(patient()).synthesizer
    voice.load()
    heard = []
    for number, answer in enumerate(answers):
        clauses = clauses_of(answer, "en")
        assert clauses, f"nothing to say in {answer!r}"
        sound = [chunk.samples for clause in clauses for chunk in voice.synthesize(clause)]
        path = tmp_path / f"{number}.wav"
        sink.write(path, np.concatenate(sound), voice.sample_rate)
        heard.append(listener(path))
    voice.close()
    error = word_error_rate(answers, heard)
    assert error <= 0.15, f"{error:.1%}: " + "; ".join(f"{a!r} -> {h!r}" for a, h in zip(answers, heard, strict=True))
