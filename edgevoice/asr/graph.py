"""The decoding graph: CTC topology ∘ lexicon ∘ n-gram, built once on the device and kept in the cache folder.

The composition follows Mohri, Pereira and Riley (2002) and the CTC topology of EESEN (Miao et al., 2015). Ours lets the
blank be optional between any two phones, equal ones included, which halves the graph. Input labels are the model's
output index + 1, output labels word ids.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kaldifst
import kaldilm

from edgevoice.asr.arpa import open_arpa, unigrams
from edgevoice.asr.lexicon import PHONES, Pronunciation, dictionary_entries
from edgevoice.errors import ModelDataError, ModelMissingError, StorageError
from edgevoice.models.superseded import remove_superseded

log = logging.getLogger(__name__)

FORMAT = 1
"""Raised when the way graphs are built changes, so that cached ones are made anew."""
GRAPH, WORDS, FACTS = "HLG.fst", "words.txt", "graph.json"
_BLANK_LABEL = 1
_DISAMBIGUATION = len(PHONES) + 2
"""First input label that is no phone: #0, then #1, #2 …"""

Progress = Callable[[str, float], None]
"""Called with what is being done and the fraction done in [0, 1]."""


@dataclass(frozen=True)
class WordGraph:
    """A decoding graph in memory."""

    fst: Any
    """`kaldifst.StdVectorFst`."""
    words: tuple[str, ...]
    """Word of each output label; 0 is epsilon."""
    phrases: frozenset[tuple[int, ...]] = frozenset()
    """Taught phrases as word ids."""


def open_graph(language_model: Path, cache: Path, progress: Progress | None = None) -> WordGraph:
    """The graph of an ARPA file (plain or gzip), from `cache` if an intact one is there, else built and kept there.

    Raises ModelMissingError or ModelDataError about the ARPA file, StorageError when the cache cannot be written.
    """
    key = _content_key(language_model)
    folder = cache / f"word-graph-{key}"
    try:
        return _read(folder)
    except FileNotFoundError:
        pass
    except ModelDataError as error:
        log.warning("%s; building it again", error)
    started = time.monotonic()
    _build_in(folder, language_model, key, progress or (lambda what, fraction: None))
    log.info("word graph built in %.1f s", time.monotonic() - started)
    whole = (path for path in cache.glob("word-graph-*") if path.suffix != ".partial")  # another process may build one
    remove_superseded(whole, in_use=folder)
    return _read(folder)


def build(language_model: Path, progress: Progress) -> WordGraph:
    """Compose the graph in memory."""
    progress("reading the language model", 0.0)
    words = [word for word in unigrams(language_model) if word not in ("<s>", "</s>", "<unk>")]
    entries = dictionary_entries(words)
    spoken = sorted({word for word, _ in entries})
    symbols = {word: index for index, word in enumerate(["<eps>", *spoken, "#0", "<s>", "</s>"])}
    progress("compiling the language model", 0.1)
    grammar = _grammar(language_model, symbols)
    progress("compiling the lexicon", 0.3)
    lexicon, disambiguators = _lexicon(entries, symbols)
    progress("composing lexicon and language model", 0.4)
    kaldifst.arcsort(lexicon, "olabel")
    kaldifst.arcsort(grammar, "ilabel")
    graph = kaldifst.compose(lexicon, grammar)
    del lexicon, grammar
    progress("determinizing", 0.5)
    kaldifst.determinize_star(graph)
    kaldifst.minimize_encoded(graph)
    progress("composing with the CTC topology", 0.9)
    kaldifst.arcsort(graph, "ilabel")
    graph = kaldifst.compose(_topology(disambiguators), graph)
    kaldifst.connect(graph)
    progress("word graph built", 1.0)
    return WordGraph(graph, ("", *spoken))


def _grammar(language_model: Path, symbols: dict[str, int]) -> Any:
    """The n-gram as an acceptor of the words in `symbols`; back-off arcs read #0."""
    with tempfile.TemporaryDirectory(prefix="edgevoice-") as folder:
        arpa, table, out = (Path(folder) / name for name in ("lm.arpa", "words.txt", "G.fst"))
        _spoken_part(language_model, arpa, symbols)
        table.write_text("".join(f"{word} {index}\n" for word, index in symbols.items()))
        kaldilm.arpa2fst(
            input_arpa=str(arpa), output_fst=str(out), disambig_symbol="#0", read_symbol_table=str(table), max_order=4
        )
        return kaldifst.StdVectorFst.read(str(out))


