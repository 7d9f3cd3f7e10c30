"""The quality governor: how much work the assistant gives itself, so that answers stay in time on a slow or hot board.

Pure logic: no clock, no thread, no file. Whoever owns the time calls `turn` after each answer and `observe` about once
a second, and applies `ladder[level]` when the level changes.

How it keeps from oscillating. Taking work away makes every stage look relaxed, so "relaxed" alone must not bring the
work back. The governor remembers how strained each level was when it left it, and how fast the machine was then, read
off a *yardstick*: the real-time factor of a stage whose work is the same on every level (listening). It climbs only if
that memory, scaled to the machine's present speed, says that the level above would be comfortable. A level without
comfort in sight is tried again after an hour, then after two, four … hours.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from edgevoice.settings import GovernorSettings

log = logging.getLogger(__name__)

COMFORT = 0.8
"""A level is climbed to when its expected strain is below this; 1 is the limit."""
SETTLE_S = 12.0
"""Seconds after a step down before another overload counts: the windows (10 s) still hold the old level's figures."""
RETRY_S = 3600.0
"""Seconds after which a level is tried again although it is not expected to be comfortable; doubles each time."""
HOLD_S = 60.0
"""Seconds no climb is made after a climb that failed; doubles each time."""
HOLD_MAX_S = 3600.0
LASTED_S = 600.0
"""Seconds after which a climb has not failed, if the last turns went well, too."""
LAST_RESORT = 2.0
"""The lowest level gives up answers of the model: things have to be this many times too bad before that is better."""
QUEUE_LIMIT = 0.8
"""Fill of a sound queue that is an overload."""
OVERLOAD_RTF = 1.0
"""A stage slower than the sound it works on can only fall further behind."""


@dataclass(frozen=True)
class Health:
    """What the machine looks like now."""

    rtf: Mapping[str, float] = field(default_factory=dict)
    """Stage -> real-time factor over its recent work."""
    resting: frozenset[str] = frozenset()
    """Stages that have done nothing since the last look: their figure is old."""
    queues: Mapping[str, float] = field(default_factory=dict)
    """Queue -> fill in [0, 1]."""
    memory_mb: float = float("inf")
    """Megabytes that can still be had."""
    throttled: bool = False
    """The board runs slower than it could (heat, undervoltage)."""
    yardstick: float | None = None
    """Real-time factor of work that is the same on every level; None if nothing such was measured."""


@dataclass(frozen=True)
class TurnReport:
    """How one turn went."""

    latency_s: float | None
    """End of speech to first audible sound; None if there was no sound."""
    failed: bool = False
    """A stage missed its deadline or died; a template was spoken."""


@dataclass
class _Left:
    """A level as it was when the governor stepped down from it."""

    strain: float
    yardstick: float | None
    at: float
    retry_s: float = RETRY_S


