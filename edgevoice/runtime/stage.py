"""A stage: one named thread that takes items from its queue, works on them, and shows that it is alive."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from edgevoice.runtime import logs
from edgevoice.runtime.queues import BoundedQueue, Closed

T = TypeVar("T")
Out = TypeVar("Out")
log = logging.getLogger(__name__)

IDLE_TICK = 0.1
"""Seconds a stage waits for an item before it beats its heart and calls `idle`."""

HAND_ON_S = 0.2
"""Seconds between two looks of a stage that waits for the next one's queue at whether it has to go on waiting."""


class Stage(Generic[T]):
    """Base of every stage. Subclasses override `work`, and `idle` if they have something to do between items.

    The thread is not a daemon: stopping is orderly, input before processing before output.
    """

    name = "stage"
    tick = IDLE_TICK

    def __init__(self, inbox: BoundedQueue[T]) -> None:
        self.inbox = inbox
        self.heartbeat = time.monotonic()
        """Monotonic time of the last sign of life; long work calls `beat` between units."""
        self.working = False
        """True while an item is worked on."""
        self.failure: BaseException | None = None
        self.on_failure: Callable[[Stage[T], BaseException], None] | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def work(self, item: T) -> None:
        """Handle one item."""
        raise NotImplementedError

    def turn_of(self, item: T) -> int:
        """Number of the turn that `item` belongs to, for the log; 0 if it belongs to none."""
        return 0

    def idle(self) -> None:
        """Called about every `IDLE_TICK` seconds while nothing is queued."""

    def beat(self) -> None:
        """Show that the stage is alive, from within long work."""
        self.heartbeat = time.monotonic()

    def hand_on(self, queue: BoundedQueue[Out], item: Out, wanted: Callable[[], bool] = lambda: True) -> bool:
        """Give `item` to the next stage, however long its queue is full.

        False if it was not taken: nobody wants it any more, or this stage is told to stop.
        """
        while wanted():
            if queue.put(item, timeout=HAND_ON_S):
                return True
            if self.stopping:
                return False
            self.beat()
        return False

    def start(self) -> None:
        """Start the thread."""
        self._stopping.clear()
        self.failure = None
        self.beat()
        self._thread = threading.Thread(target=self._run, name=self.name)
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end after its current unit of work; does not wait."""
        self._stopping.set()
        self.inbox.close()

    def join(self, timeout: float) -> bool:
        """Wait for the thread; True if it has ended."""
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """True once `stop` was called; long work ends early then."""
        return self._stopping.is_set()

    @property
    def alive(self) -> bool:
        """True while the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self.stopping:
                self.beat()
                item = self.inbox.get(self.tick)
                with logs.turn(0 if item is None else self.turn_of(item)):
                    if not self._step(item):
                        return
        except Closed:
            pass

    def _step(self, item: T | None) -> bool:
        """Work on one item, or idle; False if the stage died of it. Closed means the end, not a death."""
        try:
            if item is None:
                self.idle()
            else:
                self.working = True
                self.work(item)
                self.working = False
        except Closed:
            raise
        except Exception as error:
            self.failure, self.working = error, False
            log.exception("stage %s died", self.name)
            if self.on_failure:
                self.on_failure(self, error)
            return False
        return True
