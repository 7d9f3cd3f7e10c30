"""The monitor: once a second it looks at the machine and the queues, and lets the governor judge."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil

from edgevoice.runtime import memory
from edgevoice.runtime.governor import Governor, Health, TurnReport
from edgevoice.runtime.ladder import Quality
from edgevoice.runtime.metrics import Metrics
from edgevoice.runtime.queues import BoundedQueue
from edgevoice.runtime.rtf import RtfMeter
from edgevoice.runtime.thermal import ThermalReader

log = logging.getLogger(__name__)

PERIOD_S = 1.0


class Monitor:
    """Owns the governor's time. `apply(quality)` is called on a change of level, from whichever thread caused it.

    `meters`: one per stage; `yardstick` names the one whose work is the same on every level.
    `watched`: the queues of sound, whose filling up means overload. All `queues` appear in the metrics.
    """

    def __init__(
        self,
        governor: Governor,
        levels: Sequence[Quality],
        metrics: Metrics,
        meters: Sequence[RtfMeter],
        queues: Sequence[BoundedQueue[Any]],
        watched: Sequence[BoundedQueue[Any]] = (),
        apply: Callable[[Quality], None] = lambda quality: None,
        yardstick: str = "listen",
        problems: Callable[[], Sequence[str]] = tuple,
        thermal: ThermalReader | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.governor, self.levels, self.metrics = governor, tuple(levels), metrics
        self._meters, self._queues, self._watched = tuple(meters), tuple(queues), tuple(watched)
        self._apply, self._yardstick, self._problems, self._clock = apply, yardstick, problems, clock
        self._thermal = thermal or ThermalReader()
        self._process = psutil.Process()
        self._added: dict[str, int] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="monitor")
        for queue in queues:
            metrics.follow_drops(queue.name, lambda queue=queue: queue.dropped)  # type: ignore[misc]
        metrics.quality(governor.level, governor.reason)

    @property
    def quality(self) -> Quality:
        """The quality in force."""
        return self.levels[self.governor.level]

    def start(self) -> None:
        """Start looking."""
        self._thread.start()

    def stop(self, timeout: float = 1.0) -> bool:
        """End the thread; True if it has ended."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def turn(self, report: TurnReport) -> None:
        """Take in a finished turn."""
        with self._lock:
            changed = self.governor.turn(self._clock(), report)
            self._changed(changed)

    def look(self) -> None:
        """One look at everything."""
        heat = self._thermal.read()
        headroom = memory.headroom_mb()
        rtf = {meter.name: value for meter in self._meters if (value := meter.value) is not None}
        resting = frozenset(meter.name for meter in self._meters if self._added.get(meter.name) == meter.added)
        self._added = {meter.name: meter.added for meter in self._meters}
        health = Health(
            rtf=rtf,
            resting=resting,
            queues={queue.name: queue.depth / queue.bound for queue in self._watched},
            memory_mb=headroom,
            throttled=heat.throttled,
            yardstick=rtf.get(self._yardstick),
        )
        for stage, value in rtf.items():
            self.metrics.rtf(stage, value)
        for queue in self._queues:
            self.metrics.queue(queue.name, queue.depth)
        self.metrics.heat(heat.throttled, heat.celsius)
        self.metrics.process(memory.rss_mb(), headroom, threading.active_count(), self._process.num_fds())
        self.metrics.hearing(not self._problems())
        with self._lock:
            self._changed(self.governor.observe(self._clock(), health))

    def status(self) -> str:
        """One line for `STATUS=`: level, reason, real-time factors."""
        rtf = ", ".join(f"{stage} {value:.2f}" for stage, value in sorted(self.governor.health.rtf.items()))
        level = f"quality {self.quality.name} ({self.governor.reason})" if self.governor.level else "full quality"
        return f"listening; {level}" + (f"; real-time factors: {rtf}" if rtf else "")

    def _changed(self, changed: bool) -> None:
        if not changed:
            return
        for meter in self._meters:
            # The windows hold the old level's figures. The yardstick's work has not changed.
            if meter.name != self._yardstick:
                meter.reset()
        self.metrics.quality(self.governor.level, self.governor.reason)
        self._apply(self.quality)

    def _run(self) -> None:
        while not self._stopping.wait(PERIOD_S):
            try:
                self.look()
            except (OSError, psutil.Error) as error:
                log.warning("the machine's state cannot be read: %s", error)
