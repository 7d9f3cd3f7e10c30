"""`edgevoice bench llm`: the language model by number of threads: first token, prefill, decode, memory, reuse.

The numbers of threads take turns within each round, so that other work on the machine meets all of them alike.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from rich.console import Console
from rich.table import Table

from edgevoice.bench.statistics import percentiles
from edgevoice.commands.options import positive_int
from edgevoice.llm.generator import Exchange
from edgevoice.llm.llama import LlamaGenerator
from edgevoice.runtime.cores import plan
from edgevoice.runtime.memory import rss_mb
from edgevoice.settings import Settings

QUESTIONS = (
    "what is the capital of france",
    "how many people live there",
    "why is the sky blue",
    "who painted the mona lisa",
    "what do bees make",
    "where do penguins live",
    "is a tomato a fruit",
    "what is the fastest animal",
)
PREFILL_TEXT = "the quick brown fox jumps over the lazy dog and runs through the quiet green forest "


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    parser.add_argument("--rounds", type=positive_int, default=3, help="rounds over all questions (default 3)")
    parser.add_argument("--threads", type=positive_int, nargs="+", metavar="N", help="numbers of threads to compare")


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """Measure.

    Keys: `model`; `prefix` (`tokens`, `evaluate_ms`); `reuse` in [0, 1]; `ttft` with cached prefix, words not yet
    evaluated, at the planned threads; `ttft_prefilled`, where the words were evaluated while they were spoken;
    `threads`: one row each with `prefill_tokens_per_s`, `decode_tokens_per_s`, `cpu_ms_per_token`, `ttft`; `rss_mb`
    of the process, `model_mb` what loading added (mapped weights included).
    """
    before = rss_mb()
    planned = plan(settings).llm
    generator = LlamaGenerator(settings.llm, planned)
    generator.load()
    generator.warm()
    try:
        loaded = rss_mb()
        counts = sorted({*(args.threads or range(1, plan(settings).cores + 1)), planned})
        rows = {n: _Row() for n in counts}
        for _ in range(args.rounds):
            for count, row in rows.items():
                generator.set_threads(count)
                _round(generator, row)
        return {
            "model": generator.name,
            "prefix": {"tokens": generator.prefix_tokens, "evaluate_ms": round(_prefix_ms(generator, planned), 1)},
            "reuse": round(generator.probe_reuse(), 3),
            "ttft": percentiles(rows[planned].ttft),
            "ttft_prefilled": percentiles(rows[planned].prefilled),
            "threads": [{"threads": n, **row.result()} for n, row in rows.items()],
            "model_mb": round(loaded - before, 1),
            "rss_mb": round(rss_mb(), 1),
        }
    finally:
        generator.close()


class _Row:
    def __init__(self) -> None:
        self.ttft: list[float] = []
        self.prefilled: list[float] = []
        self.prefill = [0, 0.0]
        self.decode = [0, 0.0]
        self.cpu_s = 0.0

    def result(self) -> dict[str, Any]:
        return {
            "prefill_tokens_per_s": round(self.prefill[0] / max(self.prefill[1], 1e-9), 1),
            "decode_tokens_per_s": round(self.decode[0] / max(self.decode[1], 1e-9), 1),
            "cpu_ms_per_token": round(1000 * self.cpu_s / max(self.decode[0], 1), 1),
            "ttft": percentiles(self.ttft),
        }


def _round(generator: LlamaGenerator, row: _Row) -> None:
    history: tuple[Exchange, ...] = ()
    for i, question in enumerate(QUESTIONS):
        if i % 2:
            generator.prefill(history, question)
        begun, cpu, times, answer = time.perf_counter(), time.process_time(), [], ""
        for token in generator.generate(history, question):
            times.append(time.perf_counter())
            answer += token.text
        row.cpu_s += time.process_time() - cpu
        if times:
            (row.prefilled if i % 2 else row.ttft).append((times[0] - begun) * 1000)
            row.decode[0] += len(times) - 1
            row.decode[1] += times[-1] - times[0]
        history = (*history, Exchange(question, answer))
    begun = time.perf_counter()
    use = generator.prefill((), PREFILL_TEXT * 8)
    row.prefill[0] += use.evaluated
    row.prefill[1] += time.perf_counter() - begun
    generator.rollback(())


def _prefix_ms(generator: LlamaGenerator, threads: int) -> float:
    generator.set_threads(threads)
    begun = time.perf_counter()
    generator.evaluate_prefix()
    return (time.perf_counter() - begun) * 1000


def _milliseconds(value: float | None) -> str:
    """A model may give no token at all."""
    return "–" if value is None else f"{value:.0f} ms"


def show(result: dict[str, Any]) -> None:
    """Print the result for people."""
    rows = Table(box=None, pad_edge=False)
    for head in ("threads", "prefill tok/s", "decode tok/s", "CPU ms/token", "first token p50", "p95"):
        rows.add_column(head, justify="right")
    for row in result["threads"]:
        rows.add_row(
            str(row["threads"]),
            f"{row['prefill_tokens_per_s']:.0f}",
            f"{row['decode_tokens_per_s']:.1f}",
            f"{row['cpu_ms_per_token']:.1f}",
            _milliseconds(row["ttft"]["p50_ms"]),
            _milliseconds(row["ttft"]["p95_ms"]),
        )
    prefix = result["prefix"]
    Console().print(rows)
    prefilled = _milliseconds(result["ttft_prefilled"]["p50_ms"])
    print(f"first token after words that were evaluated while spoken: {prefilled} (p50)")
    print(f"fixed prompt: {prefix['tokens']} tokens = {prefix['evaluate_ms']:.0f} ms; reuse {result['reuse']:.0%}")
    print(f"memory: {result['model_mb']:.0f} MB for the model, {result['rss_mb']:.0f} MB in all")
