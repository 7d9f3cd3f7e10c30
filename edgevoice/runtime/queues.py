"""Bounded queues with a stated overflow policy. There is no unbounded queue in edgevoice."""

from __future__ import annotations

import enum
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

URGENT_BOUND = 64
"""Control messages that may wait at once; more means that nobody takes them any more."""


class Overflow(enum.Enum):
    """What a full queue does with the next item."""

    DROP_NEWEST = "drop newest"
    """Refuse the new item and count it."""
    REPLACE = "replace older of the same kind"
    """A newer item replaces a queued one that `replaces(new, old)` says it makes worthless; otherwise block."""
    BLOCK = "block the producer"
    """Wait for room, at most the deadline of the `put`."""


class Closed(Exception):
    """The queue is closed: no more items will come (get) or are taken (put)."""


class BoundedQueue(Generic[T]):
    """A FIFO of at most `bound` units.

    `size` tells how many units an item takes (1 by default; seconds of sound or tokens where that is the real bound).
    `urgent` items jump the queue and are always taken: the few control messages that must not wait behind data. Of
    `URGENT_BOUND` that wait the oldest of the new one's type goes (the oldest of all if there is none), counted as dropped.
    """

    def __init__(
        self,
        name: str,
        bound: float,
        overflow: Overflow,
        size: Callable[[T], float] = lambda _: 1.0,
        replaces: Callable[[T, T], bool] = lambda new, old: False,
    ) -> None:
        self.name, self.bound, self.overflow = name, bound, overflow
        self.dropped = 0
        self._size, self._replaces = size, replaces
        self._items: deque[T] = deque()
        self._urgent: deque[T] = deque()
        self._held = 0.0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: T, timeout: float = 5.0) -> bool:
        """Add `item`; True if it was taken. A full queue that blocks is waited for up to `timeout` seconds.

        False: DROP_NEWEST has dropped (and counted) the item; the others leave it to the caller to try again.
        Raises Closed when the queue is closed.
        """
        need, deadline = self._size(item), time.monotonic() + timeout
        with self._changed:
            if self.overflow is Overflow.REPLACE:
                self._drop_replaced(item)
            while not self._closed and self._items and self._held + need > self.bound:
                if self.overflow is Overflow.DROP_NEWEST:
                    self.dropped += 1
                    return False
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
            if self._closed:
                raise Closed(self.name)
            self._items.append(item)
            self._held += need
            self._changed.notify_all()
            return True

    def put_urgent(self, item: T) -> None:
        """Add a control message in front of all data; always taken, never blocks."""
        with self._changed:
            if self._closed:
                raise Closed(self.name)
            if len(self._urgent) >= URGENT_BOUND:
                same = (i for i, old in enumerate(self._urgent) if type(old) is type(item))
                del self._urgent[next(same, 0)]
                self.dropped += 1
            self._urgent.append(item)
            self._changed.notify_all()

    def get(self, timeout: float) -> T | None:
        """The next item, or None after `timeout` seconds. Raises Closed once closed and empty."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not self._items and not self._urgent:
                if self._closed:
                    raise Closed(self.name)
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)
            if self._urgent:
                return self._urgent.popleft()
            item = self._items.popleft()
            self._held = self._held - self._size(item) if self._items else 0.0
            self._changed.notify_all()
            return item

    def take_while(self, wanted: Callable[[T], bool]) -> list[T]:
        """Take the items at the front for which `wanted` is true, without waiting."""
        taken: list[T] = []
        with self._changed:
            while not self._urgent and self._items and wanted(self._items[0]):
                taken.append(self._items.popleft())
            if taken:
                self._held = sum(map(self._size, self._items))
                self._changed.notify_all()
        return taken

    def discard(self, stale: Callable[[T], bool]) -> int:
        """Remove every queued item for which `stale` is true; how many there were."""
        with self._changed:
            before = len(self._items)
            self._items = deque(i for i in self._items if not stale(i))
            self._held = sum(map(self._size, self._items))
            self._changed.notify_all()
            return before - len(self._items)

    def close(self) -> None:
        """Take no more; what is queued can still be got. Wakes everyone who waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def depth(self) -> float:
        """Units queued now."""
        return self._held

    def __len__(self) -> int:
        return len(self._items) + len(self._urgent)

    def _drop_replaced(self, item: T) -> None:
        kept = deque(old for old in self._items if not self._replaces(item, old))
        if len(kept) != len(self._items):
            self._items = kept
            self._held = sum(map(self._size, kept))
