"""The service's signals, without models and devices: what is asked for when, and which settings count then."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import generate_latest

from edgevoice import config
from edgevoice import service as service_module
from edgevoice.dialog.ledger import TurnRecord
from edgevoice.errors import EXIT_OK, InternalError, SettingsError
from edgevoice.runtime.metrics import Metrics
from edgevoice.service import Service, count_turn
from edgevoice.settings import Settings

MOMENTS = ("load", "open_devices", "start", "stop")


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@dataclass
class World:
    """A settings file, and assistants that do nothing but what the test hangs on the moments of their lives."""

    value: int = 0
    """What the file says: `llm.max_tokens` is 10 plus this."""
    wrong: bool = False
    begun: list[int] = field(default_factory=list)
    """The value with which each session began."""
    at: dict[tuple[int, str], Callable[[], None]] = field(default_factory=dict)
    """(session, moment) -> what happens then."""

    def load(self) -> Settings:
        if self.wrong:
            raise SettingsError("llm.max_tokens", "is no number")
        return config.replace(Settings(), llm={"max_tokens": 10 + self.value}, runtime={"stop_deadline_s": 0.2})

    def write(self, value: int, wrong: bool = False) -> None:
        self.value, self.wrong = value, wrong
        send(signal.SIGHUP)

    def assistant(self, settings: Settings, *_: object) -> Any:
        number = len(self.begun)
        self.begun.append(settings.llm.max_tokens - 10)

        def moment(name: str) -> Callable[..., bool]:
            def happen(*_: object) -> bool:
                self.at.get((number, name), lambda: None)()
                return True

            return happen

        heard = threading.Event()
        heard.set()
        fake = SimpleNamespace(
            stages=[],
            measured=[],
            queues=[],
            frames=None,
            speech=None,
            waiting_for="",
            source_error=None,
            ended=threading.Event(),
            capture=SimpleNamespace(heard=heard, last_frame=time.monotonic(), waiting_for=""),
            hearing=SimpleNamespace(talk_key=None),
            push_to_talk=lambda: None,
            close_devices=lambda: None,
            apply=lambda quality: None,
            **{name: moment(name) for name in MOMENTS},
        )
        return fake


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(service_module, "Assistant", world.assistant)
    monkeypatch.setattr(service_module, "Microphone", lambda audio: None)
    monkeypatch.setattr(service_module, "DeviceSpeaker", lambda audio: None)
    monkeypatch.setattr(
        service_module,
        "Monitor",
        lambda *_, **__: SimpleNamespace(start=lambda: None, stop=lambda: None, status=lambda: ""),
    )
    return world


def ends_itself(world: World, session: int) -> None:
    """That session is told to stop once it has started."""
    world.at[session, "start"] = lambda: send(signal.SIGTERM)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_reload_counts_whenever_it_comes(world: World, moment: str) -> None:
    if moment == "stop":
        world.at[0, "start"] = lambda: world.write(1)
        world.at[0, "stop"] = lambda: world.write(2)
    else:
        world.at[0, moment] = lambda: world.write(2)
    ends_itself(world, 1)
    assert Service(world.load).run() == EXIT_OK
    assert world.begun == [0, 2]


@pytest.mark.parametrize("moment", ["load", "open_devices", "start"])
def test_wrong_settings_are_refused_whenever_they_come(world: World, moment: str) -> None:
    world.at[0, moment] = lambda: world.write(1, wrong=True)
    timer = threading.Timer(0.7, send, args=(signal.SIGTERM,))
    timer.start()
    assert Service(world.load).run() == EXIT_OK
    assert world.begun == [0]


def test_wrong_settings_after_right_ones_do_not_take_those_back(world: World) -> None:
    world.at[0, "start"] = lambda: world.write(1)
    world.at[0, "stop"] = lambda: world.write(2, wrong=True)
    ends_itself(world, 1)
    assert Service(world.load).run() == EXIT_OK
    assert world.begun == [0, 1]


def test_told_to_stop_counts_more_than_a_reload(world: World) -> None:
    world.at[0, "start"] = lambda: (world.write(1), send(signal.SIGTERM))[1]
    assert Service(world.load).run() == EXIT_OK
    assert world.begun == [0]


def test_d7_devices_whose_opening_hangs_do_not_hold_up_the_end(world: World) -> None:
    release = threading.Event()
    world.at[0, "open_devices"] = lambda: (send(signal.SIGTERM), release.wait(20), None)[2]
    began = time.monotonic()
    try:
        with pytest.raises(InternalError, match="does not end"):
            Service(world.load).run()
        assert time.monotonic() - began < 3
    finally:
        release.set()


def test_notices_are_no_turns_and_apologies_no_speculations() -> None:
    metrics = Metrics()
    assert count_turn(TurnRecord(-1, attempts={7: {}}, generation=7, complete=True), metrics) is None
    failed = TurnRecord(
        3, attempts={8: {}, 9: {}}, generation=9, complete=True, apologies=1, facts={"failed": "generate"}
    )
    report = count_turn(failed, metrics)
    assert report is not None and report.failed
    text = generate_latest(metrics.registry).decode()
    assert 'edgevoice_turns_total{outcome="complete"} 1.0' in text
    assert "edgevoice_speculations_total 0.0" in text
