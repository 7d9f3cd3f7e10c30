"""What a voice can say of a text: everything else becomes a space, so that character positions stay."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from edgevoice.tts.scripts import has_words, unspeakable_scripts

LONGEST_WORD = 100
"""Letters after which a "word" is cut: nothing a person would say is longer."""

_LONG_WORD = re.compile(rf"[^\W\d_]{{{LONGEST_WORD + 1},}}")
_WORD = re.compile(r"[^\W\d_]+")
_SAID_SYMBOLS = frozenset("+=<>$€£¥^|~%&@°")


@dataclass(frozen=True, slots=True)
class Speakable:
    """The part of a text that a voice can say."""

    text: str
    """As long as the original; spaces where there was something that cannot be said."""
    other_scripts: tuple[str, ...] = ()
    """Scripts left out, e.g. `Cyrillic`."""
    cut_words: int = 0
    """Words cut because they are longer than anything one can say."""

    @property
    def empty(self) -> bool:
        """Whether nothing is left to speak."""
        return not has_words(self.text)

    @property
    def warning(self) -> str:
        """What to tell the user; empty if all is well. Holds none of the text."""
        parts = []
        if self.other_scripts:
            parts.append(f"this voice cannot read {' or '.join(self.other_scripts)} script; that part is left out")
        if self.cut_words:
            parts.append(f"{self.cut_words} word(s) longer than {LONGEST_WORD} letters cut")
        return "; ".join(parts)


def speakable(text: str, language: str) -> Speakable:
    """Blank out control characters, lone surrogates, emoji and words in scripts that voices of `language` do not
    read.
    """
    other: set[str] = set()
    if not (text.isascii() and text.isprintable()):
        text = "".join(" " if _silent(char) else char for char in text)
        text = _WORD.sub(lambda word: _readable(word[0], language, other), text)
    shortened, cuts = _LONG_WORD.subn(lambda word: word[0][:LONGEST_WORD] + " " * (len(word[0]) - LONGEST_WORD), text)
    return Speakable(shortened, tuple(sorted(other)), cuts)


def _silent(char: str) -> bool:
    """Control characters, surrogates, private use, and symbols such as emoji."""
    if char.isascii():
        return char < " " or char == "\x7f"
    return unicodedata.category(char)[0] in "CS" and char not in _SAID_SYMBOLS


def _readable(word: str, language: str, other: set[str]) -> str:
    scripts = unspeakable_scripts(word, language)
    other |= scripts
    return " " * len(word) if scripts else word
