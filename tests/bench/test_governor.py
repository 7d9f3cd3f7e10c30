"""What the governor's benchmark counts, and how it holds a process to a share of the machine."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from edgevoice.bench import governor
from edgevoice.bench.governor import Capped, confine, cores_of, planned, row
from edgevoice.settings import Settings


def test_lost_is_what_held_words_and_was_not_answered() -> None:
    capped = Capped(
        asked=12, answered=9, wordless=2, fixed=3, e2e_ms=[900.0] * 9, levels=[0, 0, 1, 1, 2], reason="late"
    )
    figures = row(capped)
    assert figures["lost"] == 1 and figures["wordless"] == 2 and figures["fixed"] == 3
    assert figures["level"] == 2 and figures["changes"] == 2


def test_the_first_third_is_not_settled() -> None:
    capped = Capped(9, 9, 0, 0, e2e_ms=[5000.0] * 3 + [500.0] * 6, levels=[0] * 9, reason="")
    assert row(capped)["p95_ms"] == 500.0


def test_threads_are_planned_for_what_the_quota_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(governor, "usable_cores", lambda: 4)
    assert [cores_of(percent) for percent in (100, 50, 26, 25, 5)] == [4, 2, 2, 1, 1]
    small = planned(Settings(), 25)
    assert small.llm.threads == small.tts.threads == small.asr.second_pass_threads == 1
    assert planned(Settings(), 50).tts.threads == 2


def confined_cores() -> list[int]:
    """Cores of each thread of a process after `confine(1)`; of one that was there before, and one that came later."""
    found: list[int] = []
    told, ready = threading.Event(), threading.Event()

    def early() -> None:
        ready.set()
        told.wait(10)
        found.append(len(os.sched_getaffinity(0)))

    def late() -> None:
        found.append(len(os.sched_getaffinity(0)))

    first, second = threading.Thread(target=early), threading.Thread(target=late)
    first.start()
    ready.wait(10)
    confine(1)
    told.set()
    second.start()
    first.join(10)
    second.join(10)
    return [*found, len(os.sched_getaffinity(0))]


def test_every_thread_is_confined() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(confined_cores).result(60) == [1, 1, 1]
