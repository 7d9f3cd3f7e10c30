"""Phrases in front of a voice: what a change of tier costs, and when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgevoice.settings import Settings
from edgevoice.tts import shaping
from edgevoice.tts.cache import PhraseCache, PhraseKey
from edgevoice.tts.phrases import SETTLING, Phrases, build_phrases
from edgevoice.tts.synthesizer import Cancelled, PcmChunk, SpokenWord


class Voice:
    """Two tiers; remembers what it spoke with which."""

    name = "test"
    sample_rate = 16_000

    def __init__(self) -> None:
        self.tier = "standard"
        self.spoken: list[tuple[str, str]] = []

    def load(self) -> None: ...

    def warm(self) -> None: ...

    def close(self) -> None: ...

    def set_tier(self, name: str) -> None:
        self.tier = name

    def synthesize(self, clause: str, cancelled: Cancelled) -> Iterator[PcmChunk]:
        self.spoken.append((self.tier, clause))
        yield PcmChunk(np.zeros(160, np.int16), self.sample_rate)


def never() -> bool:
    return False


def test_after_a_change_of_tier_the_voice_is_made_ready_once_between_answers() -> None:
    voice = Voice()
    phrases = Phrases(voice, None, lambda text: PhraseKey("test", "standard", text, ""))
    phrases.settle(never)
    assert voice.spoken == [], "nothing has changed"
    phrases.set_tier("light")
    phrases.settle(never)
    phrases.settle(never)
    assert voice.spoken == [("light", SETTLING)]
    list(phrases.speak("hello", never))
    assert voice.spoken[-1] == ("light", "hello")


def test_what_a_lower_tier_says_is_not_kept_under_the_full_ones_name() -> None:
    voice, cache, key = Voice(), PhraseCache(None), PhraseKey("test", "standard", "Hello.", "")
    phrases = Phrases(voice, cache, lambda text: key, "standard")
    phrases.set_tier("light")
    phrases.prepare(["Hello."])
    assert cache.get(key) is None
    phrases.set_tier("standard")
    phrases.prepare(["Hello."])
    assert cache.get(key) is not None
    list(phrases.speak("Hello.", never))
    assert phrases.last_was_cached and [tier for tier, _ in voice.spoken] == ["light", "standard"]


class MadeAs(Voice):
    """A voice of a certain making."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHE_DIRECTORY", str(tmp_path))


@pytest.mark.usefixtures("cache_folder")
def test_fixed_sentences_are_made_again_by_a_replaced_voice_or_another_shaping(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoken_by(voice: Voice) -> int:
        """How many of one fixed sentence had to be synthesised."""
        phrases = build_phrases(Settings(), voice)
        phrases.prepare(["hello"])
        phrases.close(5)
        return len(voice.spoken)

    assert [spoken_by(MadeAs("a-v5")), spoken_by(MadeAs("a-v5"))] == [1, 0]
    assert [spoken_by(MadeAs("b-v5")), spoken_by(MadeAs("b-v6"))] == [1, 1], "another model, another preparation"
    assert [spoken_by(Voice()), spoken_by(Voice())] == [1, 0], "a voice that cannot tell"
    monkeypatch.setattr(shaping, "VERSION", shaping.VERSION + 1)
    assert spoken_by(MadeAs("a-v5")) == 1


def test_word_times_that_come_with_later_chunks_are_kept() -> None:
    class Exact(Voice):
        def synthesize(self, clause: str, cancelled: Cancelled) -> Iterator[PcmChunk]:
            sound = np.zeros(160, np.int16)
            yield PcmChunk(sound, self.sample_rate, (SpokenWord(0, 4, 0, 100), SpokenWord(5, 7, 100, 320)))
            yield PcmChunk(sound, self.sample_rate, (SpokenWord(5, 7, 120, 200), SpokenWord(8, 9, 200, 320)))

    cache, key = PhraseCache(None), PhraseKey("test", "standard", "Here it is.", "")
    Phrases(Exact(), cache, lambda text: key, "standard").prepare(["Here it is."])
    found = cache.get(key)
    assert found is not None
    assert found.words == (SpokenWord(0, 4, 0, 100), SpokenWord(5, 7, 120, 200), SpokenWord(8, 9, 200, 320))
