"""Sums in words: "what is two plus two". A small language model guesses at numbers; a voice assistant must not."""

from __future__ import annotations

import re
from collections.abc import Callable

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES = {w: i for i, w in enumerate(_SMALL)} | {w: 10 * i for i, w in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_OPERATORS: dict[str, Callable[[float, float], float]] = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": lambda a, b: a * b,
    "multiplied by": lambda a, b: a * b,
    "divided by": lambda a, b: a / b,
    "percent of": lambda a, b: a * b / 100,
}
_SUM = re.compile(rf"(?:what is|what's|whats|how much is|calculate)? ?(.+?) ({'|'.join(_OPERATORS)}) (.+)")


def number(text: str) -> float | None:
    """The value of a spoken or written number ("two hundred and five", "3.5"); None if it is none."""
    if re.fullmatch(r"-?\d{1,12}(\.\d{1,6})?", text):
        return float(text)
    total = current = 0.0
    words = [w for w in text.replace("-", " ").split() if w != "and"]
    whole, _, decimals = " ".join(words).partition(" point ")
    for word in whole.split():
        if word in _VALUES:
            current += _VALUES[word]
        elif word == "hundred":
            current = (current or 1) * 100
        elif word in _SCALES:
            total, current = total + (current or 1) * _SCALES[word], 0.0
        elif word != "a":
            return None
    if decimals:
        digits = [_VALUES.get(w, 10) for w in decimals.split()]
        if any(d > 9 for d in digits):
            return None
        current += float("0." + "".join(map(str, digits)))
    return total + current if words and words != ["a"] else None


def answer(text: str) -> str | None:
    """The spoken result of a sum of two numbers; None if `text` (plain words) is no such thing."""
    match = _SUM.fullmatch(text)
    if not match:
        return None
    left, operator, right = match.groups()
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    if operator == "divided by" and b == 0:
        return "Nothing can be divided by zero."
    result = round(_OPERATORS[operator](a, b), 4)
    shown = f"{result:,.4f}".rstrip("0").rstrip(".")
    return f"{left[:1].upper()}{left[1:]} {operator} {right} is {shown}."