def _spoken_part(language_model: Path, out: Path, symbols: dict[str, int]) -> None:
    """Copy an ARPA file without the n-grams that hold a word nobody can say."""
    sections: list[list[str]] = []
    with open_arpa(language_model) as lines:
        for line in lines:
            if line.endswith("-grams:\n"):
                sections.append([])
            elif sections and "\t" in line and all(word in symbols for word in line.split("\t")[1].split()):
                sections[-1].append(line)
    with out.open("w") as file:
        file.write("\\data\\\n" + "".join(f"ngram {n}={len(s)}\n" for n, s in enumerate(sections, 1)))
        for order, section in enumerate(sections, 1):
            file.write(f"\n\\{order}-grams:\n")
            file.writelines(section)
        file.write("\n\\end\\\n")


def _lexicon(entries: list[tuple[str, Pronunciation]], symbols: dict[str, int]) -> tuple[Any, int]:
    """The lexicon transducer (phones in, words out) and the number of disambiguation symbols in use."""
    spoken_alike = Counter(variant for _, variant in entries)
    beginnings = {variant[:length] for _, variant in entries for length in range(1, len(variant))}
    used: Counter[Pronunciation] = Counter()
    fst = kaldifst.StdVectorFst()
    home = fst.add_state()
    fst.start = home
    fst.set_final(home, 0.0)
    for word, variant in entries:
        labels = [phone + 1 for phone in variant]
        if spoken_alike[variant] > 1 or variant in beginnings:
            used[variant] += 1
            labels.append(_DISAMBIGUATION + used[variant])
        state, output = home, symbols[word]
        for position, label in enumerate(labels):
            target = home if position == len(labels) - 1 else fst.add_state()
            fst.add_arc(state, kaldifst.StdArc(label, output, 0.0, target))
            state, output = target, 0
    fst.add_arc(home, kaldifst.StdArc(_DISAMBIGUATION, symbols["#0"], 0.0, home))
    return fst, 1 + max(used.values(), default=0)


def _topology(disambiguators: int) -> Any:
    """CTC: state 0 reads blanks; a phone enters its own state, may repeat there, and leaves it without a sound.

    Disambiguation symbols have done their work in determinization: here they are read from nothing.
    """
    fst = kaldifst.StdVectorFst()
    home = fst.add_state()
    fst.start = home
    fst.set_final(home, 0.0)
    fst.add_arc(home, kaldifst.StdArc(_BLANK_LABEL, 0, 0.0, home))
    for phone in range(len(PHONES)):
        label = phone + 2
        state = fst.add_state()
        fst.add_arc(home, kaldifst.StdArc(label, label, 0.0, state))
        fst.add_arc(state, kaldifst.StdArc(label, 0, 0.0, state))
        fst.add_arc(state, kaldifst.StdArc(0, 0, 0.0, home))
    for symbol in range(disambiguators):
        fst.add_arc(home, kaldifst.StdArc(0, _DISAMBIGUATION + symbol, 0.0, home))
    kaldifst.arcsort(fst, "olabel")
    return fst


# --- cache -------------------------------------------------------------------------------------------------------


def _content_key(language_model: Path) -> str:
    if not language_model.is_file():
        raise ModelMissingError(str(language_model), "no such language model", "run `edgevoice models verify`")
    digest = hashlib.sha256(f"{FORMAT} {kaldifst.__version__}".encode())
    digest.update(language_model.read_bytes())
    return digest.hexdigest()[:16]


def _build_in(folder: Path, language_model: Path, key: str, progress: Progress) -> None:
    graph = build(language_model, progress)
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        graph.fst.write(str(partial / GRAPH))
        (partial / WORDS).write_text("\n".join(graph.words))
        facts = {"key": key, "sha256": {name: _sha256(partial / name) for name in (GRAPH, WORDS)}}
        (partial / FACTS).write_text(json.dumps(facts))
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    except (OSError, RuntimeError) as error:
        raise StorageError(str(folder), f"the word graph cannot be kept ({error})", "free some disk space") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _read(folder: Path) -> WordGraph:
    """Read a kept graph. Raises FileNotFoundError if there is none, ModelDataError if it is damaged."""
    facts_file = folder / FACTS
    try:
        expected = json.loads(facts_file.read_text())["sha256"]
        intact = all(_sha256(folder / name) == expected[name] for name in (GRAPH, WORDS))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelDataError(str(folder), f"the kept word graph is damaged ({error})") from error
    if not intact:
        raise ModelDataError(str(folder), "the kept word graph is damaged (checksum)")
    return WordGraph(kaldifst.StdVectorFst.read(str(folder / GRAPH)), tuple((folder / WORDS).read_text().split("\n")))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def arcs(fst: Any, state: int) -> Iterator[Any]:
    """The arcs that leave `state`."""
    yield from kaldifst.ArcIterator(fst, state)


def backoff_state(fst: Any) -> int:
    """The state of the graph in which no word of history is known: where any word may follow.

    It is the one that the start reaches without sound (the back-off from "start of sentence").
    """
    return int(next(arc.nextstate for arc in arcs(fst, fst.start) if arc.ilabel == 0 and arc.olabel == 0))
