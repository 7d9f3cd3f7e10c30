"""Threads beside a stage: their names, and an end with a deadline."""

from __future__ import annotations

import threading
import time

from edgevoice.runtime.pool import Pool


def test_work_runs_on_threads_of_the_given_name_that_end() -> None:
    pool = Pool(2, "beside")
    assert pool.submit(lambda: threading.current_thread().name).result(5) == "beside"
    assert pool.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "beside"]
    assert Pool(1, "never used").close()


def test_d7_work_that_hangs_does_not_hold_up_the_end() -> None:
    pool, release = Pool(1, "hanging"), threading.Event()
    pool.submit(release.wait, 30)
    queued = pool.submit(int)
    began = time.monotonic()
    assert not pool.close(0.1)
    assert time.monotonic() - began < 1 and queued.cancelled()
    release.set()
    assert pool.close(5), "closed again, once it has ended"
