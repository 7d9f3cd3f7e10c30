"""What people dictate and no book holds: digits, spelled words, codes, numbers, times, dates; for the language model.

Made from rules, each kind as often as the others; nothing in it comes from a recording.
"""

import calendar
import random
import string
from collections.abc import Iterator

from num2words import num2words

DIGITS = ("zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MONTHS = [name.lower() for name in calendar.month_name[1:]]


def codes(count: int, seed: int = 0) -> Iterator[str]:
    """So many sentences, normalised."""
    chance = random.Random(seed)
    kinds = (_digits, _spelled, _code, _number, _time, _date)
    for _ in range(count):
        yield chance.choice(kinds)(chance)


def _digits(chance: random.Random) -> str:
    length = chance.choice((1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 10))
    zero = chance.choice(("zero", "oh"))
    allowed = [digit for digit in DIGITS if digit not in ("zero", "oh") or digit == zero]
    return " ".join(chance.choice(allowed) for _ in range(length))


def _spelled(chance: random.Random) -> str:
    return " ".join(chance.choice(string.ascii_lowercase) for _ in range(chance.choice((1, 2, 3, 4, 5, 6, 7, 8, 10))))


def _code(chance: random.Random) -> str:
    letters = " ".join(chance.choice(string.ascii_lowercase) for _ in range(chance.randint(1, 4)))
    number = chance.choice((_digits, _number))(chance)
    return f"{letters} {number}" if chance.random() < 0.7 else f"{number} {letters}"


def _number(chance: random.Random) -> str:
    value = chance.randint(*chance.choice(((0, 20), (20, 99), (100, 999), (1000, 9999))))
    ending = chance.choice(
        ("", "", "", " percent", " degrees", " dollars", " minutes", f" point {chance.choice(DIGITS)}")
    )
    return _spoken(value) + ending


def _time(chance: random.Random) -> str:
    hour, minute = _spoken(chance.randint(1, 12)), chance.choice((0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55))
    minutes = "" if not minute else f" {'oh ' if minute < 10 else ''}{_spoken(minute)}"
    half = chance.choice(("", " a m", " p m", "" if minute else " o'clock"))
    return f"{hour}{minutes}{half}"


def _date(chance: random.Random) -> str:
    day = _spoken(chance.randint(1, 31), to="ordinal")
    month = chance.choice(MONTHS)
    return f"{month} {day}" if chance.random() < 0.5 else f"the {day} of {month}"


def _spoken(number: int, to: str = "cardinal") -> str:
    return str(num2words(number, to=to)).replace("-", " ").replace(",", "")
