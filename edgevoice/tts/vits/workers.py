"""Pieces of sound made side by side: each by one thread of its own, which gains more than two threads on one piece."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from edgevoice.runtime.pool import Pool

T = TypeVar("T")

DEADLINE_S = 60.0
"""Longest wait for one piece of work; more means that something hangs."""


class Work(Generic[T]):
    """Something that is being worked out."""

    def __init__(self, future: Future[T] | None, work: Callable[[], T]) -> None:
        self._future, self._work = future, work

    @property
    def ready(self) -> bool:
        """Whether the result is there already."""
        return self._future is not None and self._future.done()

    def result(self) -> T:
        """The result; waits for it. Raises what the work raised, or TimeoutError after DEADLINE_S."""
        return self._work() if self._future is None else self._future.result(DEADLINE_S)


class Workers:
    """A few threads named `vocoder`. With `count` 1 there are none: the caller does the work when it asks for it."""

    def __init__(self, count: int) -> None:
        self.count = max(1, count)
        self._pool = Pool(self.count, "vocoder") if self.count > 1 else None

    def submit(self, work: Callable[[], T]) -> Work[T]:
        """Begin `work`. Who submits bounds how much is on its way."""
        return Work(None if self._pool is None else self._pool.submit(work), work)

    def close(self) -> None:
        """End the threads when they have finished what they began, within the pool's deadline."""
        if self._pool is not None:
            self._pool.close()
