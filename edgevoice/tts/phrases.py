"""Spoken phrases: the voice with the phrase cache in front of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np

from edgevoice.models.places import cache_dir
from edgevoice.settings import Settings
from edgevoice.tts import shaping
from edgevoice.tts.cache import CachedPhrase, PhraseCache, PhraseKey
from edgevoice.tts.synthesizer import Cancelled, PcmChunk, Synthesizer, merged

log = logging.getLogger(__name__)

SETTLING = "Well, yes, this is one short sentence."
"""Spoken unheard after a change of tier."""


@runtime_checkable
class Tiered(Protocol):
    """A voice with tiers."""

    def set_tier(self, name: str) -> None:
        """Use another tier from the next clause on."""


@runtime_checkable
class Formed(Protocol):
    """A voice that can say of which making it is."""

    @property
    def form(self) -> str:
        """Changes whenever the same text with the same settings would sound different; known after `load`."""


class Phrases:
    """Speaks clauses. Only fixed phrases (greetings, templates, intent answers) are cached: what was talked about is
    never written to disk. Not thread-safe: the synthesise stage uses it."""

    def __init__(
        self, synthesizer: Synthesizer, cache: PhraseCache | None, key: Callable[[str], PhraseKey], tier: str = ""
    ) -> None:
        """`tier`: the one that `key` names; what is spoken with another is not kept."""
        self.synthesizer = synthesizer
        self._tier = self._kept_tier = tier
        self.last_was_cached = False
        self._unsettled = False
        self._cache, self._key = cache, key
        self._fixed: set[str] = set()

    def set_tier(self, name: str) -> None:
        """Speak with this much work from the next clause on, where the voice has such tiers."""
        if isinstance(self.synthesizer, Tiered):
            self.synthesizer.set_tier(name)
            self._tier = name
            self._unsettled = True

    def settle(self, cancelled: Cancelled) -> None:
        """After a change of tier: let the voice open what it needs now, and not in the middle of the next answer.

        On the speaking thread, between answers; does nothing when nothing has changed.
        """
        if self._unsettled:
            self._unsettled = False
            for _ in self.synthesizer.synthesize(SETTLING, cancelled):
                pass

    def prepare(self, phrases: Iterable[str]) -> None:
        """Make sure that these fixed phrases (normalised for speech) are cached."""
        for phrase in phrases:
            self._fixed.add(phrase)
            if self._cache is not None and self._cache.get(self._key(phrase)) is None:
                for _ in self._synthesize(phrase, lambda: False):
                    pass

    def close(self, deadline_s: float) -> None:
        """End the cache's thread; phrases that still wait reach the disk within the deadline, or are made again."""
        if self._cache is not None:
            self._cache.close(deadline_s)

    def speak(self, text: str, cancelled: Cancelled) -> Iterator[PcmChunk]:
        """The sound of one clause."""
        found = self._cache.get(self._key(text)) if self._cache is not None and text in self._fixed else None
        self.last_was_cached = found is not None
        if found is not None:
            yield PcmChunk(found.samples, found.rate, found.words)
        else:
            yield from self._synthesize(text, cancelled)

    def _synthesize(self, text: str, cancelled: Cancelled) -> Iterator[PcmChunk]:
        chunks: list[PcmChunk] = []
        for chunk in self.synthesizer.synthesize(text, cancelled):
            if text in self._fixed:
                chunks.append(chunk)
            yield chunk
        if chunks and self._cache is not None and self._tier == self._kept_tier and not cancelled():
            whole = np.concatenate([c.samples for c in chunks])
            words = merged(*(word for chunk in chunks for word in chunk.words))
            self._cache.put(self._key(text), CachedPhrase(whole, chunks[0].rate, words))


def build_phrases(settings: Settings, synthesizer: Synthesizer) -> Phrases:
    """Phrases of a loaded voice, with the cache that the settings ask for."""
    tts = settings.tts
    cache = PhraseCache(cache_dir() / "phrases", disk_mb=tts.cache_mb) if tts.cache_mb else None
    if cache is not None:
        cache.load()
    form = synthesizer.form if isinstance(synthesizer, Formed) else ""
    how = f"speed={tts.speed} gain={tts.gain_db} rate={synthesizer.sample_rate} form={form} shaping={shaping.VERSION}"
    voice = f"{synthesizer.name}:{tts.voice}"
    return Phrases(synthesizer, cache, lambda text: PhraseKey(voice, tts.tier, text, how), tts.tier)
