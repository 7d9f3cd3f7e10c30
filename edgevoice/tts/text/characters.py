"""Single characters that are never spoken, and those that stand for a border."""

from __future__ import annotations

import unicodedata

from edgevoice.tts.text.markup import EMOJI, KEPT_SYMBOLS

BREAK = "\ufdd0"
"""Stands for an emoji: a word border without sound (a noncharacter, so clean text cannot hold it)."""


def clean(text: str) -> str:
    """Drop or replace single characters: controls, surrogates, zero-width, private use, emoji, odd spaces."""
    return text if text.isascii() and text.isprintable() else "".join(map(_character, text))


def _character(ch: str) -> str:
    if ch in "\n\r\u2028\u2029\x0b\x0c\x85":
        return "\n"
    if ch == "\t":
        return " "
    if ch < "\x7f":
        return "" if ch < " " else ch
    category = unicodedata.category(ch)
    if category == "Zs":
        return " "
    if category in ("Cc", "Cf", "Cs", "Co", "Cn") or ch in "\ufe0e\ufe0f\u20e3\ufffd\ufffc":
        return ""
    return BREAK if EMOJI.match(ch) and ch not in KEPT_SYMBOLS else ch
