"""`edgevoice bench soak`: a thousand turns and more at full speed; does anything grow or get slower?

Recordings are said again and again to one daemon that is never restarted, as fast as it answers. After each turn
memory, file descriptors and threads are noted. Only turns after the warm-up count: pools and caches fill once.

Two times are kept of each turn. The seconds from question to first sound are what a person feels, but on a machine with
other work they tell of that work as well. The processor time of the turn does not, so it decides whether turns got slower.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from edgevoice.asr.recognizer import Transcript
from edgevoice.assembly import Models
from edgevoice.bench import recordings
from edgevoice.bench.outcomes import Outcomes, outcomes
from edgevoice.bench.statistics import percentiles
from edgevoice.commands.options import count, positive_int
from edgevoice.config import replace
from edgevoice.dialog.ledger import TurnRecord
from edgevoice.models.places import cache_dir, data_dir
from edgevoice.replayer import replay
from edgevoice.runtime import memory
from edgevoice.settings import Settings

WARM_UP = 0.15
"""Share of the turns that is warm-up."""
SLOPE_LIMIT_MB = 0.1
"""Megabytes a turn."""
SLOWER_LIMIT = 1.2
"""p95 of the last turns against that of the first."""
COMPARED = 100
ANSWERED_SHARE = 0.95
"""Of the recordings with words."""
UNHURRIED_MS = 60_000
"""Budget of the second pass and deadline of the first token: on a busy machine every turn still does the same work."""
SENTENCE = "The quick brown fox jumps over the lazy dog."
HEARD = Transcript("the quick brown fox jumps over the lazy dog")


@dataclass
class Samples:
    """One value per turn."""

    rss_mb: list[float] = field(default_factory=list)
    open_files: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    ttfa_ms: list[float] = field(default_factory=list)
    """Question asked to first audible sample: the part of a turn that does not depend on the recording's pace."""
    cpu_ms: list[float] = field(default_factory=list)
    """Processor time of all threads since the turn before."""
    outcomes: Outcomes = field(default_factory=Outcomes)
    stopped_cleanly: bool = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    recordings.add_argument(parser)
    parser.add_argument("--turns", type=positive_int, default=1000, help="turns to play (default 1000)")
    parser.add_argument(
        "--model-runs", type=count, default=2000, help="runs of each model alone (default 2000; 0: none)"
    )
    parser.add_argument("--png", metavar="FILE", help="write a plot (needs matplotlib)")


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """Play and judge; see docs/json.md for the keys."""
    files = recordings.expand(args.files, args.limit)
    settings = replace(
        settings, asr={"second_pass_budget_ms": UNHURRIED_MS}, llm={"first_token_deadline_ms": UNHURRIED_MS}
    )
    disk = _disk_mb()
    samples = play(settings, files, args.turns)
    result = {"recordings": len(files), **judge(samples)}
    result["disk_growth_mb"] = round(_disk_mb() - disk, 2)
    if args.model_runs:
        result["models"] = exercise(settings, args.model_runs)
        result["ok"] = result["ok"] and all(row["ok"] for row in result["models"].values())
    if args.png:
        args.draw = partial(draw, samples, result, Path(args.png))
    return result


def play(settings: Settings, files: Sequence[str | Path], turns: int) -> Samples:
    """Say the files round and round until `turns` of them were said."""
    samples, process = Samples(), psutil.Process()
    spent = time.process_time()

    def keep(record: TurnRecord) -> None:
        nonlocal spent
        before, spent = spent, time.process_time()
        samples.cpu_ms.append((spent - before) * 1000)
        samples.rss_mb.append(memory.rss_mb())
        samples.open_files.append(process.num_fds())
        samples.threads.append(threading.active_count())
        if (seconds := record.interval("ttfa")) is not None:
            samples.ttfa_ms.append(seconds * 1000)

    rounds = [files[i % len(files)] for i in range(turns)]
    events: list[str] = []
    done = replay(settings, rounds, pace="fast", on_turn=keep, on_event=lambda name, facts: events.append(name))
    samples.outcomes = outcomes(turns, done.turns, events, different=min(len(files), turns))
    samples.stopped_cleanly = done.stopped_cleanly
    return samples


def judge(samples: Samples) -> dict[str, Any]:
    """Slopes and ratios, and whether they are within the limits."""
    warm = round(WARM_UP * len(samples.rss_mb))
    slope = slope_per_turn(samples.rss_mb[warm:])
    cpu, felt = compare("cpu", samples.cpu_ms), compare("ttfa", samples.ttfa_ms)
    ratio = cpu["p95_cpu_ratio"]
    found = samples.outcomes
    return {
        **found.as_json(),
        "stopped_cleanly": samples.stopped_cleanly,
        "turns": len(samples.rss_mb),
        "rss_mb_first": round(samples.rss_mb[warm], 1) if samples.rss_mb else None,
        "rss_mb_last": round(samples.rss_mb[-1], 1) if samples.rss_mb else None,
        "rss_slope_mb_per_turn": round(slope, 5),
        "open_files_growth": growth(samples.open_files[warm:]),
        "threads_growth": growth(samples.threads[warm:]),
        **cpu,
        **felt,
        "ok": bool(samples.rss_mb)
        and slope < SLOPE_LIMIT_MB
        and growth(samples.open_files[warm:]) <= 0
        and growth(samples.threads[warm:]) <= 0
        and (ratio is None or ratio <= SLOWER_LIMIT)
        and found.answered >= ANSWERED_SHARE * (found.asked - found.wordless)
        and not found.apologies
        and samples.stopped_cleanly,
    }


