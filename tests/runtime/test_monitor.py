"""The monitor ties the governor to real queues, meters and sensors."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import generate_latest

from edgevoice.runtime.governor import Governor, TurnReport
from edgevoice.runtime.ladder import Quality, ladder
from edgevoice.runtime.metrics import Metrics
from edgevoice.runtime.monitor import Monitor
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.runtime.rtf import RtfMeter
from edgevoice.runtime.thermal import ThermalReader
from edgevoice.settings import Settings
from tests.thermal import hot_zone


class World:
    def __init__(self, board: Path) -> None:
        self.now = 0.0
        self.applied: list[Quality] = []
        self.listen, self.recognise = RtfMeter("listen"), RtfMeter("recognise")
        self.frames: BoundedQueue[float] = BoundedQueue("frames", 10.0, Overflow.DROP_NEWEST, size=lambda s: s)
        levels = ladder(Settings())
        self.metrics = Metrics()
        self.monitor = Monitor(
            Governor(len(levels) - 1),
            levels,
            self.metrics,
            [self.listen, self.recognise],
            [self.frames],
            watched=[self.frames],
            apply=self.applied.append,
            thermal=ThermalReader(board),
            clock=lambda: self.now,
        )

    @property
    def page(self) -> str:
        return generate_latest(self.metrics.registry).decode()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_full_sound_queue_takes_work_away_at_once(world: World) -> None:
    world.frames.put(9.0)
    world.monitor.look()
    assert [q.name for q in world.applied] == ["brisk"]
    assert "edgevoice_quality_level 1.0" in world.page
    assert 'edgevoice_queue_depth{queue="frames"} 9.0' in world.page
    assert "quality brisk (the queue frames is 90% full)" in world.monitor.status()


def test_d6_drops_are_counted(world: World) -> None:
    for _ in range(20):
        world.frames.put(1.0)
    assert 'edgevoice_queue_dropped_total{queue="frames"} 10.0' in world.page


def test_the_windows_start_anew_on_each_level_but_the_yardstick_stays(world: World) -> None:
    world.listen.add(0.1, 5.0)
    world.recognise.add(6.0, 5.0)
    world.monitor.look()
    assert world.applied and world.recognise.value is None and world.listen.value is not None
    assert 'edgevoice_rtf{stage="recognise"} 1.2' in world.page


def test_a_stage_that_rests_is_judged_once(world: World) -> None:
    world.listen.add(6.0, 2.0)
    for _ in range(30):
        world.now += 5
        world.monitor.look()
    assert [q.name for q in world.applied] == ["brisk"]


def test_g5_a_throttled_board_is_announced_in_the_metrics(world: World, tmp_path: Path) -> None:
    hot_zone(tmp_path, 84)
    for _ in range(3):
        world.now += 8
        world.monitor.look()
        world.monitor.turn(TurnReport(0.4))
    assert [q.name for q in world.applied] == ["brisk"]
    page = world.page
    assert "edgevoice_throttled 1.0" in page and "edgevoice_temperature_celsius 84.0" in page
    assert 'edgevoice_quality_reason{reason="the board is throttled"} 1.0' in page


def test_the_thread_ends(world: World) -> None:
    world.monitor.start()
    assert world.monitor.stop()
