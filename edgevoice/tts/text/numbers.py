"""Numbers as words (American English), on top of num2words."""

from __future__ import annotations

import re
from functools import lru_cache

from num2words import num2words

NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<![\w.])\.\d+)"
"""A number as written in English: `1,234.5`, `12`, `.5`."""

_LONGEST = 18
"""Digits of the largest number that is read as one number; longer ones digit by digit."""

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@lru_cache(maxsize=4096)
def cardinal(number: int) -> str:
    """`1234` → "one thousand two hundred thirty-four"."""
    words: str = num2words(number)
    return words.replace(",", "").replace(" and ", " ")


@lru_cache(maxsize=4096)
def ordinal(number: int) -> str:
    """`21` → "twenty-first"."""
    words: str = num2words(number, to="ordinal")
    return words.replace(",", "").replace(" and ", " ")


def digits(text: str) -> str:
    """`042` → "zero four two"."""
    return " ".join(DIGITS[int(ch)] for ch in text if ch.isdecimal())


def pairs(number: int) -> str:
    """As room numbers are read: `1920` → "nineteen twenty", `305` → "three oh five", `1900` → "nineteen hundred"."""
    head, tail = divmod(number, 100)
    if not head or number > 9999:
        return cardinal(number)
    if not tail:
        return f"{cardinal(head)} hundred"
    return f"{cardinal(head)} {'oh ' if tail < 10 else ''}{cardinal(tail)}"


def year(number: int) -> str:
    """`1920` → "nineteen twenty", `2005` → "two thousand five", `476` → "four seventy-six"."""
    if number % 1000 < 10 or number > 2999:
        return cardinal(number)
    return pairs(number)


def plural(words: str) -> str:
    """ "nineteen twenty" → "nineteen twenties"."""
    return words[:-1] + "ies" if words.endswith("y") else words + ("es" if words.endswith("x") else "s")


def whole(text: str) -> str:
    """A run of digits: a number, or its digits when it begins with zero or is too long to be read as one."""
    if len(text) > _LONGEST or (len(text) > 1 and text[0] == "0"):
        return digits(text)
    return cardinal(int(text))


_EUROPEAN = re.compile(r"(\d{1,3}(?:\.\d{3})+),(\d{1,2})\Z")


def number(text: str) -> str:
    """A number as written: `1,000.50`, `3.14`, `.5`, `1.000,50`, `-2`."""
    if text[:1] in ("-", "−", "–"):
        return f"minus {number(text[1:])}"
    if european := _EUROPEAN.match(text):
        text = european.group(1).replace(".", "") + "." + european.group(2)
    before, point, after = text.replace(",", "").partition(".")
    if not point or not after:
        return whole(before or "0")
    head = "zero" if before.strip("0") == "" else whole(before)
    return f"{head} point {digits(after)}"


def is_one(text: str) -> bool:
    """Does a noun after this number stand in the singular?"""
    return text.lstrip("-−") == "1"


_DENOMINATORS = {2: ("half", "halves"), 4: ("quarter", "quarters")}


def fraction(numerator: int, denominator: int) -> str:
    """`3/4` → "three quarters", `5/16` → "five sixteenths", `22/7` → "twenty-two sevenths"."""
    if denominator in _DENOMINATORS:
        one, many = _DENOMINATORS[denominator]
    else:
        one = ordinal(denominator)
        many = one + "s"
    return f"{cardinal(numerator)} {one if numerator == 1 else many}"
