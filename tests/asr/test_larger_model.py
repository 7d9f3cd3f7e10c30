"""The language model that judges finished readings: its arrays, and what it changes."""

from __future__ import annotations

import math
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from edgevoice.asr.biasing import Phrase, add_phrases
from edgevoice.asr.ctc import LANGUAGE_MODEL_FILE, LARGER_MODEL_FILE, StreamingCtc
from edgevoice.asr.graph import WordGraph
from edgevoice.asr.larger_model import LargerModel, open_larger
from edgevoice.asr.ngrams import Ngrams
from edgevoice.asr.rescoring import Rescorer
from edgevoice.asr.search import SearchOptions
from edgevoice.errors import ModelDataError
from edgevoice.models.store import find
from scripts.asr.backoff import END, START, BackoffModel
from scripts.asr.pack_ngrams import pack
from tests.asr.conftest import say
from tests.asr.test_rescoring import spelled

WORDS = ["four", "letter", "to", "write"]


def logs(probabilities: dict[str, float]) -> dict[tuple[str, ...], float]:
    return {tuple(ngram.split()): math.log(p) for ngram, p in probabilities.items()}


@pytest.fixture
def model() -> BackoffModel:
    unigrams = {"four": 0.2, "letter": 0.1, "to": 0.4, "write": 0.1, END: 0.2, START: 1e-40}
    pairs = {f"{START} write": 0.7, "write to": 0.5, "to four": 0.1, f"letter {END}": 0.6}
    triples = {f"{START} write to": 0.9, "write to four": 0.3}
    backoff = {START: 0.4, "write": 0.6, "to": 0.9, "letter": 0.5, f"{START} write": 0.2, "write to": 0.8}
    return BackoffModel(logs(unigrams | pairs | triples), logs(backoff))


def graph_of(*words: str) -> WordGraph:
    return WordGraph(None, ("", *words))


def test_the_arrays_say_what_the_model_says(model: BackoffModel) -> None:
    packed = Ngrams.of(pack(model, WORDS), "")
    names = [*WORDS, START, END]
    assert packed.start == names.index(START) and packed.end == names.index(END)
    for length in (1, 2, 3):
        for ngram in product([*WORDS, START], repeat=length - 1):
            for last in (*WORDS, END):
                *history, word = (names.index(name) for name in (*ngram, last))
                assert packed.cost(history, word) == pytest.approx(-model.score((*ngram, last)), abs=0.05)


def test_a_triple_without_its_pair_is_found(model: BackoffModel) -> None:
    model.logp[("letter", "to", "write")] = math.log(0.4)
    packed = Ngrams.of(pack(model, WORDS), "")
    assert packed.cost([1, 2], 3) == pytest.approx(-math.log(0.4), abs=0.05)
    assert packed.cost([1], 2) == pytest.approx(-model.score(("letter", "to")), abs=0.05)


def test_what_both_models_say_alike_changes_nothing(model: BackoffModel) -> None:
    packed = Ngrams.of(pack(model, WORDS), "")
    larger = LargerModel(WORDS, packed, packed, graph_of(*WORDS))
    assert larger.correction((4, 3, 1)) == 0.0


def test_the_large_model_takes_the_place_of_the_small_one(model: BackoffModel) -> None:
    small = BackoffModel({ngram: p for ngram, p in model.logp.items() if len(ngram) == 1}, {})
    larger = LargerModel(WORDS, *(Ngrams.of(pack(m, WORDS), "") for m in (small, model)), graph_of(*WORDS))
    gained = sum(model.score(n) for n in ((START, "write"), (START, "write", "to"), ("write", "to", END)))
    lost = sum(small.score((word,)) for word in ("write", "to", END))
    assert larger.correction((4, 3)) == pytest.approx(lost - gained, abs=0.03)


