"""Make the recogniser's n-gram language model: `python -m scripts.asr.language_model OUT.arpa.gz --text A.txt B.txt`.

Each text file (normalised sentences, one a line) becomes a Kneser-Ney trigram (kaldingram). They are mixed linearly
with a bigram of written English counted on the web (package `wordsegment`: a selection of Google's trillion-word counts)
over unigrams of `wordfreq`; mixing weights come from expectation maximisation on `--held-out` sentences. The mixture is
pruned by relative entropy (Stolcke, 1998; kaldingram). Needs the extra `train`. `--arpa` mixes in finished models.

`python -m scripts.asr.language_model OUT.arpa.gz --base IN.arpa.gz --codes 0.04` only adds to a finished model what people
dictate (`codes.py`: digits, spelled words, times), as so large a share of all that is said.
"""

from __future__ import annotations

import argparse
import gzip
import math
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import wordfreq
import wordsegment

from edgevoice.asr.lexicon import known
from scripts.asr.backoff import END, NEVER, START, BackoffModel, Ngram, read_arpa, write_arpa
from scripts.asr.codes import codes

CODES = 60_000
"""Made sentences of dictated digits, letters and times."""


def kaldingram(*arguments: str) -> None:
    """Run the command of the package `kaldingram` that belongs to this interpreter."""
    program = Path(sys.executable).with_name("kaldingram")
    subprocess.run([str(program), *arguments], check=True, capture_output=True)


def kneser_ney(sentences: Iterable[str], vocabulary: set[str], order: int) -> BackoffModel:
    """A Kneser-Ney model of the sentences whose words are all in the vocabulary."""
    with tempfile.TemporaryDirectory() as folder:
        text, arpa = Path(folder) / "text", Path(folder) / "lm"
        kept = [s for s in sentences if all(word in vocabulary for word in s.split())]
        text.write_text("\n".join(kept) + "\n")
        kaldingram("train", "--ngram-order", str(order), "--text", str(text), "--lm", str(arpa))
        return read_arpa(arpa)


def web_bigram(vocabulary: set[str], end_probability: float) -> BackoffModel:
    """Bigrams counted on the web over `wordfreq`'s unigrams; what the counts leave open backs off."""
    # Letters are frequent on the web ("t" of "don't", list items) but hardly ever said.
    letters = {word for word in vocabulary if len(word) == 1 and word not in ("a", "i", "o")}
    frequency = {
        word: 1e-6 if word in letters else max(wordfreq.word_frequency(word, "en"), 1e-8) for word in vocabulary
    }
    total = sum(frequency.values())
    unigram = {word: (1 - end_probability) * f / total for word, f in frequency.items()} | {END: end_probability}
    model = BackoffModel({(word,): math.log(p) for word, p in unigram.items()}, {})
    wordsegment.load()
    pairs: dict[str, dict[str, float]] = defaultdict(dict)
    for pair, count in wordsegment.BIGRAMS.items():
        first, _, second = pair.partition(" ")
        if letters & {first, second}:
            continue
        if second in vocabulary and (first in vocabulary or first == START):
            pairs[first][second] = count
    starts = sum(pairs[START].values())
    for first, followers in pairs.items():
        # The list holds frequent pairs only, so a word's own count is the denominator and the rest is left to back-off.
        whole = max(
            starts / 0.9 if first == START else wordsegment.UNIGRAMS.get(first, 0.0), sum(followers.values()) / 0.98
        )
        kept = 0.0
        for second, count in followers.items():
            model.logp[first, second] = math.log(count / whole)
            kept += count / whole
        model.backoff[(first,)] = math.log((1 - kept) / max(1 - sum(unigram[w] for w in followers), 1e-6))
    return model


def events(sentences: Iterable[str], order: int, vocabulary: set[str]) -> list[Ngram]:
    """Every word of the sentences with its context; unknown words break it."""
    found: list[Ngram] = []
    for sentence in sentences:
        words = [START, *sentence.split(), END]
        for position in range(1, len(words)):
            ngram = tuple(words[max(0, position - order + 1) : position + 1])
            if all(word in vocabulary or word in (START, END) for word in ngram):
                found.append(ngram)
    return found


def mixing_weights(models: Sequence[BackoffModel], held_out: list[Ngram], rounds: int = 15) -> list[float]:
    """Weights that maximise the likelihood of the held-out events."""
    scores = [[math.exp(model.score(event)) for model in models] for event in held_out]
    weights = [1 / len(models)] * len(models)
    for _ in range(rounds):
        sums = [0.0] * len(models)
        for row in scores:
            whole = sum(w * p for w, p in zip(weights, row, strict=True))
            for index, p in enumerate(row):
                sums[index] += weights[index] * p / whole
        weights = [s / len(scores) for s in sums]
    return weights


def perplexity(model: BackoffModel, held_out: list[Ngram]) -> float:
    """Perplexity of the events."""
    return math.exp(-sum(model.score(event) for event in held_out) / len(held_out))


