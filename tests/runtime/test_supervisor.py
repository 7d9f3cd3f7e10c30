"""A stage that dies is started again; one that keeps dying ends the process."""

from __future__ import annotations

import io
import logging
import time

import pytest

from edgevoice.errors import InternalError
from edgevoice.runtime.logs import PlainHandler
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.runtime.stage import Stage
from edgevoice.runtime.supervisor import Supervisor


class Fragile(Stage[str]):
    name = "fragile"

    def __init__(self) -> None:
        super().__init__(BoundedQueue("items", 10, Overflow.BLOCK))
        self.done: list[str] = []

    def work(self, item: str) -> None:
        if item == "die":
            raise ValueError("as told")
        self.done.append(item)


def wait_for(condition: object, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.01)
    return False


def test_a_dead_stage_works_again_and_nothing_queued_is_lost() -> None:
    stage, deaths = Fragile(), []
    supervisor = Supervisor([stage], on_death=lambda name, error: deaths.append((name, str(error))), back_off=(0.01,))
    supervisor.start()
    stage.start()
    for item in ("one", "die", "two"):
        stage.inbox.put(item)
    assert wait_for(lambda: stage.done == ["one", "two"])
    assert deaths == [("fragile", "as told")] and supervisor.restarts == 1
    supervisor.raise_failure()
    assert supervisor.stop()
    stage.stop()
    assert stage.join(2)


def test_the_trace_of_a_death_names_the_turn() -> None:
    class Numbered(Fragile):
        def turn_of(self, item: str) -> int:
            return 7

    stage, out = Numbered(), io.StringIO()
    logger, handler = logging.getLogger("edgevoice.runtime.stage"), PlainHandler(out)
    logger.addHandler(handler)
    stage.start()
    stage.inbox.put("die")
    assert wait_for(lambda: not stage.alive) and stage.join(2)
    logger.removeHandler(handler)
    assert out.getvalue().startswith("edgevoice: error: [turn 7] stage fragile died\nTraceback")
    assert isinstance(stage.failure, ValueError) and not stage.working


def test_three_deaths_in_a_minute_end_the_process_with_70() -> None:
    stage = Fragile()
    supervisor = Supervisor([stage], back_off=(0.01,))
    supervisor.start()
    stage.start()
    for _ in range(3):
        stage.inbox.put("die")
    assert supervisor.give_up.wait(5)
    with pytest.raises(InternalError, match="fragile: died 3 times") as caught:
        supervisor.raise_failure()
    assert caught.value.exit_code == 70
    assert supervisor.stop() and stage.join(2)
    assert supervisor.restarts == 2


def test_deaths_far_apart_are_forgiven() -> None:
    stage, now = Fragile(), [0.0]
    supervisor = Supervisor([stage], clock=lambda: now[0], back_off=(0.0,))
    supervisor.start()
    stage.start()
    for count in range(1, 6):
        stage.inbox.put("die")
        assert wait_for(lambda count=count: supervisor.restarts == count)
        now[0] += 31
    assert not supervisor.give_up.is_set()
    assert supervisor.stop()
    stage.stop()
    assert stage.join(2)


def test_once_stopped_it_restarts_nothing() -> None:
    stage = Fragile()
    supervisor = Supervisor([stage], back_off=(0.0,))
    supervisor.start()
    stage.start()
    assert supervisor.stop()
    stage.inbox.put("die")
    assert stage.join(2) and not stage.alive
    time.sleep(0.05)
    assert not stage.alive and supervisor.restarts == 0
