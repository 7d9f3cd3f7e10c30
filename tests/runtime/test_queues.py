"""The bounded queue and its overflow policies."""

from __future__ import annotations

import threading
import time

import pytest

from edgevoice.runtime.queues import URGENT_BOUND, BoundedQueue, Closed, Overflow
from edgevoice.runtime.stage import Stage


def test_drop_newest_refuses_and_counts() -> None:
    queue: BoundedQueue[int] = BoundedQueue("q", 2, Overflow.DROP_NEWEST)
    assert [queue.put(i) for i in range(4)] == [True, True, False, False]
    assert queue.dropped == 2 and [queue.get(0), queue.get(0), queue.get(0)] == [0, 1, None]


def test_block_waits_for_room() -> None:
    queue: BoundedQueue[int] = BoundedQueue("q", 1, Overflow.BLOCK)
    queue.put(1)
    assert queue.put(2, timeout=0.05) is False
    threading.Timer(0.05, queue.get, args=(0.0,)).start()
    assert queue.put(2, timeout=5) is True
    assert queue.dropped == 0


def test_replace_drops_only_what_is_worthless() -> None:
    queue: BoundedQueue[str] = BoundedQueue("q", 3, Overflow.REPLACE, replaces=lambda new, old: new[0] == old[0] == "p")
    for item in ("p1", "f1", "p2", "p3"):
        queue.put(item)
    assert [queue.get(0) for _ in range(3)] == ["f1", "p3", None]


def test_the_bound_is_in_units_of_size() -> None:
    queue: BoundedQueue[float] = BoundedQueue("q", 1.0, Overflow.DROP_NEWEST, size=lambda s: s)
    assert queue.put(0.6) and not queue.put(0.6) and queue.put(0.4)
    assert queue.depth == pytest.approx(1.0)
    queue.get(0)
    assert queue.depth == pytest.approx(0.4)


def test_an_item_bigger_than_the_bound_still_passes_an_empty_queue() -> None:
    queue: BoundedQueue[float] = BoundedQueue("q", 1.0, Overflow.BLOCK, size=lambda s: s)
    assert queue.put(5.0, timeout=0)


def test_urgent_items_jump_the_queue() -> None:
    queue: BoundedQueue[int] = BoundedQueue("q", 1, Overflow.BLOCK)
    queue.put(1)
    queue.put_urgent(2)
    assert queue.get(0) == 2 and queue.get(0) == 1


def test_urgent_items_are_bounded_the_oldest_of_the_same_type_goes() -> None:
    queue: BoundedQueue[object] = BoundedQueue("q", 1, Overflow.BLOCK)
    queue.put_urgent("only one of its type")
    for number in range(URGENT_BOUND + 2):
        queue.put_urgent(number)
    assert len(queue) == URGENT_BOUND and queue.dropped == 3
    queue.put_urgent(0.5)
    assert queue.dropped == 4, "none of its type waits: the oldest of all goes"
    assert queue.get(0) == 3 and list(iter(lambda: queue.get(0), None))[-1] == 0.5


def test_close_wakes_everyone_and_keeps_what_is_queued() -> None:
    queue: BoundedQueue[int] = BoundedQueue("q", 1, Overflow.BLOCK)
    queue.put(1)
    seen: list[str] = []

    def producer() -> None:
        try:
            queue.put(2, timeout=10)
        except Closed:
            seen.append("closed")

    thread = threading.Thread(target=producer, name="producer")
    thread.start()
    time.sleep(0.05)
    queue.close()
    thread.join(2)
    assert seen == ["closed"] and queue.get(0) == 1
    with pytest.raises(Closed):
        queue.get(1)


def test_take_while_and_discard() -> None:
    queue: BoundedQueue[int] = BoundedQueue("q", 10, Overflow.BLOCK)
    for i in (2, 4, 5, 6):
        queue.put(i)
    assert queue.take_while(lambda i: i % 2 == 0) == [2, 4]
    assert queue.discard(lambda i: i == 6) == 1 and queue.depth == 1


class Echo(Stage[int]):
    name = "echo"

    def __init__(self, inbox: BoundedQueue[int]) -> None:
        super().__init__(inbox)
        self.seen: list[int] = []

    def work(self, item: int) -> None:
        if item < 0:
            raise ValueError("negative")
        self.seen.append(item)


def test_a_stage_works_beats_and_stops() -> None:
    stage = Echo(BoundedQueue("q", 4, Overflow.BLOCK))
    stage.start()
    before = stage.heartbeat
    for i in range(3):
        stage.inbox.put(i)
    time.sleep(0.3)
    assert stage.seen == [0, 1, 2] and stage.heartbeat > before
    assert any(t.name == "echo" for t in threading.enumerate())
    stage.stop()
    assert stage.join(2) and not stage.alive and stage.failure is None


def test_a_dying_stage_reports_its_failure() -> None:
    stage = Echo(BoundedQueue("q", 4, Overflow.BLOCK))
    failures: list[BaseException] = []
    stage.on_failure = lambda s, error: failures.append(error)
    stage.start()
    stage.inbox.put(-1)
    assert stage.join(2)
    assert isinstance(stage.failure, ValueError) and failures == [stage.failure]
