"""Text to phonemes with the eSpeak NG inside piper-tts, keeping track of which word each phoneme belongs to."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from edgevoice.errors import UnavailableError
from edgevoice.tts.alignment import match_words
from edgevoice.tts.vits.config import VoiceConfig

Symbols = tuple[str, ...]

_ESPEAK_LOCK = threading.Lock()
"""eSpeak NG is one global machine with one current voice."""
WORDS_KEPT = 4096
_WORDS: dict[tuple[str, str], Symbols] = {}
"""Voice and word -> the symbols of the word alone. Under the lock."""

_LANGUAGE_SWITCH = re.compile(r"\([^)]+\)")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Phonemes:
    """The phonemes of one piece of text."""

    ids: tuple[int, ...]
    """What the voice reads: begin, separator, then each phoneme with a separator, end."""
    word_of_id: tuple[int, ...]
    """For each id the word it belongs to, or -1 (pauses, begin, end)."""
    words: tuple[tuple[int, int], ...]
    """Character span of each word that is spoken."""
    ends: str
    """The punctuation at the end, or empty."""

    @property
    def speakable(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.words)


class Phonemizer:
    """Phonemes in the alphabet of one voice."""

    def __init__(self, config: VoiceConfig) -> None:
        self._config = config
        self._separator = config.phoneme_ids["_"]

    def phonemize(self, text: str) -> Phonemes:
        """Phonemes of `text` (one or a few sentences, a few hundred characters)."""
        spans = [match.span() for match in _WORD.finditer(text)]
        symbols, alone = self._symbols(text, [text[begin:end] for begin, end in spans])
        owner = match_words(symbols, alone)
        spoken = sorted({word for word in owner if word >= 0})
        position = {word: i for i, word in enumerate(spoken)}
        ids: list[int] = [*self._config.phoneme_ids["^"], *self._separator]
        word_of_id = [-1] * len(ids)
        for symbol, word in zip(symbols, owner, strict=True):
            known = self._config.phoneme_ids.get(symbol)
            if known is None:
                continue
            ids.extend((*known, *self._separator))
            word_of_id.extend([position.get(word, -1)] * (len(known) + len(self._separator)))
        ids.extend(self._config.phoneme_ids["$"])
        word_of_id.extend([-1] * (len(ids) - len(word_of_id)))
        stripped = text.rstrip(" \t\n\"'”’)]")
        ends = stripped[-1:] if stripped[-1:] in set(".!?,;:…—") else ""
        return Phonemes(tuple(ids), tuple(word_of_id), tuple(spans[word] for word in spoken), ends)

    def _symbols(self, text: str, words: Sequence[str]) -> tuple[Symbols, list[Symbols]]:
        """Of the text, and of each of its words alone."""
        if self._config.phoneme_type == "text":
            return tuple(unicodedata.normalize("NFD", text)), [tuple(unicodedata.normalize("NFD", w)) for w in words]
        voice = self._config.espeak_voice
        bridge = _espeak()
        with _ESPEAK_LOCK:
            # Choosing the voice takes ten times as long as a word.
            bridge.set_voice(voice)
            whole = _spoken(bridge, text)
            alone = []
            for word in words:
                known = _WORDS.get((voice, word))
                if known is None:
                    if len(_WORDS) >= WORDS_KEPT:
                        _WORDS.clear()
                    known = _WORDS[voice, word] = _spoken(bridge, word)
                alone.append(known)
        return whole, alone


def _spoken(bridge: Any, text: str) -> Symbols:
    """IPA symbols, spaces and punctuation, as Piper trained its voices on them."""
    symbols: list[str] = []
    for phonemes, terminator, _ in bridge.get_phonemes(text):
        piece = _LANGUAGE_SWITCH.sub("", phonemes) + terminator
        if piece:
            symbols.extend(unicodedata.normalize("NFD", piece + " "))
    while symbols and symbols[-1] == " ":
        symbols.pop()
    return tuple(symbols)


@lru_cache(maxsize=1)
def _espeak() -> Any:
    try:
        from piper import espeakbridge
        from piper.phonemize_espeak import ESPEAK_DATA_DIR
    except ImportError as error:
        raise UnavailableError("package piper-tts", f"cannot be loaded ({error})", "pip install piper-tts") from error
    espeakbridge.initialize(str(ESPEAK_DATA_DIR))
    return espeakbridge
