"""The supervisor: a stage that dies is started again; one that keeps dying ends the process."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from edgevoice.errors import InternalError
from edgevoice.runtime.stage import Stage

log = logging.getLogger(__name__)

BACK_OFF_S = (0.1, 0.5, 2.0)
"""Seconds before the first, second and any further restart within a minute."""
DEATHS = 3
"""So many deaths of one stage within `WINDOW_S` are too many."""
WINDOW_S = 60.0


class Supervisor:
    """Watches stages by their `on_failure` hook and restarts them on a thread of its own.

    `on_death(stage name, error)` is called for each death (count it, say a template aloud); `give_up` is set when a
    stage died too often: the main thread waits on it among others and then calls `raise_failure`.
    """

    def __init__(
        self,
        stages: Sequence[Stage[Any]],
        on_death: Callable[[str, BaseException], None] = lambda name, error: None,
        on_give_up: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        back_off: Sequence[float] = BACK_OFF_S,
    ) -> None:
        self.give_up = threading.Event()
        self.restarts = 0
        self._stages = list(stages)
        self._on_death, self._on_give_up, self._clock, self._back_off = on_death, on_give_up, clock, tuple(back_off)
        self._deaths: dict[str, deque[float]] = {stage.name: deque(maxlen=DEATHS) for stage in stages}
        self._due: list[tuple[float, Stage[Any]]] = []
        self._failure: tuple[str, BaseException] | None = None
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="supervisor")

    def start(self) -> None:
        """Hook into the stages (before they start) and begin."""
        for stage in self._stages:
            stage.on_failure = self._died
        self._thread.start()

    def stop(self, timeout: float = 1.0) -> bool:
        """Restart nothing any more; True if the thread has ended."""
        with self._changed:
            self._stopping = True
            self._due.clear()
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def raise_failure(self) -> None:
        """Raise InternalError (exit code 70) if a stage died too often; for the main thread."""
        if self._failure:
            name, error = self._failure
            raise InternalError(
                f"stage {name}",
                f"died {DEATHS} times within {WINDOW_S:.0f} s, last of {type(error).__name__}",
                "the log holds the traces; `edgevoice doctor` checks models and devices",
            ) from error

    def _died(self, stage: Stage[Any], error: BaseException) -> None:
        """Called on the dying stage's own thread."""
        self._on_death(stage.name, error)
        now = self._clock()
        with self._changed:
            if self._stopping or self._failure:
                return
            deaths = self._deaths[stage.name]
            deaths.append(now)
            recent = sum(now - at < WINDOW_S for at in deaths)
            if recent >= DEATHS:
                self._failure = (stage.name, error)
                log.error("stage %s died %d times within %.0f s: giving up", stage.name, recent, WINDOW_S)
            else:
                wait = self._back_off[min(recent, len(self._back_off)) - 1]
                self._due.append((time.monotonic() + wait, stage))
            self._changed.notify_all()
        if self._failure:
            self.give_up.set()
            self._on_give_up()

    def _run(self) -> None:
        while (stage := self._next()) is not None:
            # The dying thread may still be in its last lines.
            if not stage.join(1.0):
                log.error("stage %s does not end; it is not restarted", stage.name)
                continue
            with self._changed:
                if self._stopping:
                    return
                self.restarts += 1
                log.warning("starting stage %s again", stage.name)
                stage.start()

    def _next(self) -> Stage[Any] | None:
        with self._changed:
            while not self._stopping:
                self._due.sort(key=lambda entry: entry[0])
                wait = self._due[0][0] - time.monotonic() if self._due else 1.0
                if self._due and wait <= 0:
                    return self._due.pop(0)[1]
                self._changed.wait(min(wait, 1.0))
            return None