def mixture(models: Sequence[BackoffModel], weights: Sequence[float]) -> BackoffModel:
    """The linear mixture over the union of the models' n-grams, with back-off weights that make it sum to one."""
    ngrams = {ngram for model in models for ngram in model.logp}
    mixed = BackoffModel()
    for ngram in ngrams:
        p = sum(w * math.exp(m.score(ngram)) for w, m in zip(weights, models, strict=True))
        mixed.logp[ngram] = math.log(max(p, 1e-12))
    followers: dict[Ngram, list[Ngram]] = defaultdict(list)
    for ngram in ngrams:
        if len(ngram) > 1:
            followers[ngram[:-1]].append(ngram)
    for context in sorted(followers, key=len):
        here = sum(math.exp(mixed.logp[ngram]) for ngram in followers[context])
        below = sum(math.exp(mixed.score(ngram[1:])) for ngram in followers[context])
        mixed.backoff[context] = math.log(max(1 - here, 1e-4) / max(1 - below, 1e-4))
        if context not in mixed.logp:
            mixed.logp[context] = mixed.score(context)
    return mixed


def prune(model: BackoffModel, threshold: float, out: Path) -> None:
    """Prune by relative entropy and write, gzip if the name says so."""
    with tempfile.TemporaryDirectory() as folder:
        whole, pruned = Path(folder) / "whole", Path(folder) / "pruned"
        # The loss of an n-gram is weighed by how often its context comes. A start that is never said would lose them all,
        # so it comes as often as an end until that is done.
        start = BackoffModel(model.logp | {(START,): model.logp[(END,)]}, model.backoff)
        write_arpa(start, whole)
        kaldingram("prune", "--threshold", str(threshold), "--lm", str(whole), "--write-lm", str(pruned))
        data = re.sub(rb"(?m)^\S+(?=\t<s>(\t|$))", str(NEVER).encode(), pruned.read_bytes(), count=1)
    out.write_bytes(gzip.compress(data, 9, mtime=0) if out.suffix == ".gz" else data)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--text", type=Path, nargs="+", default=[], help="sentences, one a line; one model per file")
    parser.add_argument(
        "--arpa", type=Path, nargs="+", default=[], help="finished models to mix with those of the texts"
    )
    parser.add_argument("--vocabulary", type=Path, help="words, one a line; those CMUdict lacks are left out")
    parser.add_argument("--held-out", type=Path, nargs="+", default=[], help="sentences to set the weights by")
    parser.add_argument(
        "--weights", type=float, nargs="+", help="of texts, web and --arpa, in the place of those that suit --held-out"
    )
    parser.add_argument("--base", type=Path, help="a finished model, in the place of the three before")
    parser.add_argument("--codes", type=float, default=0.0, help="share of dictated digits, letters, times (0 to 1)")
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--threshold", type=float, default=1e-8)
    args = parser.parse_args()
    if args.base:
        model = read_arpa(args.base)
    elif args.text and args.vocabulary and args.held_out:
        if args.weights and len(args.weights) != len(args.text) + 1 + len(args.arpa):
            parser.error("give --weights one number for each text, one for the web and one for each --arpa")
        vocabulary = {word for word in args.vocabulary.read_text().split() if known(word)}
        models = {text.name: kneser_ney(text.read_text().splitlines(), vocabulary, args.order) for text in args.text}
        models["web"] = web_bigram(vocabulary, end_probability=0.06)
        models |= {arpa.name: restricted(read_arpa(arpa), vocabulary) for arpa in args.arpa}
        model = best_mixture(models, args.held_out, args.order, vocabulary, args.weights)
    else:
        parser.error("give --base, or --text, --vocabulary and --held-out")
    if args.codes:
        vocabulary = {ngram[0] for ngram in model.logp if len(ngram) == 1}
        model = mixture([model, kneser_ney(codes(CODES), vocabulary, 2)], [1 - args.codes, args.codes])
    prune(model, args.threshold, args.out)
    print(args.out, args.out.stat().st_size // 1000, "kB")


def restricted(model: BackoffModel, vocabulary: set[str]) -> BackoffModel:
    """The model without the n-grams that hold another word. What those had is left out, not given to the others."""
    kept = vocabulary | {START, END}
    logp = {ngram: p for ngram, p in model.logp.items() if kept.issuperset(ngram)}
    return BackoffModel(logp, {ngram: weight for ngram, weight in model.backoff.items() if ngram in logp})


def best_mixture(
    models: dict[str, BackoffModel],
    held_out: list[Path],
    order: int,
    vocabulary: set[str],
    weights: list[float] | None = None,
) -> BackoffModel:
    """The mixture that expects the held-out sentences best, or that of the weights given; prints perplexities."""
    samples = [events(path.read_text().splitlines(), order, vocabulary) for path in held_out]
    # Every held-out file counts the same, however long.
    least = min(map(len, samples))
    even = [event for sample in samples for event in sample[:least]]
    weights = weights or mixing_weights([*models.values()], even)
    print("weights", dict(zip(models, (round(weight, 3) for weight in weights), strict=True)))
    made = mixture([*models.values()], weights)
    for path, sample in zip(held_out, samples, strict=True):
        alone = [round(perplexity(model, sample)) for model in models.values()]
        print(f"{path.name}: perplexity {perplexity(made, sample):.0f}, alone {alone}")
    return made


if __name__ == "__main__":
    main()
