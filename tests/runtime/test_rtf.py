from __future__ import annotations

import threading

import pytest

from edgevoice.runtime.rtf import RtfMeter


def test_unknown_until_a_second_was_heard() -> None:
    meter = RtfMeter("asr")
    meter.add(0.2, 0.8)
    assert meter.value is None
    meter.add(0.2, 0.2)
    assert meter.value == pytest.approx(0.4)


def test_only_the_last_seconds_of_sound_count() -> None:
    meter = RtfMeter("asr", window_s=10)
    for _ in range(100):
        meter.add(1.0, 1.0)
    for _ in range(10):
        meter.add(0.1, 1.0)
    assert meter.value == pytest.approx(0.1)


def test_one_long_piece_replaces_all_before_it() -> None:
    meter = RtfMeter("tts", window_s=5)
    meter.add(9.0, 1.0)
    meter.add(1.0, 20.0)
    assert meter.value == pytest.approx(1 / 20)


def test_measure_counts_work_that_fails_too() -> None:
    meter = RtfMeter("tts")
    with pytest.raises(ValueError), meter.measure(1.0):
        raise ValueError
    assert meter.value is not None and meter.value >= 0


def test_reset_forgets_and_threads_may_share_it() -> None:
    meter = RtfMeter("tts", window_s=1e9)
    threads = [
        threading.Thread(target=lambda: [meter.add(0.1, 0.2) for _ in range(200)], name=f"t{i}") for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert meter.value == pytest.approx(0.5)
    meter.reset()
    assert meter.value is None
