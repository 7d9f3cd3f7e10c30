"""Pieces of work side by side."""

from __future__ import annotations

import threading

import pytest

from edgevoice.tts.vits.workers import Workers


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "vocoder"]


def test_two_workers_work_at_the_same_time_and_end() -> None:
    before = len(threads())
    workers = Workers(2)
    meeting = threading.Barrier(2)
    both = [workers.submit(lambda: meeting.wait(10)) for _ in range(2)]
    assert {work.result() for work in both} == {0, 1}
    assert all(work.ready for work in both)
    assert len(threads()) == before + 2
    workers.close()
    assert len(threads()) == before


def test_one_worker_is_the_caller() -> None:
    workers = Workers(1)
    work = workers.submit(lambda: threading.current_thread().name)
    assert not work.ready
    assert work.result() == threading.current_thread().name
    workers.close()


@pytest.mark.parametrize("count", [1, 2])
def test_errors_reach_who_waits(count: int) -> None:
    workers = Workers(count)
    with pytest.raises(ZeroDivisionError):
        workers.submit(lambda: 1 // 0).result()
    workers.close()
