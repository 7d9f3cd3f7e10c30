"""`edgevoice bench latency`: recordings in real time through the daemon; every interval of the turn ledger.

The first turn after the start is cold and counted apart, as are answers whose first sound came from the phrase cache.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from edgevoice.bench import recordings
from edgevoice.bench.outcomes import Outcomes, apology, outcomes
from edgevoice.bench.statistics import percentiles
from edgevoice.commands.options import positive_int
from edgevoice.dialog.ledger import INTERVALS, TurnRecord
from edgevoice.replayer import Replayed, replay
from edgevoice.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    recordings.add_argument(parser)
    parser.add_argument("--runs", type=positive_int, default=3, help="fresh starts of the daemon (default 3)")
    parser.add_argument("--serial", action="store_true", help="also play them through a plain serial pipeline")
    parser.add_argument("--no-speculation", action="store_true", help="also measure what speculation costs")
    parser.add_argument("--png", metavar="FILE", help="write a waterfall of the median turn (needs matplotlib)")


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """Measure; see docs/json.md for the keys."""
    files = recordings.expand(args.files, args.limit)
    done = [_one(settings, files) for _ in range(args.runs)]
    runs = [replayed for replayed, _ in done]
    result = summary([r.turns for r in runs])
    result["runs"] = args.runs
    result |= sum((found for _, found in done), Outcomes()).as_json()
    result["rss_mb"] = round(max(r.rss_mb for r in runs), 1)
    result["cpu_s_per_turn"] = round(sum(r.cpu_s for r in runs) / max(1, sum(len(r.turns) for r in runs)), 3)
    if args.no_speculation:
        plain, _ = _one(_without_speculation(settings), files)
        per_turn = plain.cpu_s / max(1, len(plain.turns))
        result["cpu_s_per_turn_without_speculation"] = round(per_turn, 3)
        result["speculation_cpu_ratio"] = round(result["cpu_s_per_turn"] / per_turn, 3) if per_turn else None
    if args.serial:
        theirs = _serial(settings, files)
        result["serial"] = {"e2e": percentiles(list(theirs.values()))}
        result["ratio"], result["compared"] = ratio(by_recording([r.turns for r in runs]), theirs)
    if args.png:
        from edgevoice.bench.waterfall import draw

        args.draw = partial(draw, result["intervals"], Path(args.png))
    return result


def summary(runs: Sequence[Sequence[TurnRecord]]) -> dict[str, Any]:
    """Percentiles of every interval: median over the runs of each run's warm, synthesised turns."""
    per_run = [_percentiles_of(_synthesised(turns[1:])) for turns in runs if turns]
    intervals = {name: _median_of(name, per_run) for name in INTERVALS}
    warm = [turn for turns in runs for turn in turns[1:]]
    cold = [turns[0] for turns in runs if turns]
    ratios = []
    for turns in runs:
        later = [v for t in _synthesised(turns[1:]) if (v := t.interval("eou_to_ttfa")) is not None]
        first = turns[0].interval("eou_to_ttfa") if turns else None
        if later and first is not None and statistics.median(later) > 0:
            ratios.append(first / statistics.median(later))
    return {
        "intervals": intervals,
        "cold": {name: percentiles(_milliseconds(name, cold)) for name in INTERVALS},
        "cached": {name: percentiles(_milliseconds(name, _cached(warm))) for name in ("e2e", "eou_to_ttfa", "ttfb")},
        "first_turn_ratio": round(statistics.median(ratios), 2) if ratios else None,
        "turns": sum(len(turns) for turns in runs),
        "speculative_kept": sum(1 for turn in warm if turn.facts.get("speculative")),
    }


def by_recording(runs: Sequence[Sequence[TurnRecord]]) -> dict[int, float]:
    """Milliseconds to the first sound of the warm, synthesised answers: recording -> median over the runs."""
    warm = (turn for turns in runs for turn in _synthesised(turns[1:]))
    return _medians((int(t.facts["recording"]), s * 1000) for t in warm if (s := t.interval("e2e")) is not None)


