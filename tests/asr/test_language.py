"""Language identification; needs the optional model `whisper-base`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from edgevoice.asr.language import LanguageIdentifier
from edgevoice.asr.recognizer import SAMPLE_RATE, Samples, Transcript
from edgevoice.asr.two_pass import SecondPass
from edgevoice.audio.files import read_all
from edgevoice.errors import ModelDataError, ModelMissingError
from edgevoice.models import store
from edgevoice.settings import AsrSettings
from tests.conftest import loaded


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    try:
        store.find("whisper-base", "asr")
    except ModelMissingError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def identifier() -> Iterator[LanguageIdentifier]:
    yield from loaded(LanguageIdentifier(AsrSettings()))


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """eSpeak NG says a German sentence: no person, but unmistakably German."""
    if shutil.which("espeak-ng") is None:
        pytest.skip("needs espeak-ng for a foreign sentence")
    file = tmp_path_factory.mktemp("german") / "german.wav"
    sentence = "Das Wetter ist heute sehr schön, und wir gehen zusammen in den Park und dann nach Hause."
    subprocess.run(["espeak-ng", "-v", "de", "-s", "150", "-w", str(file), sentence], check=True, timeout=20)
    return read_all(file)


def test_english_is_english(identifier: LanguageIdentifier, when_back: Samples, help_you_pack: Samples) -> None:
    for sound in (when_back, help_you_pack):
        language = identifier.identify(sound)
        assert language is not None
        assert language.code == "en"
        assert identifier.read_foreign(sound) is None


def test_silence_and_scraps_have_no_language(identifier: LanguageIdentifier, when_back: Samples) -> None:
    assert identifier.identify(np.zeros(3 * SAMPLE_RATE, np.float32)) is None
    assert identifier.identify(when_back[: SAMPLE_RATE // 2]) is None


def test_another_language_is_read_in_that_language(identifier: LanguageIdentifier, german: Samples) -> None:
    transcript = identifier.read_foreign(german)
    assert transcript is not None
    assert transcript.language == "de"
    assert transcript.confidence > 0.9
    assert "schön" in transcript.text.lower()


def test_the_second_pass_of_that_turn_is_in_that_language(german: Samples, when_back: Samples) -> None:
    second = SecondPass(AsrSettings(identify_language=True, second_pass_budget_ms=60_000))
    second.load()
    first = Transcript("couldn't morgan canon z", (), 0.3)
    assert second.refine(german, first).language == "de"
    heard = second.refine(when_back, Transcript("when are you going to be back", (), 0.8))
    assert (heard.language, heard.text) == ("en", "When are you going to be back?")
    second.close()


def test_memory_is_released_over_five_switches(when_back: Samples) -> None:
    process, sizes = psutil.Process(), []
    for _ in range(6):
        identifier = LanguageIdentifier(AsrSettings())
        identifier.load()
        identifier.identify(when_back)
        sizes.append(process.memory_info().rss)
        identifier.close()
    assert max(sizes[1:]) <= sizes[0] * 1.05


def test_a_model_of_one_language_is_refused() -> None:
    with pytest.raises(ModelDataError, match="multilingual"):
        LanguageIdentifier(AsrSettings(language_model="whisper-tiny-en")).load()
