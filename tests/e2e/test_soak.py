"""The soak in short: the real models, some dozens of turns, nothing grows. The long form is scripts/soak."""

from __future__ import annotations

import statistics

import pytest

from edgevoice.bench.soak import growth, play
from tests.conftest import DATA
from tests.e2e.conftest import patient

TURNS = 24


@pytest.mark.timeout(600)
def test_d6_dozens_of_turns_leave_no_threads_files_or_memory_behind() -> None:
    samples = play(patient(), [DATA / "question.flac"], TURNS)
    assert len(samples.rss_mb) == TURNS, "every question became a turn"
    warm = TURNS // 3
    assert growth(samples.threads[warm:]) <= 0
    assert growth(samples.open_files[warm:]) <= 0
    first, last = samples.rss_mb[warm : 2 * warm], samples.rss_mb[-warm:]
    assert statistics.median(last) - statistics.median(first) < 8.0
