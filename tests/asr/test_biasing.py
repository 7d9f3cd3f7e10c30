from __future__ import annotations

from pathlib import Path

import pytest

from edgevoice.asr.biasing import Phrase, add_phrases, parse_phrase, parse_phrases
from edgevoice.asr.graph import open_graph
from edgevoice.asr.search import SearchOptions, WordSearch
from edgevoice.errors import SettingsError, UsageError
from tests.asr.conftest import say


def heard(tiny_lm: Path, folder: Path, phrases: list[Phrase], text: str) -> str:
    graph = add_phrases(open_graph(tiny_lm, folder), phrases)
    search = WordSearch(graph, SearchOptions())
    search.accept(say(text))
    return " ".join(word.text for word in search.words(final=True))


def test_a_word_that_no_dictionary_knows_is_heard_once_taught(tiny_lm: Path, tmp_path: Path) -> None:
    said = "turn on the fizzlechip"
    assert heard(tiny_lm, tmp_path, [], said) != said
    assert heard(tiny_lm, tmp_path, [Phrase("fizzlechip")], said) == said


def test_a_phrase_of_several_words_is_heard_amid_others(tiny_lm: Path, tmp_path: Path) -> None:
    said = "turn quattro stagioni on"
    assert heard(tiny_lm, tmp_path, [Phrase("quattro stagioni")], said) == said


def test_what_is_not_said_is_not_heard(tiny_lm: Path, tmp_path: Path) -> None:
    assert heard(tiny_lm, tmp_path, [Phrase("lamplight"), Phrase("turing")], "turn on the light") == "turn on the light"


def test_more_weight_wins_over_a_word_of_equal_sound(tiny_lm: Path, tmp_path: Path) -> None:
    assert heard(tiny_lm, tmp_path, [Phrase("lite", 0)], "turn on the light") == "turn on the light"
    assert heard(tiny_lm, tmp_path, [Phrase("lite", 10)], "turn on the light") == "turn on the lite"


def test_phrases_are_written_as_they_are_spoken() -> None:
    assert parse_phrase("Route 66=4.5") == Phrase("route sixty six", 4.5)
    assert parse_phrase("O'Brien") == Phrase("o'brien", 3.0)
    assert parse_phrases(["a b=1", "A B=2"]) == (Phrase("a b", 2.0),)


@pytest.mark.parametrize("entry", ["", "=3", "x=much", "x=11", "x=-1", "x=nan", "…"])
def test_bad_phrases_are_refused(entry: str) -> None:
    with pytest.raises(SettingsError, match="phrase"):
        parse_phrase(entry)


def test_unpronounceable_words_are_refused(tiny_lm: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pronounced"):
        add_phrases(open_graph(tiny_lm, tmp_path), [Phrase("'")])
