"""Minutes of sound that is no speech, then two words, through the ears of the real daemon (acceptance rows D1, D2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import soundfile

from edgevoice.assembly import Models
from edgevoice.assistant import Assistant
from edgevoice.audio import sink
from edgevoice.audio.files import FileSource
from edgevoice.messages import Ask, Request
from edgevoice.replayer import Replayed, replay
from tests.asr.nonspeech import sounds
from tests.e2e.conftest import patient

MINUTE = sounds(60.0)
THANKS = "thank you"


@dataclass
class Heard:
    """What came of each file."""

    names: list[str]
    requests: defaultdict[str, list[Request]] = field(default_factory=lambda: defaultdict(list))
    """Name of the sound -> what the language model was asked while it sounded."""
    replayed: Replayed | None = None

    def loaded(self, assistant: Assistant) -> None:
        source, put = assistant.capture.source, assistant.requests.put
        assert isinstance(source, FileSource)

        def watched(item: Request, timeout: float = 5.0) -> bool:
            self.requests[self.names[source.current]].append(item)
            return put(item, timeout)

        assistant.requests.put = watched  # type: ignore[method-assign]


def speak(text: str, path: Path) -> None:
    """A spoken text with a little silence around, at the level of a person one metre away."""
    voice = Models.build(patient()).synthesizer
    voice.load()
    quiet = np.zeros(voice.sample_rate // 2, np.int16)
    sound = np.concatenate([quiet, *(chunk.samples for chunk in voice.synthesize(text)), quiet])
    sink.write(path, (sound * 0.5).astype(np.int16), voice.sample_rate)
    voice.close()


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Heard]:
    folder = Path(tmp_path_factory.mktemp("nonspeech"))
    names = [*MINUTE, THANKS]
    files = [folder / f"{number}.flac" for number in range(len(names))]
    for file, name in zip(files, MINUTE, strict=False):
        soundfile.write(file, MINUTE[name], 16_000)
    speak("Thank you.", files[-1])
    result = Heard(names)
    # The second pass and the voice have no part in what is shown here; the first pass decides whether there are words.
    settings = patient(llm={"backend": "template"}, tts={"backend": "off"})
    result.replayed = replay(settings, files, "fast", on_loaded=result.loaded)
    yield result


@pytest.mark.parametrize("name", MINUTE)
def test_d1_d2_no_question_out_of_a_minute_of(name: str, heard: Heard) -> None:
    assert heard.requests[name] == []


def test_d1_a_spoken_thank_you_is_kept(heard: Heard) -> None:
    asked = [item for item in heard.requests[THANKS] if isinstance(item, Ask)]
    assert asked and all(THANKS in item.words.lower() for item in asked)
    assert heard.replayed is not None
    assert [THANKS in turn.transcript.lower() for turn in heard.replayed.turns] == [True]
