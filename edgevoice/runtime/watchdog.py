"""The watchdog: systemd is told "alive" only while sound comes in and every stage moves.

A process that is alive but deaf, or that has one hung stage, is worse than a dead one: nobody restarts it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from edgevoice.runtime.notify import SystemdNotifier
from edgevoice.settings import RuntimeSettings

log = logging.getLogger(__name__)

CHECK_S = 1.0
"""Most seconds between two looks; less when systemd's watchdog asks for it."""


class Beating(Protocol):
    """Anything with a name and a monotonic time of its last sign of life: a `Stage`."""

    name: str
    heartbeat: float


class Ears(Protocol):
    """The capture side as the watchdog sees it."""

    @property
    def last_frame(self) -> float:
        """Monotonic time of the last sound from the microphone."""

    @property
    def waiting_for(self) -> str:
        """The device it waits for, in words; empty while it is open."""


class HealthCheck:
    """Judges whether the assistant does its work. Pure apart from `clock`; used by the watchdog and by `/healthz`."""

    def __init__(
        self,
        stages: Callable[[], Sequence[Beating]],
        ears: Ears,
        settings: RuntimeSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stages, self._ears, self._settings, self._clock = stages, ears, settings, clock
        self._waiting_since: float | None = None

    def hung(self) -> list[str]:
        """Stages without a fresh heartbeat, in words."""
        now, limit = self._clock(), self._settings.heartbeat_limit_s
        return [
            f"stage {stage.name} has shown no sign of life for {now - stage.heartbeat:.0f} s"
            for stage in self._stages()
            if now - stage.heartbeat > limit
        ]

    def deaf(self) -> str:
        """Why nothing is heard; empty while sound comes in."""
        if waiting := self._ears.waiting_for:
            return f"waiting for {waiting}"
        silent = self._clock() - self._ears.last_frame
        if silent == float("inf"):
            return "no sound from the microphone yet"
        return f"no sound from the microphone for {silent:.0f} s" if silent > self._settings.frames_limit_s else ""

    def problems(self) -> list[str]:
        """All that is wrong now; empty: it hears and every stage moves."""
        deaf = self.deaf()
        return [*([deaf] if deaf else []), *self.hung()]

    def deserves_to_live(self) -> bool:
        """Whether the watchdog may be fed.

        Waiting for a lost device is honest work for a while. When it takes very long the process is given up, because
        a sound library that has lost its server sometimes finds it only in a new process.
        """
        if not self._ears.waiting_for:
            self._waiting_since = None
            return not self.problems()
        now = self._clock()
        if self._waiting_since is None:
            self._waiting_since = now
        return not self.hung() and now - self._waiting_since <= self._settings.device_wait_limit_s


class Watchdog:
    """A thread that feeds systemd's watchdog and keeps `STATUS=` true.

    Until `ready` it is not fed at all: systemd begins to watch a starting service with its first ping, and loading
    models may keep this thread out for longer than the watchdog has patience.
    """

    def __init__(self, notifier: SystemdNotifier) -> None:
        self._notifier = notifier
        # A third of systemd's limit: one lost or late ping must not kill us.
        self._interval = min(CHECK_S, notifier.watchdog_s / 3) if notifier.watchdog_s else CHECK_S
        self._health: HealthCheck | None = None
        self._status: Callable[[], str] = lambda: ""
        self._complaint = ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog")

    def start(self) -> None:
        """Start looking. Systemd is not told `READY` yet."""
        self._thread.start()

    def ready(self, health: HealthCheck, status: Callable[[], str] = lambda: "") -> None:
        """All is warm and sound comes in: tell systemd, and judge by `health` from now on."""
        self._status, self._health = status, health
        self._notifier.ready()
        self.look()

    def stop(self, timeout: float = 1.0) -> bool:
        """End the thread; True if it has ended."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def look(self) -> None:
        """One look: feed or do not feed, set the status line, log a change once."""
        if self._health is None:
            return
        complaint = "; ".join(self._health.problems())
        if self._health.deserves_to_live():
            self._notifier.alive()
        self._notifier.status(complaint or self._status() or "listening")
        if complaint and not self._complaint:
            log.warning("not well: %s", complaint)
        elif self._complaint and not complaint:
            log.info("well again")
        self._complaint = complaint

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            self.look()
