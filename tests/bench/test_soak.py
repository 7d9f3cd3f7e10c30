"""The soak's judgement on made-up runs. The short real one is in tests/e2e."""

from __future__ import annotations

import numpy as np

from edgevoice.bench.outcomes import Outcomes
from edgevoice.bench.soak import SLOPE_LIMIT_MB, Samples, growth, judge, slope_per_turn

RNG = np.random.default_rng(5)


def samples(turns: int = 600, slope: float = 0.0, leak_files: int = 0, slower: float = 1.0) -> Samples:
    noise = RNG.standard_normal(turns)
    return Samples(
        rss_mb=[500 + 40 * (1 - np.exp(-i / 10)) + slope * i + noise[i] for i in range(turns)],
        open_files=[40 + leak_files * i // 100 for i in range(turns)],
        threads=[14 + i % 2 for i in range(turns)],
        ttfa_ms=[100 * (1 + i % 7) for i in range(turns)],
        cpu_ms=[100 * (1 + (slower - 1) * i / turns) + 5 * noise[i] for i in range(turns)],
        outcomes=Outcomes(turns, turns),
        stopped_cleanly=True,
    )


def test_a_flat_run_is_well() -> None:
    result = judge(samples())
    assert result["ok"] and abs(result["rss_slope_mb_per_turn"]) < 0.01
    assert result["turns"] == 600 and 0.9 < result["p95_cpu_ratio"] < 1.1


def test_growing_memory_is_found() -> None:
    result = judge(samples(slope=0.15))
    assert not result["ok"] and abs(result["rss_slope_mb_per_turn"] - 0.15) < 0.02


def test_leaking_descriptors_and_slower_answers_are_found() -> None:
    assert not judge(samples(leak_files=1))["ok"]
    assert not judge(samples(slower=1.6))["ok"]


def test_one_jump_is_no_leak() -> None:
    values = [500.0] * 300 + [520.0] * 300
    assert slope_per_turn(values) < SLOPE_LIMIT_MB / 2
    assert growth([10] * 30 + [11] * 30) == 1


def test_nothing_played_is_not_well() -> None:
    assert not judge(Samples())["ok"]


def test_a_few_recordings_may_go_unanswered_but_not_many_and_none_with_an_apology() -> None:
    flat = samples()
    for found, well in (
        (Outcomes(650, 600, wordless=20), True),
        (Outcomes(650, 600), False),
        (Outcomes(1000, 600), False),
        (Outcomes(600, 599, apologies=1), False),
    ):
        flat.outcomes = found
        assert judge(flat)["ok"] is well, found


def test_threads_that_did_not_end_are_not_well() -> None:
    flat = samples()
    flat.stopped_cleanly = False
    assert not judge(flat)["ok"]
