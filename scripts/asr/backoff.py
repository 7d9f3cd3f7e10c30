"""A back-off n-gram model as dictionaries, and ARPA files."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from edgevoice.asr.arpa import open_arpa

Ngram = tuple[str, ...]
START, END = "<s>", "</s>"
NEVER = -99.0
"""The logarithm that ARPA files give to what is never said."""


@dataclass
class BackoffModel:
    """An n-gram model: natural-log probabilities of n-grams, and back-off weights of contexts."""

    logp: dict[Ngram, float] = field(default_factory=dict)
    backoff: dict[Ngram, float] = field(default_factory=dict)

    def score(self, ngram: Ngram) -> float:
        """Log-probability of the last word after the others."""
        total = 0.0
        while True:
            found = self.logp.get(ngram)
            if found is not None:
                return total + found
            if len(ngram) == 1:
                return -30.0
            total += self.backoff.get(ngram[:-1], 0.0)
            ngram = ngram[1:]


def read_arpa(path: Path) -> BackoffModel:
    """Read an ARPA file (log10) into natural logarithms."""
    model = BackoffModel()
    with open_arpa(path) as file:
        lines = list(file)
    for line in lines:
        cells = line.rstrip("\n").split("\t")
        if len(cells) < 2:
            continue
        ngram = tuple(cells[1].split())
        model.logp[ngram] = float(cells[0]) * math.log(10)
        if len(cells) > 2:
            model.backoff[ngram] = float(cells[2]) * math.log(10)
    return model


def write_arpa(model: BackoffModel, path: Path) -> None:
    """Write an ARPA file (log10)."""
    orders: dict[int, list[Ngram]] = defaultdict(list)
    for ngram in model.logp:
        orders[len(ngram)].append(ngram)
    with path.open("w") as file:
        file.write("\\data\\\n" + "".join(f"ngram {n}={len(orders[n])}\n" for n in sorted(orders)))
        for n in sorted(orders):
            file.write(f"\n\\{n}-grams:\n")
            for ngram in sorted(orders[n]):
                logp = model.logp[ngram] / math.log(10)
                weight = model.backoff.get(ngram)
                tail = "" if weight is None else f"\t{weight / math.log(10):.5f}"
                file.write(f"{logp:.5f}\t{' '.join(ngram)}{tail}\n")
        file.write("\n\\end\\\n")
