from __future__ import annotations

from pathlib import Path

import pytest

from edgevoice.asr.graph import WordGraph, open_graph
from edgevoice.asr.recognizer import Word
from edgevoice.asr.search import SearchOptions, WordSearch, stable_prefix
from tests.asr.conftest import say


@pytest.fixture
def search(tiny_lm: Path, tmp_path: Path) -> WordSearch:
    graph: WordGraph = open_graph(tiny_lm, tmp_path / "cache")
    return WordSearch(graph, SearchOptions())


def test_pieces_of_any_length_give_the_same_words(search: WordSearch) -> None:
    evidence = say("turn on the light")
    search.accept(evidence)
    whole = search.words(final=True)
    search.reset()
    for start in range(0, len(evidence), 7):
        search.accept(evidence[start : start + 7])
    assert search.words(final=True) == whole


def test_word_times_are_in_order_and_within_the_sound(search: WordSearch) -> None:
    evidence = say("turn on the light")
    search.accept(evidence)
    words = search.words(final=True)
    assert [word.text for word in words] == ["turn", "on", "the", "light"]
    times = [time for word in words for time in (word.start, word.end)]
    assert times == sorted(times)
    assert times[0] >= 0.08 - 1e-9  # four blanks come first
    assert times[-1] <= len(evidence) * 0.02


def test_clear_words_are_surer_than_mumbled_ones(search: WordSearch) -> None:
    search.accept(say("turn on", certainty=0.95))
    clear = search.words(final=True)
    search.reset()
    search.accept(say("turn on", certainty=0.5))
    mumbled = search.words(final=True)
    assert [w.text for w in clear] == [w.text for w in mumbled]
    assert min(w.confidence for w in clear) > max(w.confidence for w in mumbled)
    assert all(0 <= w.confidence <= 1 for w in (*clear, *mumbled))


def test_no_sound_no_words(search: WordSearch) -> None:
    assert search.words() == ()
    search.accept(say(""))
    assert search.words(final=True) == ()


def test_asking_does_not_disturb_the_search(search: WordSearch) -> None:
    evidence = say("turn on the light")
    for frame in range(0, len(evidence), 5):
        search.accept(evidence[frame : frame + 5])
        search.words()
        search.words(final=True)
    assert " ".join(word.text for word in search.words(final=True)) == "turn on the light"


def words(*pairs: tuple[str, float]) -> tuple[Word, ...]:
    return tuple(Word(text, 0, 0, confidence) for text, confidence in pairs)


@pytest.mark.parametrize(
    ("previous", "current", "stable"),
    [
        (words(), words(), 0),
        (words(), words(("turn", 0.5)), 0),
        (words(("turn", 0.5)), words(("turn", 0.5), ("on", 0.5)), 1),
        (words(("turn", 0.5), ("of", 0.5)), words(("turn", 0.5), ("on", 0.5)), 1),
        (words(), words(("turn", 0.9), ("on", 0.5)), 1),
        (words(), words(("turn", 0.9)), 0),
        (words(("tern", 0.5), ("on", 0.5)), words(("turn", 0.5), ("on", 0.5)), 0),
    ],
)
def test_stable_are_words_unchanged_over_two_decodes_or_sure(
    previous: tuple[Word, ...], current: tuple[Word, ...], stable: int
) -> None:
    assert stable_prefix(previous, current) == stable
