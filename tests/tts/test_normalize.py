"""Text for speech: what a person would say, row by row, and no surprises on anything else."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgevoice.tts.normalize import _ENGLISH, _english, for_speech

TABLE = Path(__file__).with_name("normalize_en.tsv")


def rows() -> list[tuple[str, str]]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [(written, said) for line in lines if not line.startswith("#") for written, said in [line.split("\t")]]


def words(text: str) -> list[str]:
    """The spoken words: case, hyphens and punctuation make no sound."""
    return re.sub(r"[^\w']+", " ", text.lower()).split()


def test_f4_every_row_is_said_as_a_person_would() -> None:
    failing = [
        f"{written!r}\n    said     {for_speech(written)!r}\n    expected {said!r}"
        for written, said in rows()
        if words(for_speech(written)) != words(said)
    ]
    assert not failing, f"{len(failing)} of {len(rows())} rows:\n" + "\n".join(failing)


def test_f4_the_table_is_large_and_its_words_hold_no_digits() -> None:
    table = rows()
    assert len(table) >= 300
    assert len({written for written, _ in table}) == len(table)
    assert not [said for _, said in table if re.search(r"\d", said)]


def test_sentence_punctuation_is_kept() -> None:
    assert for_speech("It costs $5. Is it 3? No, 4!") == "It costs five dollars. Is it three? No, four!"
    assert for_speech("He lives in the U.S.") == "He lives in the U S."
    assert for_speech("Bread, milk, etc.") == "Bread, milk, et cetera."


@pytest.mark.parametrize("language", ["de", "fr-FR", "zh", "", "??", "eng"])
def test_unknown_languages_are_left_alone(language: str) -> None:
    text = "Am 3.5. kostet es 1.000,50 €, Dr. Müller!"
    assert for_speech(text, language) == text


@pytest.mark.parametrize("language", ["en", "en-US", "en_GB", "EN"])
def test_all_kinds_of_english(language: str) -> None:
    assert for_speech("$5", language) == "five dollars"


ODD = st.sampled_from(
    [
        *(
            "$",
            "€",
            "#",
            "%",
            "°C",
            "km/h",
            "1/0",
            "0/0",
            "99/99",
            "-",
            "–",
            ".",
            ",",
            ":",
            "/",
            "^",
            "²",
            "½",
            "e5",
            "x",
            "*",
        ),
        *(
            "0",
            "1",
            "12",
            "1,000",
            "1.000,5",
            "9" * 30,
            "24:61",
            "99:99",
            "2024-13-45",
            "13/13/2024",
            "May 99",
            "'00s",
            "0000s",
        ),
        *(
            "999.999.999.999",
            "v1.",
            "a@b.co",
            "http://",
            "https://x.y:99999/",
            "No. 5",
            "St.",
            "Dr.",
            "MMMM",
            "King I",
            "U.S.",
        ),
        *(
            "+1 555 123 4567",
            "1e999",
            "٣٤",
            "１２",
            "²",
            "①",
            "Ⅷ",
            "\ud800",
            "\x00",
            "😀",
            "你好",
            "(",
            ")",
            "\n",
            "am",
            "p.m.",
            "$1.2k",
        ),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(ODD | st.text(max_size=4), max_size=12), st.sampled_from(["", " "]))
@example(["9" * 5000], "")
@example(["1/0"], "")
@example(["²", "a@b.co"], "")
def test_it_never_raises_and_leaves_no_digit(pieces: list[str], glue: str) -> None:
    said = for_speech(glue.join(pieces))
    assert not re.search(r"\d", said)


def test_any_text_is_safe_in_any_language() -> None:
    assert for_speech("\ud800\x00" * 10) is not None
    assert for_speech("a" * 10_000) == "a" * 10_000


LONG = [
    "1",
    "1.",
    "1,",
    "1-",
    "a.",
    "A.",
    "a-",
    "/a",
    "1/",
    "$",
    "1 ",
    "Dr. ",
    "a@",
    "1:",
    "I",
    "X ",
    "_",
    "a_1.",
    "(1",
    "é",
    "½",
    "^2",
    "1x",
    "$1=",
    "$a ",
    "\\frac{",
    "1x10^8",
    "https://a",
    "\\(",
]


@pytest.mark.parametrize("unit", LONG)
def test_no_text_makes_a_rule_explode(unit: str) -> None:
    """Twice the text may cost about twice the time, not four or a thousand times."""

    def cost(length: int) -> float:
        text = (unit * length)[:length]
        begun = time.process_time()
        _english.__wrapped__(text)
        return time.process_time() - begun

    cost(100)
    assert cost(1600) < 40 * max(cost(400), cost(400), 0.0005)


def test_a_clause_costs_little_beside_its_speech() -> None:
    """Counted, not timed: few rules even look at an ordinary clause."""
    clause = "The capital of France is Paris, and it is a beautiful city"
    tried = [rule for rule in _ENGLISH if not rule.needs or any(sign in clause for sign in rule.needs)]
    assert len(tried) < len(_ENGLISH) * 0.45
