"""The whole way of a text: sanitised, cut into clauses, normalised, as the answer is written."""

from __future__ import annotations

import logging
import re
import tracemalloc

import pytest

from edgevoice.tts.clauses import ClauseBuffer
from edgevoice.tts.normalize import for_speech
from edgevoice.tts.sanitize import Sanitizer
from edgevoice.tts.scripts import has_words

ANSWER = """<think>They want a recipe.</think>**Pancakes** 🥞 for 2 people:

1. Mix 1½ cups of flour and 250 ml of milk, e.g. oat milk.
2. Bake at 180°C for 3-5 min.

| Item | Price |
|------|-------|
| Flour | $1.20 |

See [the recipe](https://example.com/x?y=1) by Dr. Smith.<|im_end|>"""

SPOKEN = [
    "Pancakes for two people:",
    "one, Mix one and a half cups of flour and two hundred fifty milliliters of milk, for example oat milk.",
    "two, Bake at one hundred eighty degrees Celsius for three to five minutes.",
    "Item, Price",
    "Flour, one dollar and twenty cents",
    "See the recipe by Doctor Smith.",
]


def spoken(tokens: list[str]) -> list[str]:
    sanitizer, buffer = Sanitizer(), ClauseBuffer(soft=10**6, hard=10**6, later_min=10**6)
    clauses = [clause for token in tokens for clause in buffer.feed(sanitizer.feed(token), 0.0)]
    clauses += buffer.feed(sanitizer.flush(), 0.0) + buffer.flush()
    return [said for clause in clauses if has_words(said := for_speech(clause).strip())]


@pytest.mark.parametrize("pattern", [r"(?s).", r"(?s)\s*\S+|\s+", r"(?s)\s?[A-Za-z]+|.", r"(?s).+"])
def test_f1_an_answer_is_spoken_the_same_however_it_was_cut(pattern: str) -> None:
    assert spoken(re.findall(pattern, ANSWER)) == SPOKEN


@pytest.mark.parametrize(
    "text", ["😀🎉", "***\n---\n", "| | |\n|---|---|", "<br><hr>", "\x00\u200b\ud800", "<think>no"]
)
def test_text_of_only_markup_holds_nothing_to_say(text: str) -> None:
    assert spoken(list(text)) == []


def test_f6_long_text_takes_flat_memory() -> None:
    """Ten times the text, the same memory."""

    def peak(repeats: int) -> int:
        sanitizer, buffer = Sanitizer(), ClauseBuffer()
        tracemalloc.start()
        for _ in range(repeats):
            for token in re.findall(r"\s?\S+", " The sky is **blue**, and it costs $3.50 today.\n"):
                for clause in buffer.feed(sanitizer.feed(token), 0.0):
                    for_speech(clause)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(500) < 2 * peak(50) + 100_000


def test_a_word_of_ten_thousand_letters_comes_out_in_bounded_pieces() -> None:
    said = spoken(list("Say " + "a" * 10_000 + " now."))
    assert sum(clause.count("a") for clause in said) >= 10_000
    assert max(map(len, said)) <= 700


def test_f8_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        spoken(list(ANSWER))
    assert caplog.text == ""
