"""`edgevoice bench wake`: detections of spoken wake words, and false accepts per hour of other speech.

Thresholds are chosen on one part of the material (some voices, every second recording, hours of speech) and reported on
the other. Both are measured once and judged at all thresholds (`wake_traces`), then the shipped ones are judged, too.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgevoice.audio.wake import ENGINES, checked_thresholds
from edgevoice.bench.wake_material import Clip, clips, other_speech
from edgevoice.bench.wake_traces import Bank, Candidate, activations, stretches
from edgevoice.commands.options import positive_number
from edgevoice.errors import InputMissingError
from edgevoice.settings import Settings

WORDS = ("okay_nabu", "hey_jarvis", "alexa")
KINDS = ("natural", "robotic", "recorded")
SCORES = (
    0.01,
    0.02,
    0.03,
    0.05,
    0.08,
    *(round(float(x), 2) for x in np.arange(0.1, 0.95, 0.05)),
    0.95,
    0.97,
    0.98,
    0.99,
)
COSTS = tuple(round(float(x), 2) for x in np.arange(0.2, 3.01, 0.1))
UNCHECKED = float("inf")
FALSE_ACCEPTS_ALLOWED = 0.5
LATEST_S = 1.0
"""Seconds after the end of the word within which it has to be found."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    parser.add_argument("--engine", choices=[*ENGINES, "all"], default="all")
    parser.add_argument("--word", action="append", choices=WORDS, help="may be repeated; default: all three")
    parser.add_argument(
        "--hours", type=positive_number, default=5.0, help="hours of other speech in each part (default 5)"
    )
    parser.add_argument("--corpus", default=os.environ.get("EDGEVOICE_CORPUS", ""), help="folder with train/ and dev/")


@dataclass(frozen=True)
class Trials:
    """One engine and word on all the material."""

    spoken: list[tuple[Clip, list[Candidate]]]
    tuning: list[list[Candidate]]
    """Candidates of each stretch of other speech."""
    tuning_s: float
    held_out: list[list[Candidate]]
    held_out_s: float


@dataclass(frozen=True)
class Thresholds:
    """When a wake word counts as heard."""

    score: float
    """The engine's, from here on."""
    cost: float
    """The second look's, up to here; infinite without one."""


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """Rows per engine and word: what was chosen, detections by kind of voice, false accepts per hour, hours."""
    corpus = Path(args.corpus) if args.corpus else None
    if corpus is None or not corpus.is_dir():
        raise InputMissingError("corpus", f"no folder {args.corpus!r}", "name one with --corpus or EDGEVOICE_CORPUS")
    words = tuple(args.word or WORDS)
    material = {word: clips(word, corpus) for word in words}
    rows = []
    for name in ENGINES if args.engine == "all" else [args.engine]:
        for word, trials in measure(name, material, corpus, args.hours).items():
            rows += report(name, word, trials)
    return {"goal_detected": 0.95, "goal_false_per_hour": FALSE_ACCEPTS_ALLOWED, "rows": rows}


def measure(name: str, material: dict[str, list[Clip]], corpus: Path, hours: float) -> dict[str, Trials]:
    """Each word's trials with the engine `name`."""
    bank = Bank(name, material)
    spoken = {word: [(clip, bank.candidates(clip.samples)[word]) for clip in said] for word, said in material.items()}
    tuning_s, tuning = stretches(bank, other_speech(corpus, held_out=False, hours=hours))
    held_out_s, held_out = stretches(bank, other_speech(corpus, held_out=True, hours=hours))
    return {
        word: Trials(
            spoken[word], [found[word] for found in tuning], tuning_s, [found[word] for found in held_out], held_out_s
        )
        for word in material
    }


def report(name: str, word: str, trials: Trials) -> list[dict[str, Any]]:
    """A row each for the engine alone, with a second look (both tuned), and as shipped."""
    shipped = Thresholds(*checked_thresholds(name, word))
    return [
        {"engine": name, "word": word, "what": what, **judged(trials, thresholds)}
        for what, thresholds in (
            ("alone", tuned(trials, [UNCHECKED])),
            ("second look", tuned(trials, COSTS)),
            ("shipped", shipped),
        )
    ]


def tuned(trials: Trials, costs: Iterable[float]) -> Thresholds:
    """On the tuning part: most detections (all kinds count alike) among those with half the false accepts allowed.

    Many thresholds do equally well there; the one in their middle has room on every side for other voices and rooms.
    """
    allowed = 0.5 * FALSE_ACCEPTS_ALLOWED * trials.tuning_s / 3600

    def rank(at: Thresholds) -> tuple[bool, float, int]:
        false = false_accepts(trials.tuning, at)
        return false <= allowed, _mean_detected(trials, at), -false

    ranks = {at: rank(at) for at in (Thresholds(score, cost) for score in SCORES for cost in costs)}
    best = [at for at, reached in ranks.items() if reached == max(ranks.values())]
    score = sorted(at.score for at in best)[len(best) // 2]
    equal = sorted(at.cost for at in best if at.score == score)
    return Thresholds(score, equal[len(equal) // 2])


def judged(trials: Trials, at: Thresholds) -> dict[str, Any]:
    """Detections and false accepts on the held-out part."""
    row: dict[str, Any] = {"score": at.score, "cost": at.cost if at.cost != UNCHECKED else None}
    for kind in KINDS:
        found = detected(trials, at, lambda clip, kind=kind: clip.held_out and clip.kind == kind)  # type: ignore[misc]
        row[kind] = round(float(np.mean(found)), 3) if found else None
        row[f"{kind}_clips"] = len(found)
    row["detected"] = round(float(np.mean(detected(trials, at, lambda clip: clip.held_out))), 3)
    row["false_accepts"] = false_accepts(trials.held_out, at)
    row["hours"] = round(trials.held_out_s / 3600, 2)
    row["false_per_hour"] = round(row["false_accepts"] * 3600 / max(trials.held_out_s, 1e-9), 2)
    row["tuning_detected"] = round(float(np.mean(detected(trials, at, lambda clip: not clip.held_out))), 3)
    row["tuning_false_accepts"] = false_accepts(trials.tuning, at)
    row["tuning_hours"] = round(trials.tuning_s / 3600, 2)
    return row


def detected(trials: Trials, at: Thresholds, which: Callable[[Clip], bool]) -> list[bool]:
    """For each of these clips, whether it was found in time."""
    return [
        any(c.score >= at.score and c.cost <= at.cost and c.time <= clip.end_s + LATEST_S for c in candidates)
        for clip, candidates in trials.spoken
        if which(clip)
    ]


def false_accepts(found: Iterable[list[Candidate]], at: Thresholds) -> int:
    """How often other speech would have activated."""
    return sum(activations(candidates, at.score, at.cost) for candidates in found)


def _mean_detected(trials: Trials, at: Thresholds) -> float:
    """Mean of the kinds' shares on the tuning part."""
    shares = []
    for kind in KINDS:
        found = detected(trials, at, lambda clip, kind=kind: not clip.held_out and clip.kind == kind)  # type: ignore[misc]
        shares += [float(np.mean(found))] if found else []
    return float(np.mean(shares))
