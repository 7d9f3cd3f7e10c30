"""Names and phrases to listen for: added to a word graph in milliseconds, without building it again.

A phrase becomes a chain of phones that leaves the graph's back-off state (where any word may follow) and comes back to
it, at the price of a frequent word. New words are pronounced by the lexicon.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import kaldifst

from edgevoice.asr.graph import WordGraph, backoff_state
from edgevoice.asr.lexicon import Pronunciation, all_pronunciations
from edgevoice.asr.normalize import plain_words
from edgevoice.errors import SettingsError

BASE_COST = 9.0
"""Cost (negative natural log-probability) of a phrase of weight 0: that of a word heard once in 8,000."""
WORD_COST = 1.0
"""More for each further word of a phrase."""
MAX_WEIGHT = 10.0
_MOST_VARIANTS = 16
"""Ways to say one phrase that are taken in."""
_BLANK_LABEL = 1


@dataclass(frozen=True, slots=True)
class Phrase:
    """A name or phrase to listen for."""

    text: str
    """As it should stand in the transcript, lower case."""
    weight: float = 3.0
    """0 (as likely as a rare word) to 10; each unit makes it e times more likely."""


def parse_phrase(entry: str) -> Phrase:
    """Read `phrase` or `phrase=weight`. Raises SettingsError."""
    text, separator, weight = entry.rpartition("=")
    if not separator:
        text, weight = entry, str(Phrase("").weight)
    try:
        value = float(weight)
    except ValueError as error:
        raise SettingsError(
            f"phrase {entry!r}", f"{weight!r} is no number", "write `phrase` or `phrase=weight`"
        ) from error
    if not 0 <= value <= MAX_WEIGHT:
        raise SettingsError(f"phrase {entry!r}", f"its weight is not in 0 … {MAX_WEIGHT:g}", "3 is a good start")
    spoken = plain_words(text)
    if not spoken:
        raise SettingsError(f"phrase {entry!r}", "holds no word", "write at least one word in letters or digits")
    return Phrase(spoken, value)


def parse_phrases(entries: Iterable[str]) -> tuple[Phrase, ...]:
    """Read a list of phrases; of equal ones the last counts. Raises SettingsError."""
    return tuple({phrase.text: phrase for phrase in map(parse_phrase, entries)}.values())


def add_phrases(graph: WordGraph, phrases: Iterable[Phrase]) -> WordGraph:
    """The graph with the phrases in it. The graph given is changed too: do not use it any more.

    Raises UsageError if a word cannot be pronounced.
    """
    words = list(graph.words)
    ids = {word: index for index, word in enumerate(words)}
    hub = backoff_state(graph.fst)
    taught = set(graph.phrases)
    for phrase in phrases:
        parts = phrase.text.split()
        for part in parts:
            if part not in ids:
                ids[part] = len(words)
                words.append(part)
        taught.add(tuple(ids[part] for part in parts))
        cost = BASE_COST + WORD_COST * (len(parts) - 1) - phrase.weight
        for index, variant in enumerate(product(*(all_pronunciations(part) for part in parts))):
            if index == _MOST_VARIANTS:
                break
            _add_chain(graph.fst, hub, [ids[part] for part in parts], variant, cost)
    return WordGraph(graph.fst, tuple(words), frozenset(taught))


def _add_chain(fst: Any, hub: int, labels: list[int], variant: tuple[Pronunciation, ...], cost: float) -> None:
    """One way to say a phrase, from `hub` back to `hub`, in the CTC topology of `graph.py`."""
    between = hub
    last = sum(map(len, variant)) - 1
    position = 0
    for label, phones in zip(labels, variant, strict=True):
        for index, phone in enumerate(phones):
            sounding = fst.add_state()
            output, price = (label if index == 0 else 0), (cost if position == 0 else 0.0)
            fst.add_arc(between, kaldifst.StdArc(phone + 1, output, price, sounding))
            fst.add_arc(sounding, kaldifst.StdArc(phone + 1, 0, 0.0, sounding))
            between = hub if position == last else fst.add_state()
            fst.add_arc(sounding, kaldifst.StdArc(0, 0, 0.0, between))
            if between != hub:
                fst.add_arc(between, kaldifst.StdArc(_BLANK_LABEL, 0, 0.0, between))
            position += 1
