"""Which writing systems a voice cannot read: told to the user instead of spoken as nonsense."""

from __future__ import annotations

import re
from bisect import bisect_right

_RANGES = (
    (0x0041, 0x024F, "Latin"),
    (0x0250, 0x02AF, "Latin"),
    (0x0370, 0x03FF, "Greek"),
    (0x0400, 0x052F, "Cyrillic"),
    (0x0530, 0x058F, "Armenian"),
    (0x0590, 0x05FF, "Hebrew"),
    (0x0600, 0x06FF, "Arabic"),
    (0x0750, 0x077F, "Arabic"),
    (0x08A0, 0x08FF, "Arabic"),
    (0x0900, 0x097F, "Devanagari"),
    (0x0980, 0x09FF, "Bengali"),
    (0x0A00, 0x0A7F, "Gurmukhi"),
    (0x0A80, 0x0AFF, "Gujarati"),
    (0x0B80, 0x0BFF, "Tamil"),
    (0x0C00, 0x0C7F, "Telugu"),
    (0x0C80, 0x0CFF, "Kannada"),
    (0x0D00, 0x0D7F, "Malayalam"),
    (0x0D80, 0x0DFF, "Sinhala"),
    (0x0E00, 0x0E7F, "Thai"),
    (0x0E80, 0x0EFF, "Lao"),
    (0x0F00, 0x0FFF, "Tibetan"),
    (0x1000, 0x109F, "Burmese"),
    (0x10A0, 0x10FF, "Georgian"),
    (0x1100, 0x11FF, "Hangul"),
    (0x1200, 0x137F, "Ethiopic"),
    (0x1780, 0x17FF, "Khmer"),
    (0x1E00, 0x1EFF, "Latin"),
    (0x1F00, 0x1FFF, "Greek"),
    (0x2C60, 0x2C7F, "Latin"),
    (0x3040, 0x309F, "Hiragana"),
    (0x30A0, 0x30FF, "Katakana"),
    (0x3130, 0x318F, "Hangul"),
    (0x3400, 0x4DBF, "Han"),
    (0x4E00, 0x9FFF, "Han"),
    (0xAC00, 0xD7AF, "Hangul"),
    (0xF900, 0xFAFF, "Han"),
    (0xFB50, 0xFDFF, "Arabic"),
    (0xFE70, 0xFEFF, "Arabic"),
    (0xFF21, 0xFF5A, "Latin"),
    (0xFF66, 0xFF9F, "Katakana"),
    (0x20000, 0x2FA1F, "Han"),
)
"""Blocks of Unicode: first, last, script."""

_STARTS = [first for first, _, _ in _RANGES]

_READS = {
    "ar": {"Arabic"}, "fa": {"Arabic"}, "ur": {"Arabic"}, "he": {"Hebrew"}, "el": {"Greek"}, "ru": {"Cyrillic"},
    "uk": {"Cyrillic"}, "bg": {"Cyrillic"}, "kk": {"Cyrillic"}, "sr": {"Cyrillic", "Latin"}, "mk": {"Cyrillic"},
    "hi": {"Devanagari"}, "ne": {"Devanagari"}, "mr": {"Devanagari"}, "bn": {"Bengali"}, "ta": {"Tamil"},
    "te": {"Telugu"},
    "ml": {"Malayalam"}, "kn": {"Kannada"}, "gu": {"Gujarati"}, "pa": {"Gurmukhi"}, "th": {"Thai"}, "ka": {"Georgian"},
    "hy": {"Armenian"}, "am": {"Ethiopic"}, "zh": {"Han"}, "yue": {"Han"}, "cmn": {"Han"},
    "ja": {"Han", "Hiragana", "Katakana"}, "ko": {"Hangul", "Han"},
}  # fmt: skip
"""Scripts a voice of the language reads besides Latin; languages not named read Latin alone."""

_WORD = re.compile(r"[^\W\d_]+")


def script_of(letter: str) -> str:
    """The script of a letter ("Latin", "Han"…), or "" when it is none we know."""
    code = ord(letter)
    at = bisect_right(_STARTS, code) - 1
    if at < 0:
        return ""
    _, last, script = _RANGES[at]
    return script if code <= last else ""


def unspeakable_scripts(text: str, language: str) -> set[str]:
    """Scripts of words in `text` that a voice of `language` ("en", "en-US", "zh_CN") cannot read.

    Single Greek letters are signs (π, Ω), not words.
    """
    if text.isascii():
        return set()
    reads = {"Latin"} | _READS.get(language.replace("_", "-").split("-")[0].lower(), set())
    found: set[str] = set()
    for word in _WORD.findall(text):
        if word.isascii():
            continue
        scripts = {script for letter in word if (script := script_of(letter))} - reads
        found |= scripts - {"Greek"} if len(word) == 1 else scripts
    return found


def has_words(text: str) -> bool:
    """Is there anything to speak: a letter or a digit? Text of only emoji, marks or markup has none."""
    return any(ch.isalnum() for ch in text)
