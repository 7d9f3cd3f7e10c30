"""One normaliser for spoken text: for scoring (so that two spellings of the same words count as equal) and for phrases.

Follows the English normaliser described in the appendix of the Whisper paper (Radford et al., 2022): case, punctuation,
numbers, titles, contractions and fillers do not count as errors. Numbers become words, as the recogniser writes them.
"""

from __future__ import annotations

import re
import unicodedata

from num2words import num2words

_WRITTEN_OUT = (
    (r"\bmr\b\.?", "mister"),
    (r"\bmrs\b\.?", "missus"),
    (r"\bms\b\.?", "miss"),
    (r"\bdr\b\.?", "doctor"),
    (r"\bprof\b\.", "professor"),
    (r"\bst\b\.", "saint"),
    (r"\bo'clock\b", "oclock"),
    (r"\bok\b", "okay"),
)
_CONTRACTIONS = (
    (r"\bwon't\b", "will not"),
    (r"\bcan't\b", "can not"),
    (r"\bcannot\b", "can not"),
    (r"\blet's\b", "let us"),
    (r"\bain't\b", "aint"),
    (r"\by'all\b", "you all"),
    (r"\bwanna\b", "want to"),
    (r"\bgonna\b", "going to"),
    (r"\bgotta\b", "got to"),
    (r"n't\b", " not"),
    (r"'re\b", " are"),
    (r"'ll\b", " will"),
    (r"'ve\b", " have"),
    (r"'m\b", " am"),
    (r"\b(it|he|she|that|what|where|who|there|here|how)'s\b", r"\1 is"),
    (r"\b(i|you|he|she|we|they|it)'d\b", r"\1 would"),
)
_FILLERS = re.compile(r"\b(uh|um|uhm|hmm|mm|mhm|mmm|er|erm)\b")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})\b")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3}){1,4}(?![\d])(\.\d)?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MONEY = re.compile(r"([$£€])\s?(\d+(?:\.\d+)?)")
_CURRENCY = {"$": "dollars", "£": "pounds", "€": "euros"}
_SPELLINGS = {
    "colour": "color", "favourite": "favorite", "grey": "gray", "theatre": "theater", "centre": "center",
    "neighbour": "neighbor", "honour": "honor", "programme": "program", "travelling": "traveling", "mum": "mom",
    "alright": "all right", "anymore": "any more", "tv": "t v", "pm": "p m", "am": "am", "upstairs": "up stairs",
}  # fmt: skip


def plain_words(text: str) -> str:
    """Lower-case words without punctuation, numbers and signs written out: as the recogniser writes what it hears."""
    text = unicodedata.normalize("NFKD", text).lower()
    text = re.sub(r"[\u2018\u2019\u02bc]", "'", text)
    text = re.sub(r"[\[(<][^\])>]*[\])>]", " ", text)
    text = _THOUSANDS.sub(
        lambda m: m[0].replace(",", "") if m[1] else f" {_cardinal(int(m[0].replace(',', '')))} ", text
    )
    text = _MONEY.sub(lambda m: f" {m[2]} {_CURRENCY[m[1]]} ", text)
    text = text.replace("&", " and ").replace("%", " percent ").replace("°", " degrees ").replace("+", " plus ")
    for pattern, replacement in _WRITTEN_OUT:
        text = re.sub(pattern, replacement, text)
    text = _CLOCK.sub(lambda m: f" {m[1]} {'' if m[2] == '00' else m[2]} ", text)
    text = _ORDINAL.sub(lambda m: f" {num2words(int(m[1][:15]), to='ordinal')} ", text)
    text = _NUMBER.sub(_spoken_number, text)
    text = re.sub(r"[^a-z' ]+", " ", text)
    text = re.sub(r"(^|\s)'+|'+(\s|$)", " ", text)
    return " ".join(text.split())


def scoring_form(text: str) -> str:
    """`plain_words` with equal ways of writing made equal, for error rates."""
    text = plain_words(text)
    for pattern, replacement in _CONTRACTIONS:
        text = re.sub(pattern, replacement, text)
    text = _FILLERS.sub(" ", text)
    return " ".join(_SPELLINGS.get(word, word) for word in text.replace("'", "").split())


def _spoken_number(match: re.Match[str]) -> str:
    digits = match[0]
    if len(digits) > 15:
        return " " + " ".join(num2words(int(d)) for d in digits if d.isdigit()) + " "
    value = float(digits) if "." in digits else int(digits)
    # 1920 is read as a year; 1,920 never is, and has been written out before.
    if isinstance(value, int) and 1100 <= value <= 2099 and value % 1000 >= 10:
        return f" {num2words(value, to='year')} "
    return f" {_cardinal(value)} "


def _cardinal(value: float) -> str:
    return str(num2words(value)).replace(",", "")
