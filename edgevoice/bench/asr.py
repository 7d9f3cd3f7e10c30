"""`edgevoice bench asr`: how fast speech is recognised, by threads, and what it takes in memory."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from edgevoice.asr.factory import build_recognizer, build_second_pass
from edgevoice.asr.recognizer import SAMPLE_RATE, Recognizer, Samples
from edgevoice.asr.two_pass import SecondPass
from edgevoice.audio.files import read_all
from edgevoice.bench import recordings
from edgevoice.bench.statistics import percentiles
from edgevoice.config import replace
from edgevoice.runtime.cores import usable_cores
from edgevoice.runtime.memory import rss_mb
from edgevoice.settings import Settings

BLOCK = SAMPLE_RATE // 50


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    recordings.add_argument(parser)


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """`first_pass` and `second_pass`: a row per number of threads; `memory_mb`: what loading each of them added."""
    sounds = [read_all(path) for path in recordings.expand(args.files, args.limit)]
    threads = sorted({1, min(2, usable_cores()), usable_cores()})
    result: dict[str, Any] = {"recordings": len(sounds), "memory_mb": {}}
    result["first_pass"] = [_first(settings, n, sounds, result["memory_mb"]) for n in threads]
    result["second_pass"] = [_second(settings, n, sounds, result["memory_mb"]) for n in threads]
    return result


def _first(settings: Settings, threads: int, sounds: Sequence[Samples], memory: dict[str, float]) -> dict[str, Any]:
    before = rss_mb()
    recognizer = build_recognizer(replace(settings, asr={"threads": threads}))
    recognizer.load()
    recognizer.warm()
    memory.setdefault("first_pass", round(rss_mb() - before, 1))
    cpu, wall = time.process_time(), time.monotonic()
    finishes = []
    for samples in sounds:
        _stream(recognizer, samples)
        begun = time.monotonic()
        recognizer.finish()
        finishes.append(1000 * (time.monotonic() - begun))
    seconds = sum(len(samples) for samples in sounds) / SAMPLE_RATE
    row = {
        "threads": threads,
        "rtf": round((time.monotonic() - wall) / seconds, 4),
        "cpu_rtf": round((time.process_time() - cpu) / seconds, 4),
        **{f"finish_{key}": value for key, value in percentiles(finishes).items()},
    }
    recognizer.close()
    return row


def _second(settings: Settings, threads: int, sounds: Sequence[Samples], memory: dict[str, float]) -> dict[str, Any]:
    first = build_recognizer(settings)
    first.load()
    before = rss_mb()
    second = build_second_pass(replace(settings, asr={"second_pass_threads": threads, "second_pass_budget_ms": 60_000}))
    if second is None:
        first.close()
        return {"threads": threads, "rtf": None}
    second.load()
    second.warm()
    memory.setdefault("second_pass", round(rss_mb() - before, 1))
    costs, ran = _read_again(first, second, sounds)
    second.close()
    first.close()
    return {"threads": threads, "rtf": round(sum(costs) / 1000 / ran, 4) if ran else None, **percentiles(costs)}


def _read_again(first: Recognizer, second: SecondPass, sounds: Sequence[Samples]) -> tuple[list[float], float]:
    costs, ran = [], 0.0
    for samples in sounds:
        _stream(first, samples)
        transcript = first.finish()
        if transcript.text:
            begun = time.monotonic()
            second.refine(samples, transcript)
            costs.append(1000 * (time.monotonic() - begun))
            ran += len(samples) / SAMPLE_RATE
    return costs, ran


def _stream(recognizer: Recognizer, samples: Samples) -> None:
    recognizer.reset()
    for start in range(0, len(samples), BLOCK):
        recognizer.accept(np.ascontiguousarray(samples[start : start + BLOCK]))
