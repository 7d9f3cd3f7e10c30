"""Pronunciations for words that no dictionary knows: eSpeak NG's letter-to-sound rules, mapped from IPA to ARPAbet.

eSpeak NG comes inside `piper-tts`, which edgevoice speaks with anyway.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

IPA_TO_ARPABET = {
    "tʃ": "CH", "dʒ": "JH", "aɪ": "AY", "aʊ": "AW", "eɪ": "EY", "oʊ": "OW", "əʊ": "OW", "ɔɪ": "OY", "juː": "Y UW",
    "iːɹ": "IH R", "ɪɹ": "IH R", "ʊɹ": "UH R", "ɛɹ": "EH R", "oːɹ": "AO R", "ɔːɹ": "AO R", "ɑːɹ": "AA R", "ɜː": "ER",
    "əl": "AH L",
    "ɑː": "AA", "iː": "IY", "uː": "UW", "ɔː": "AO", "oː": "AO", "aɪɚ": "AY ER", "aɪə": "AY AH", "iə": "IY AH",
    "p": "P", "b": "B", "t": "T", "d": "D", "k": "K", "ɡ": "G", "g": "G", "f": "F", "v": "V", "θ": "TH", "ð": "DH",
    "s": "S", "z": "Z", "ʃ": "SH", "ʒ": "ZH", "h": "HH", "m": "M", "n": "N", "ŋ": "NG", "l": "L", "ɹ": "R", "r": "R",
    "w": "W", "j": "Y", "ɾ": "T", "x": "K", "ç": "HH", "ʔ": "T", "ɬ": "L", "n̩": "AH N",
    "æ": "AE", "ɛ": "EH", "e": "EY", "ɪ": "IH", "i": "IY", "ʌ": "AH", "ə": "AH", "ɐ": "AH", "ɚ": "ER", "ɜ": "ER",
    "ᵻ": "IH", "ʊ": "UH", "u": "UW", "ɔ": "AO", "o": "OW", "ɑ": "AA", "ɒ": "AA", "a": "AA",
}  # fmt: skip
"""IPA symbols of eSpeak NG's `en-us` voice -> ARPAbet phones; longer symbols win."""

_SYMBOL = re.compile("|".join(sorted(map(re.escape, IPA_TO_ARPABET), key=len, reverse=True)))
_NO_SOUND = re.compile("[ˈˌ\u0303\u032a ]")


@cache
def _phonemizer() -> Any:
    # Imported here: only new words need it.
    from piper.phonemize_espeak import EspeakPhonemizer

    return EspeakPhonemizer()


def spell_out(word: str) -> tuple[str, ...]:
    """ARPAbet phones (without stress) of `word` as eSpeak NG would say it; empty if it says nothing."""
    sentences = _phonemizer().phonemize("en-us", word)
    ipa = _NO_SOUND.sub("", "".join(symbol for sentence in sentences for symbol in sentence))
    return tuple(phone for symbol in _SYMBOL.findall(ipa) for phone in IPA_TO_ARPABET[symbol].split())
