"""The watchdog against a real notify socket and a clock of the test's own."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from edgevoice.runtime.notify import SystemdNotifier
from edgevoice.runtime.watchdog import HealthCheck, Watchdog
from edgevoice.settings import RuntimeSettings


class Systemd:
    """The receiving end of sd_notify."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(0.05)

    def told(self) -> list[str]:
        lines: list[str] = []
        while True:
            try:
                lines += self.socket.recv(4096).decode().split("\n")
            except TimeoutError:
                return lines


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    listener = Systemd(str(tmp_path / "notify"))
    yield listener
    listener.socket.close()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "600000", "WATCHDOG_PID": str(os.getpid())}


@dataclass
class Beat:
    name: str
    heartbeat: float = 100.0


@dataclass
class Microphone:
    last_frame: float = 100.0
    waiting_for: str = ""


@dataclass
class World:
    now: float = 100.0
    stages: list[Beat] = field(default_factory=lambda: [Beat("listen"), Beat("generate")])
    ears: Microphone = field(default_factory=Microphone)

    def health(self) -> HealthCheck:
        return HealthCheck(lambda: self.stages, self.ears, RuntimeSettings(), clock=lambda: self.now)

    def live(self, seconds: float, *, frames: bool = True, hung: str = "") -> None:
        self.now += seconds
        if frames:
            self.ears.last_frame = self.now
        for stage in self.stages:
            if stage.name != hung:
                stage.heartbeat = self.now


def test_all_well() -> None:
    world = World()
    world.live(100)
    assert world.health().problems() == [] and world.health().deserves_to_live()


def test_a8_alive_but_deaf_is_not_healthy() -> None:
    world = World()
    health = world.health()
    world.live(5, frames=False)
    assert health.problems() == ["no sound from the microphone for 5 s"]
    assert not health.deserves_to_live()


def test_a8_one_hung_stage_is_enough() -> None:
    world = World()
    health = world.health()
    world.live(11, hung="generate")
    assert health.problems() == ["stage generate has shown no sign of life for 11 s"]
    assert not health.deserves_to_live()


def test_a4_waiting_for_a_device_is_unhealthy_but_lives_for_a_while() -> None:
    world = World()
    health = world.health()
    world.ears.waiting_for = "the microphone 'USB'"
    world.live(60, frames=False)
    assert health.problems() == ["waiting for the microphone 'USB'"] and health.deserves_to_live()
    world.live(200, frames=False)
    assert health.deserves_to_live()
    world.live(200, frames=False)
    assert not health.deserves_to_live(), "a fresh process may find what this one cannot"
    world.ears.waiting_for = ""
    world.live(1)
    assert health.deserves_to_live()


def test_a8_the_ping_stops_with_the_frames(systemd: Systemd, environment: dict[str, str]) -> None:
    world = World()
    watchdog = Watchdog(SystemdNotifier(environment))
    watchdog.ready(world.health(), status=lambda: "listening; full quality")
    told = systemd.told()
    assert told == ["READY=1", "WATCHDOG_USEC=600000", "WATCHDOG=1", "STATUS=listening; full quality"]
    world.live(1)
    watchdog.look()
    assert systemd.told() == ["WATCHDOG=1"], "the status is sent on a change only"
    world.live(5, frames=False)
    watchdog.look()
    assert systemd.told() == ["STATUS=no sound from the microphone for 5 s"]
    world.live(1)
    watchdog.look()
    assert systemd.told() == ["WATCHDOG=1", "STATUS=listening; full quality"]


def test_the_thread_pings_and_ends(systemd: Systemd, environment: dict[str, str]) -> None:
    world = World()
    watchdog = Watchdog(SystemdNotifier(environment))
    watchdog.start()
    watchdog.ready(world.health())
    told: list[str] = []
    deadline = time.monotonic() + 10
    while told.count("WATCHDOG=1") < 3 and time.monotonic() < deadline:
        told += systemd.told()
    assert watchdog.stop()
    assert told.count("WATCHDOG=1") >= 3


def test_a_starting_service_is_not_fed_for_that_would_start_the_clock(
    systemd: Systemd, environment: dict[str, str]
) -> None:
    watchdog = Watchdog(SystemdNotifier(environment))
    watchdog.look()
    assert systemd.told() == []


def test_reload_carries_the_time(systemd: Systemd, environment: dict[str, str]) -> None:
    notifier = SystemdNotifier(environment)
    notifier.reloading()
    first, second, third = systemd.told()
    assert first == "RELOADING=1" and third == "WATCHDOG_USEC=600000000"
    assert abs(int(second.removeprefix("MONOTONIC_USEC=")) / 1e6 - time.monotonic()) < 5


def test_an_abstract_socket_works_and_a_dead_one_is_ignored() -> None:
    name = f"edgevoice-test-{os.getpid()}"
    listener = Systemd("\0" + name)
    notifier = SystemdNotifier({"NOTIFY_SOCKET": "@" + name})
    notifier.ready()
    assert listener.told() == ["READY=1"]
    listener.socket.close()
    notifier.ready()


@pytest.mark.parametrize("usec", ["", "0", "soon"])
def test_without_systemd_nothing_is_sent(usec: str) -> None:
    notifier = SystemdNotifier({"WATCHDOG_USEC": usec})
    notifier.ready()
    assert not notifier.active and notifier.watchdog_s is None


def test_a_watchdog_meant_for_another_process_is_not_ours() -> None:
    assert SystemdNotifier({"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}).watchdog_s is None
