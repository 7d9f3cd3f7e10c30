from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from edgevoice.asr import graph
from edgevoice.asr.graph import FACTS, GRAPH, open_graph
from edgevoice.asr.search import SearchOptions, WordSearch
from edgevoice.errors import ModelDataError, ModelMissingError, StorageError
from tests.asr.conftest import TINY_ARPA, say


def heard(word_graph: graph.WordGraph, text: str) -> str:
    search = WordSearch(word_graph, SearchOptions())
    search.accept(say(text))
    return " ".join(word.text for word in search.words(final=True))


@pytest.mark.parametrize("text", ["turn on the light", "late", "the late light turn"])
def test_clear_phones_become_their_words(tiny_lm: Path, tmp_path: Path, text: str) -> None:
    assert heard(open_graph(tiny_lm, tmp_path / "cache"), text) == text


def test_the_second_time_the_kept_graph_is_read(tiny_lm: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    open_graph(tiny_lm, tmp_path, lambda what, fraction: steps.append(what))
    assert steps[-1] == "word graph built"
    steps.clear()
    open_graph(tiny_lm, tmp_path, lambda what, fraction: steps.append(what))
    assert steps == []


@pytest.mark.parametrize("damage", ["cut", "flip", "facts"])
def test_a_damaged_graph_is_built_again(tiny_lm: Path, tmp_path: Path, damage: str) -> None:
    open_graph(tiny_lm, tmp_path)
    (folder,) = tmp_path.glob("word-graph-*")
    file = folder / (FACTS if damage == "facts" else GRAPH)
    data = bytearray(file.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
    file.write_bytes(data if damage == "flip" else data[: len(data) // 2])
    assert heard(open_graph(tiny_lm, tmp_path), "turn on") == "turn on"


def test_another_language_model_gets_another_graph(tiny_lm: Path, tmp_path: Path) -> None:
    open_graph(tiny_lm, tmp_path / "cache")
    tiny_lm.write_text(TINY_ARPA.replace("late", "lamp"))
    assert heard(open_graph(tiny_lm, tmp_path / "cache"), "turn on the lamp") == "turn on the lamp"


def test_graphs_of_former_language_models_are_removed(tiny_lm: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    building = cache / "word-graph-0123.99.partial"
    building.mkdir(parents=True)
    for word in ("lamp", "lime", "loom", "lane"):
        tiny_lm.write_text(TINY_ARPA.replace("late", word))
        open_graph(tiny_lm, cache)
    assert len(list(cache.glob("word-graph-*"))) == 3 and building.exists(), "two, and one that is being built"
    steps: list[str] = []
    open_graph(tiny_lm, cache, lambda what, fraction: steps.append(what))
    assert steps == [], "the last is there"


def test_nothing_half_built_is_left(tiny_lm: Path, tmp_path: Path) -> None:
    def stop(what: str, fraction: float) -> None:
        if fraction >= 0.9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_graph(tiny_lm, tmp_path / "cache", stop)
    assert not list((tmp_path / "cache").glob("*")) if (tmp_path / "cache").exists() else True


def test_missing_language_model(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"lm\.arpa"):
        open_graph(tmp_path / "lm.arpa", tmp_path)


@pytest.mark.parametrize("kind", ["empty", "cut gzip", "binary", "prose"])
def test_a_damaged_language_model_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lm.arpa.gz"
    whole = gzip.compress(TINY_ARPA.encode() * 50)
    content = {"empty": b"", "cut gzip": whole[:-20], "binary": os.urandom(500), "prose": gzip.compress(b"hello\n")}
    path.write_bytes(content[kind])
    with pytest.raises(ModelDataError, match=r"lm\.arpa\.gz"):
        open_graph(path, tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_unwritable_cache_is_one_clear_error(tiny_lm: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StorageError, match="disk space"):
        open_graph(tiny_lm, blocked / "cache")