class Governor:
    """One number, `level`: 0 is full quality, `floor` the least work. `reason` says in words why it is what it is."""

    def __init__(self, floor: int, settings: GovernorSettings | None = None) -> None:
        self.settings = settings or GovernorSettings()
        self.floor = floor if self.settings.enabled else 0
        self.level = 0
        self.reason = "full quality"
        self.health = Health()
        self._bad = self._good = self._calm = 0
        """Turns in a row: bad ones, good ones that speak for the level above, and all that were not bad."""
        self._changed_at = -SETTLE_S
        self._climbed_at: float | None = None
        self._hold_s = HOLD_S
        self._hold_until = 0.0
        self._left: dict[int, _Left] = {}

    def observe(self, now: float, health: Health) -> bool:
        """Take in the machine's state at monotonic second `now`; True if the level changed.

        Overload (a stage slower than real time, a sound queue nearly full, memory nearly gone) acts at once.
        """
        self.health = health
        overload = self._overload(health)
        if overload and now - self._changed_at >= SETTLE_S:
            return self._down(now, *overload)
        return False

    def turn(self, now: float, report: TurnReport) -> bool:
        """Take in a finished turn at monotonic second `now`; True if the level changed."""
        strain, cause = self._strain(report)
        if strain > 1.0:
            self._good = self._calm = 0
            self._bad += 1
            return self._bad >= self.settings.down_after and self._down(now, strain, cause)
        self._bad = 0
        self._calm += 1
        self._forgive(now)
        self._good = self._good + 1 if self._room_above(now, strain) else 0
        return self._good >= self.settings.up_after and self._up(now)

    def _strain(self, report: TurnReport) -> tuple[float, str]:
        """The worst of all pressures, 1 being its limit, and its name."""
        pressures = [(0.0, "")]
        patience = LAST_RESORT if self.level == self.floor - 1 else 1.0
        rtf_limit = min(patience * self.settings.rtf_limit, OVERLOAD_RTF)
        if report.latency_s is not None:
            limit = patience * self.settings.latency_limit_ms / 1000
            pressures.append((report.latency_s / limit, f"answers came after {report.latency_s:.1f} s"))
        if report.failed:
            pressures.append((1.5, "an answer failed"))
        for stage, rtf in self.health.rtf.items():
            pressures.append((rtf / rtf_limit, f"{stage} runs at {rtf:.2f} of real time"))
        if self.health.throttled and self.level == 0:
            # One step lets the board cool; more is for the other pressures to ask for.
            pressures.append((1.01, "the board is throttled"))
        return max(pressures)

    def _overload(self, health: Health) -> tuple[float, str] | None:
        for stage, rtf in health.rtf.items():
            if rtf >= OVERLOAD_RTF and stage not in health.resting:
                return rtf / self.settings.rtf_limit, f"{stage} is slower than real time ({rtf:.2f})"
        for queue, fill in health.queues.items():
            if fill >= QUEUE_LIMIT:
                return 1.0 + fill, f"the queue {queue} is {fill:.0%} full"
        if health.memory_mb < self.settings.memory_floor_mb:
            return 1.5, f"only {health.memory_mb:.0f} MB of memory are left"
        return None

    def _down(self, now: float, strain: float, cause: str) -> bool:
        self._bad = self._good = self._calm = 0
        if self.level >= self.floor:
            return False
        before = self._left.get(self.level)
        self._left[self.level] = _Left(strain, self.health.yardstick, now, before.retry_s if before else RETRY_S)
        if self._climbed_at is not None:
            # The last climb did not last: wait longer before the next one.
            self._hold_until = now + self._hold_s
            self._hold_s = min(2 * self._hold_s, HOLD_MAX_S)
            self._climbed_at = None
        return self._change(now, self.level + 1, cause)

    def _up(self, now: float) -> bool:
        self._good = self._calm = 0
        above = self._left[self.level - 1]
        if self._expected(above) >= COMFORT:
            above.retry_s *= 2
        self._climbed_at = now
        return self._change(now, self.level - 1, "room again" if self.level > 1 else "full quality")

    def _change(self, now: float, level: int, reason: str) -> bool:
        log.info("quality level %d -> %d: %s", self.level, level, reason)
        self.level, self.reason, self._changed_at = level, reason, now
        return True

    def _room_above(self, now: float, strain: float) -> bool:
        """Whether this good turn speaks for the level above."""
        if self.level == 0 or now < self._hold_until or self._overload(self.health):
            return False
        if self.health.throttled and self.level == 1:
            return False
        if self.health.memory_mb < 1.5 * self.settings.memory_floor_mb:
            return False
        above = self._left[self.level - 1]
        return (strain < COMFORT and self._expected(above) < COMFORT) or now - above.at >= above.retry_s

    def _expected(self, above: _Left) -> float:
        """The strain to expect on the level above, at the machine's present speed."""
        if above.yardstick is None or self.health.yardstick is None or above.yardstick <= 0:
            return above.strain
        return above.strain * self.health.yardstick / above.yardstick

    def _forgive(self, now: float) -> None:
        """A climb that has lasted ends the doubling of waits."""
        lasted = self._climbed_at is not None and now - self._climbed_at > LASTED_S
        if lasted and self._calm > 2 * self.settings.up_after:
            self._climbed_at, self._hold_s = None, HOLD_S
            self._left.pop(self.level, None)
