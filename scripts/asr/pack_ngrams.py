"""Pack the language models that the readings of a finished segment are judged by:

    python -m scripts.asr.pack_ngrams OUT.npz --graph lm.arpa.gz --large LARGE.arpa

`--graph` is the model the word graph is made of, whose judgement is taken back; `--large` is the one in its place. Both
become arrays as `edgevoice/asr/ngrams.py` reads them. Trigrams at most, and fewer than 65,534 words.
"""

import argparse
import hashlib
from pathlib import Path

import numpy as np

from scripts.asr.backoff import END, START, BackoffModel, read_arpa

NEVER = 30.0
"""Cost of what a model does not have at all."""


def pack(model: BackoffModel, words: list[str]) -> dict[str, np.ndarray]:
    """The arrays of `Ngrams`. N-grams with a word that is not in `words` are left out."""
    ids = {word: index for index, word in enumerate([*words, START, END])}
    rows: dict[int, list[tuple[tuple[int, ...], float, float]]] = {1: [], 2: [], 3: []}
    for ngram, logp in model.logp.items():
        if all(word in ids for word in ngram):
            rows[len(ngram)].append((tuple(ids[word] for word in ngram), -logp, -model.backoff.get(ngram, 0.0)))
    pairs = {ngram for ngram, _, _ in rows[2]}
    # A triple is found by way of its pair.
    rows[2] += [
        (context, -model.score(tuple(([*words, START, END])[i] for i in context)), 0.0)
        for context in {ngram[:2] for ngram, _, _ in rows[3]} - pairs
    ]
    costs1, backoffs1 = np.full(len(ids), NEVER), np.zeros(len(ids))
    for (word,), cost, backoff in rows[1]:
        costs1[word], backoffs1[word] = min(cost, NEVER), backoff
    rows[2].sort()
    rows[3].sort()
    steps = _steps([cost for order in (2, 3) for _, cost, _ in rows[order]])
    backoff_steps = _steps([backoff for _, _, backoff in rows[2]])
    position = {ngram: index for index, (ngram, _, _) in enumerate(rows[2])}
    firsts = np.array([ngram[0] for ngram, _, _ in rows[2]], np.int64)
    contexts = np.array([position[ngram[:2]] for ngram, _, _ in rows[3]], np.int64)
    return {
        "costs1": costs1.astype(np.float16),
        "backoffs1": backoffs1.astype(np.float16),
        "begins2": np.searchsorted(firsts, np.arange(len(ids) + 1)).astype(np.int32),
        "words2": np.array([ngram[1] for ngram, _, _ in rows[2]], np.uint16),
        "costs2": _nearest([cost for _, cost, _ in rows[2]], steps),
        "backoffs2": _nearest([backoff for _, _, backoff in rows[2]], backoff_steps),
        "begins3": np.searchsorted(contexts, np.arange(len(rows[2]) + 1)).astype(np.int32),
        "words3": np.array([ngram[2] for ngram, _, _ in rows[3]], np.uint16),
        "costs3": _nearest([cost for _, cost, _ in rows[3]], steps),
        "steps": steps,
        "backoff_steps": backoff_steps,
    }


def _steps(values: list[float]) -> np.ndarray:
    """256 values between which equally many of the given ones lie."""
    return np.quantile(values or [0.0], (np.arange(256) + 0.5) / 256).astype(np.float32)


def _nearest(values: list[float], steps: np.ndarray) -> np.ndarray:
    """Index of the nearest step of each value."""
    between = (steps[1:] + steps[:-1]) / 2
    return np.searchsorted(between, np.array(values, np.float32)).astype(np.uint8)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--large", type=Path, required=True)
    args = parser.parse_args()
    graph = read_arpa(args.graph)
    words = sorted(ngram[0] for ngram in graph.logp if len(ngram) == 1 and ngram[0] not in (START, END))
    arrays = {"words": np.frombuffer("\n".join(words).encode(), np.uint8)}
    arrays["graph_sha256"] = np.frombuffer(hashlib.sha256(args.graph.read_bytes()).digest(), np.uint8)
    for prefix, model in (("graph.", graph), ("large.", read_arpa(args.large))):
        arrays |= {prefix + name: array for name, array in pack(model, words).items()}
    np.savez_compressed(args.out, **arrays)
    print(
        args.out,
        args.out.stat().st_size // 1000,
        "kB,",
        len(arrays["large.words2"]),
        "pairs,",
        len(arrays["large.words3"]),
        "triples",
    )


if __name__ == "__main__":
    main()