def test_taught_phrases_and_new_words_are_judged_by_neither(model: BackoffModel) -> None:
    small = BackoffModel({ngram: p for ngram, p in model.logp.items() if len(ngram) == 1}, {})
    packed = [Ngrams.of(pack(m, WORDS), "") for m in (small, model)]
    plain = graph_of(*WORDS, "quattro")
    taught = WordGraph(None, plain.words, frozenset({(4, 3)}))
    unknown = LargerModel(WORDS, *packed, plain).correction((5,))
    assert unknown == pytest.approx(0.0, abs=0.05), "only the end is left, and it has no history"
    assert LargerModel(WORDS, *packed, taught).correction((4, 3)) == pytest.approx(unknown, abs=0.05)
    assert LargerModel(WORDS, *packed, plain).correction((4, 3)) != pytest.approx(unknown, abs=0.1)


def test_the_shipped_file_belongs_to_the_shipped_graph_and_knows_more(ctc: StreamingCtc) -> None:
    folder = find("asr-en-ctc", "asr")
    graph = ctc._rescorer._graph
    larger = open_larger(folder / LARGER_MODEL_FILE, folder / LANGUAGE_MODEL_FILE, graph)
    assert larger
    ids = {word: index for index, word in enumerate(graph.words)}
    right, wrong = ("he walked slowly towards the window", "he walk slowly to words the window")
    liked, not_liked = (larger.correction(tuple(ids[word] for word in text.split()), 10.0) for text in (right, wrong))
    assert liked < not_liked - 10


def test_it_decides_where_sound_and_spelling_leave_it_open(ctc: StreamingCtc) -> None:
    graph = ctc._rescorer._graph
    phones = say("four", frames=6)
    undecided = np.log(np.full((len(phones), 29), 1 / 29, np.float32))
    for liked in ("four", "for"):
        disliked = {"four": "for", "for": "four"}[liked]
        unigrams = BackoffModel(logs({liked: 0.9, disliked: 1e-4, END: 0.1}), {})
        level = BackoffModel(logs({liked: 0.45, disliked: 0.45, END: 0.1}), {})
        words = sorted((liked, disliked))
        packed = [Ngrams.of(pack(model, words), "") for model in (level, unigrams)]
        found = Rescorer(graph, SearchOptions(), larger=LargerModel(words, *packed, graph)).words(phones, undecided)
        assert found and [word.text for word in found] == [liked]


def test_taught_phrases_are_noted_in_the_graph(ctc: StreamingCtc) -> None:
    ctc.load()
    graph = add_phrases(ctc._rescorer._graph, [Phrase("quattro stagioni")])
    assert [[graph.words[word] for word in phrase] for phrase in graph.phrases] == [["quattro", "stagioni"]]


def test_the_file_of_another_language_model_is_not_used(tmp_path: Path, ctc: StreamingCtc) -> None:
    folder = find("asr-en-ctc", "asr")
    other = tmp_path / "lm.arpa.gz"
    other.write_bytes((folder / LANGUAGE_MODEL_FILE).read_bytes() + b"\0")
    graph = ctc._rescorer._graph
    assert open_larger(folder / LARGER_MODEL_FILE, other, graph) is None
    assert open_larger(tmp_path / "none.npz", other, graph) is None


@pytest.mark.parametrize("damage", ["cut", "noise", "empty"])
def test_a_damaged_file_is_named(tmp_path: Path, ctc: StreamingCtc, damage: str) -> None:
    folder = find("asr-en-ctc", "asr")
    path = tmp_path / LARGER_MODEL_FILE
    shutil.copy(folder / LARGER_MODEL_FILE, path)
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "noise": bytes(1000), "empty": b""}[damage])
    with pytest.raises(ModelDataError, match=LARGER_MODEL_FILE):
        open_larger(path, folder / LANGUAGE_MODEL_FILE, ctc._rescorer._graph)


def test_spelling_still_has_its_say(ctc: StreamingCtc) -> None:
    phones = say("turn four", frames=6)
    for text in ("turn four", "turn for"):
        words = ctc._rescorer.words(phones, spelled(text, len(phones)))
        assert words and " ".join(word.text for word in words) == text
