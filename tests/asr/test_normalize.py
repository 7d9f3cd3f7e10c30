from __future__ import annotations

import pytest

from edgevoice.asr.normalize import plain_words, scoring_form


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("What's the weather, Mr. Brown?", "what's the weather mister brown"),
        ("It costs $12.50.", "it costs twelve point five dollars"),
        ("Wake me at 7:30 on the 3rd", "wake me at seven thirty on the third"),
        ("In 1920 there were 1,500 dogs", "in nineteen twenty there were one thousand five hundred dogs"),
        ("20% of R&D", "twenty percent of r and d"),
        ("don’t 'quote' me", "don't quote me"),
        ("[BLANK_AUDIO] (coughs) hello", "hello"),
        ("Café", "cafe"),
        ("... !", ""),
        ("", ""),
    ],
)
def test_plain_words(written: str, spoken: str) -> None:
    assert plain_words(written) == spoken


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I won't go", "i will not go"),
        ("It's 5 o'clock, um, OK?", "it is five oclock okay"),
        ("We cannot stay", "we can't stay"),
        ("my favourite colour", "my favorite color"),
        ("John's", "johns"),
    ],
)
def test_equal_ways_of_writing_score_as_equal(one: str, other: str) -> None:
    assert scoring_form(one) == scoring_form(other)


def test_different_words_stay_different() -> None:
    assert scoring_form("two") != scoring_form("too")


def test_normalizing_twice_changes_nothing() -> None:
    text = "It's $5, isn't it? Dr. O'Neil's 21st"
    assert plain_words(plain_words(text)) == plain_words(text)
    assert scoring_form(scoring_form(text)) == scoring_form(text)
