"""Text normalising for speech: `$3.50 at 9:30 a.m.` → "three dollars and fifty cents at nine thirty A M".

English only so far; text in any other language is returned unchanged, because a wrong reading is worse than the
voice's own. The rules live in `edgevoice.tts.text`, one file per subject. Their order matters: whatever gives digits
and dots another meaning (addresses, phone numbers, dates, money) comes before plain numbers.
"""

from __future__ import annotations

from functools import lru_cache

from edgevoice.tts.text import addresses, calendar, latex, names, quantities, symbols
from edgevoice.tts.text.rules import Rule

_ENGLISH: tuple[Rule, ...] = (
    *latex.RULES,
    *addresses.RULES,
    *symbols.SIGNS,
    *names.RULES,
    *names.ROMAN,
    *calendar.RULES,
    *quantities.MONEY,
    *quantities.MEASURES,
    *quantities.ARITHMETIC,
    *calendar.YEARS,
    *names.INITIALS,
    *symbols.NUMBERS,
    *symbols.REST,
)

_PIECE = 2000
"""Longest piece the rules are applied to at once, in characters."""


def for_speech(text: str, language: str = "en") -> str:
    """The words a person would say for `text` in `language` ("en", "en-US", "en_GB"…). Never raises.

    English comes back without digits; other languages come back unchanged.
    """
    if language.replace("_", "-").split("-")[0].lower() != "en":
        return text
    if len(text) <= _PIECE:
        return _english(text)
    return "".join(map(_english, _pieces(text)))


def _pieces(text: str) -> list[str]:
    """Cut long text at white space where there is some, so that no number is torn."""
    pieces, begin = [], 0
    while len(text) - begin > _PIECE:
        end = text.rfind(" ", begin + 1, begin + _PIECE)
        end = end if end > 0 else begin + _PIECE
        pieces.append(text[begin:end])
        begin = end
    return [*pieces, text[begin:]]


@lru_cache(maxsize=256)
def _english(text: str) -> str:
    text = symbols.tidy(text)
    for pattern, replace, needs in _ENGLISH:
        if not needs or any(sign in text for sign in needs):
            text = pattern.sub(replace, text)
    return text