def compare(name: str, times_ms: Sequence[float]) -> dict[str, float | None]:
    """p95 of the first turns after the warm-up and of the last ones, and how many times the first the last is."""
    warm, compared = round(WARM_UP * len(times_ms)), min(COMPARED, len(times_ms) // 3)
    first = percentiles(times_ms[warm : warm + compared])["p95_ms"]
    last = percentiles(times_ms[-compared:])["p95_ms"] if compared else None
    ratio = round(last / first, 3) if first and last else None
    return {f"p95_{name}_ms_first": first, f"p95_{name}_ms_last": last, f"p95_{name}_ratio": ratio}


def slope_per_turn(values: Sequence[float]) -> float:
    """Theil-Sen slope (median of the slopes between all pairs, thinned out): one jump or outlier does not move it."""
    if len(values) < 3:
        return 0.0
    step = max(1, len(values) // 400)
    y = np.asarray(values, float)[::step]
    i, j = np.triu_indices(len(y), 1)
    return float(np.median((y[j] - y[i]) / ((j - i) * step)))


def growth(counts: Sequence[int]) -> int:
    """How much higher the usual count of the last third is than that of the first third."""
    third = len(counts) // 3
    if not third:
        return 0
    return round(statistics.median(counts[-third:]) - statistics.median(counts[:third]))


def exercise(settings: Settings, runs: int) -> dict[str, dict[str, Any]]:
    """Run each model `runs` times on its own; memory per run after the warm-up."""
    models = Models.build(settings)
    models.load()
    sound = (np.random.default_rng(0).standard_normal(16_000) * 0.01).astype(np.float32)

    def recognise() -> None:
        models.recognizer.reset()
        models.recognizer.accept(sound)
        models.recognizer.finish()

    def read_again() -> None:
        if models.second_pass is not None:
            models.second_pass.refine(sound, HEARD)

    def generate() -> None:
        for _ in models.generator.generate((), "what is the time", _never, 2):
            pass

    def speak() -> None:
        for _ in models.synthesizer.synthesize(SENTENCE, _never):
            pass

    work = {"recognizer": recognise, "generator": generate, "synthesizer": speak}
    if models.second_pass is not None:
        work["second_pass"] = read_again
    try:
        return {name: _exercised(step, runs) for name, step in work.items()}
    finally:
        models.close()


def draw(samples: Samples, result: dict[str, Any], path: Path) -> None:
    """Memory, descriptors, threads and latency over the turns."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (top, middle, bottom) = pyplot.subplots(3, 1, figsize=(9, 8), sharex=True, layout="constrained")
    top.plot(samples.rss_mb)
    top.set_ylabel("resident MB")
    top.set_title(f"{result['turns']} turns: {result['rss_slope_mb_per_turn']} MB a turn after warm-up")
    middle.plot(samples.open_files, label="open files")
    middle.plot(samples.threads, label="threads")
    middle.legend()
    middle.set_ylim(bottom=0)
    bottom.plot(samples.cpu_ms, ".", markersize=2, label="processor time of the turn")
    bottom.plot(samples.ttfa_ms, ".", markersize=2, label="question to first sound")
    bottom.set_ylabel("ms")
    bottom.legend()
    bottom.set_xlabel("turn")
    bottom.set_yscale("log")
    figure.savefig(path, dpi=100, format="png")
    pyplot.close(figure)


def _exercised(step: Callable[[], None], runs: int) -> dict[str, Any]:
    began, rss = time.monotonic(), []
    for _ in range(runs):
        step()
        rss.append(memory.rss_mb())
    warm = round(WARM_UP * runs)
    slope = slope_per_turn(rss[warm:])
    return {
        "runs": runs,
        "ms_per_run": round((time.monotonic() - began) / runs * 1000, 2),
        "rss_slope_kb_per_run": round(slope * 1024, 3),
        "rss_growth_mb": round(rss[-1] - rss[warm], 2),
        "ok": slope < SLOPE_LIMIT_MB / 10,
    }


def _disk_mb() -> float:
    folders = (cache_dir(), data_dir())
    return sum(file.stat().st_size for folder in folders for file in folder.rglob("*") if file.is_file()) / 2**20


def _never() -> bool:
    return False
