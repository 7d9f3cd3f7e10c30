"""Instant answers, fixed sentences, and the generator without a model."""

from __future__ import annotations

import datetime
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgevoice.errors import InputMissingError, SettingsError
from edgevoice.llm import arithmetic
from edgevoice.llm.factory import build_generator
from edgevoice.llm.generator import Exchange
from edgevoice.llm.intents import Intents
from edgevoice.llm.phrases import phrase, phrases
from edgevoice.llm.template import TemplateGenerator
from edgevoice.settings import LlmSettings, Settings

NOON = datetime.datetime(2026, 3, 2, 12, 0)


def intents(**options: object) -> Intents:
    return Intents(now=lambda: NOON, chance=random.Random(1), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("what time is it", "It is 12 p.m."),
        ("What time is it, please?", "It is 12 p.m."),
        ("could you please tell me the time", "It is 12 p.m."),
        ("what day is it today", "It is Monday."),
        ("what's today's date", "It is Monday, March 2."),
        ("stop", "Okay."),
        ("Never mind.", "Okay."),
        ("thank you very much", "You are welcome."),
        ("what is two plus two", "Two plus two is 4."),
        ("how much is 15 percent of two hundred", "15 percent of two hundred is 30."),
        ("what is seven divided by zero", "Nothing can be divided by zero."),
        ("how do you spell cat", "C, A, T."),
        ("repeat that", "I have not said anything yet."),
    ],
)
def test_answers_at_once(words: str, expected: str) -> None:
    assert intents().reply(words) == expected


@pytest.mark.parametrize(
    "words",
    [
        "",
        "what time is it in tokyo",
        "don't stop",
        "stop the kitchen timer",
        "tell me a joke about cats",
        "what is a plus b",
        "what is the time of day called when the sun sets",
        "thank you for the music",
    ],
)
def test_leaves_everything_else_to_the_model(words: str) -> None:
    assert intents().reply(words) is None


def test_repeats_the_last_thing_it_was_heard_to_say() -> None:
    history = (Exchange("hello", "Hello there."), Exchange("what", "", interrupted=True))
    assert intents().reply("say that again", history) == "Hello there."


def test_several_replies_take_turns() -> None:
    own = intents()
    jokes = [own.reply("tell me a joke") for _ in range(3)]
    assert len(set(jokes)) == 3
    assert set(jokes) <= set(own.fixed_replies())


def test_own_intents_come_first(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[tea]\nsay = ["(make|brew) [some] tea", "hello"]\nreply = "The kettle is {weekday}."\n')
    own = intents(own=file)
    assert own.reply("Brew some tea!") == own.reply("make tea") == own.reply("hello") == "The kettle is Monday."
    assert own.reply("make coffee") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a]\nsay = 'x'\nreply = 'y'", "needs `say`"),
        ("[a]\nsay = ['x']", "needs `say`"),
        ("a = 1", "needs `say`"),
        ("[a]\nsay = ['x']\nreply = '{shell}'", "unknown blank"),
        ("[a]\nsay = ['x (y']\nreply = 'z'", "brackets"),
        ("not toml", "own.toml"),
        ("[a]\nsay = ['x']\nreply = 5", "needs `say`"),
        ("[a]\nsay = ['x']\nreply = ['y', 5]", "needs `say`"),
    ],
)
def test_bad_intent_files_are_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=re.escape(words)):
        Intents(own=file)
    with pytest.raises(InputMissingError):
        Intents(own=tmp_path / "none.toml")


@given(st.text(max_size=200))
def test_any_words_are_harmless(words: str) -> None:
    reply = intents().reply(words)
    assert reply is None or reply


@pytest.mark.parametrize(
    ("text", "value"),
    [("two hundred and five", 205), ("three point one four", 3.14), ("twelve thousand", 12000), ("forty-two", 42),
     ("a hundred", 100), ("3.5", 3.5), ("cat", None), ("a", None), ("", None), ("three point cat", None)],
)  # fmt: skip
def test_numbers(text: str, value: float | None) -> None:
    assert arithmetic.number(text) == value


def test_every_language_has_every_phrase() -> None:
    assert {"failed", "missed", "wait", "reduced", "again"} <= set(phrases("en"))
    for language in ("de", "es", "fr"):
        assert all(phrase(name, language) not in ("", phrase(name)) for name in phrases("en"))
    assert phrase("failed", "xx") == phrase("failed") and phrase("none") == ""


def test_generator_of_last_resort() -> None:
    generator = build_generator(Settings(llm=LlmSettings(backend="template")))
    assert isinstance(generator, TemplateGenerator)
    generator.load()
    generator.warm()
    assert [t.text for t in generator.generate((), "anything")] == [phrase("reduced")]
    assert list(generator.generate((), "anything", lambda: True)) == []
    assert generator.prefill((), "x").tokens == 0 and 0 <= generator.completeness() <= 1
    generator.close()


def test_factory_names_an_unknown_back_end() -> None:
    with pytest.raises(SettingsError, match=r"llm\.backend.*llama, template"):
        build_generator(Settings(llm=LlmSettings(backend="llamma")))
    assert build_generator(Settings()).name == "gemma3-270m"