def ratio(ours: dict[int, float], theirs: dict[int, float]) -> tuple[float | None, int]:
    """How many times ours theirs is (medians) over the recordings that both answered, and how many these are."""
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        return None, 0
    medians = [statistics.median(times[recording] for recording in both) for times in (theirs, ours)]
    return (round(medians[0] / medians[1], 2) if medians[1] else None), len(both)


def show(result: dict[str, Any]) -> None:
    """Print the table."""
    table = Table(
        title=f"latency over {result['runs']} runs, {result['turns']} turns (milliseconds)", title_justify="left"
    )
    for column in ("interval", "p50", "p95", "p99", "n", "cold p50"):
        table.add_column(column, justify="left" if column == "interval" else "right")
    for name, row in result["intervals"].items():
        cold = result["cold"][name]["p50_ms"]
        cells = [row["p50_ms"], row["p95_ms"], row["p99_ms"], row["n"], cold]
        table.add_row(name, *("–" if c is None else str(c) for c in cells))
    console = Console()
    console.print(table)
    counted = ", ".join(f"{result[key]} {key}" for key in ("asked", "answered", "wordless", "failed"))
    console.print(f"recordings: {counted} ({result['apologies']} apologies)")
    for key in ("first_turn_ratio", "speculation_cpu_ratio", "cpu_s_per_turn", "rss_mb", "ratio", "compared"):
        if result.get(key) is not None:
            console.print(f"{key:<24}{result[key]}")
    if serial := result.get("serial"):
        console.print(f"serial pipeline e2e      p50 {serial['e2e']['p50_ms']} ms, p95 {serial['e2e']['p95_ms']} ms")


def _one(settings: Settings, files: Sequence[str]) -> tuple[Replayed, Outcomes]:
    events: list[str] = []
    done = replay(settings, files, pace="real", on_event=lambda name, facts: events.append(name))
    return done, outcomes(len(files), done.turns, events)


def _without_speculation(settings: Settings) -> Settings:
    from edgevoice.config import replace

    return replace(settings, dialog={"speculate": False})


def _serial(settings: Settings, files: Sequence[str]) -> dict[int, float]:
    """Milliseconds to the first sound of the serial pipeline: recording -> median of its turns, the cold one left out."""
    from edgevoice.bench.serial import SerialPipeline

    pipeline = SerialPipeline(settings)
    pipeline.load()
    try:
        turns = [(number, turn.e2e * 1000) for number, file in enumerate(files) for turn in pipeline.turns(file)]
    finally:
        pipeline.close()
    return _medians(turns[1:])


def _medians(times: Iterable[tuple[int, float]]) -> dict[int, float]:
    found: dict[int, list[float]] = defaultdict(list)
    for recording, milliseconds in times:
        found[recording].append(milliseconds)
    return {recording: statistics.median(values) for recording, values in found.items()}


def _percentiles_of(turns: Iterable[TurnRecord]) -> dict[str, dict[str, float | int | None]]:
    turns = list(turns)
    return {name: percentiles(_milliseconds(name, turns)) for name in INTERVALS}


def _milliseconds(name: str, turns: Iterable[TurnRecord]) -> list[float]:
    return [seconds * 1000 for turn in turns if (seconds := turn.interval(name)) is not None]


def _median_of(name: str, per_run: Sequence[dict[str, dict[str, float | int | None]]]) -> dict[str, float | int | None]:
    row: dict[str, float | int | None] = {}
    for key in ("p50_ms", "p95_ms", "p99_ms"):
        known = [value for run in per_run if (value := run[name][key]) is not None]
        row[key] = round(statistics.median(known), 1) if known else None
    row["n"] = sum(int(run[name]["n"] or 0) for run in per_run)
    return row


def _cached(turns: Iterable[TurnRecord]) -> list[TurnRecord]:
    return [turn for turn in turns if (turn.facts.get("cached") or turn.facts.get("fixed")) and not apology(turn)]


def _synthesised(turns: Iterable[TurnRecord]) -> list[TurnRecord]:
    return [turn for turn in turns if not (turn.facts.get("cached") or turn.facts.get("fixed") or apology(turn))]
