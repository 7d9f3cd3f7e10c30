"""A few named threads for work beside a stage's own, whose end has a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

CLOSE_DEADLINE_S = 2.0


class Pool:
    """At most `count` threads, all of the same `name`; each begins with the first work it is needed for."""

    def __init__(self, count: int, name: str) -> None:
        self._name = name
        self._threads: list[threading.Thread] = []
        self._executor = ThreadPoolExecutor(count, initializer=self._begun)

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin `work` on one of the threads, or queue it."""
        return self._executor.submit(work, *args, **kwargs)

    def close(self, deadline_s: float = CLOSE_DEADLINE_S) -> bool:
        """Begin nothing any more and wait for what runs; True if every thread has ended within the deadline."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        deadline = time.monotonic() + deadline_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _begun(self) -> None:
        thread = threading.current_thread()
        thread.name = self._name
        self._threads.append(thread)
