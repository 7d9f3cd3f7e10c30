"""Heat and throttling, read from sysfs. Every path hangs under `root`, so that a test can lay out a board of its own.

A Raspberry Pi's kernel shows what `vcgencmd get_throttled` prints in a file of its firmware driver, too; the bits are
documented at https://www.raspberrypi.com/documentation/computers/os.html#get_throttled. Low voltage is an alarm of the
`rpi_volt` sensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PI_UNDERVOLTAGE, PI_CAPPED, PI_THROTTLED, PI_SOFT_LIMIT = 1 << 0, 1 << 1, 1 << 2, 1 << 3
PI_FLAGS = {
    PI_UNDERVOLTAGE: "undervoltage (use a stronger power supply)",
    PI_CAPPED: "clock capped by heat",
    PI_THROTTLED: "throttled by heat",
    PI_SOFT_LIMIT: "soft temperature limit",
}
TRIP_MARGIN_C = 2.0
"""Degrees below a zone's passive trip point at which the kernel's throttling is taken to be on."""
CAPPED_SHARE = 0.85
"""A policy whose upper limit is below this share of what the chip can do is capped by somebody."""


@dataclass(frozen=True)
class Thermal:
    """What the board says about its heat."""

    celsius: float | None
    """The hottest zone, or None without a sensor."""
    reasons: tuple[str, ...] = ()
    """Why the board is slowed down; empty: it is not."""

    @property
    def throttled(self) -> bool:
        """The board runs slower than it could."""
        return bool(self.reasons)


class ThermalReader:
    """Reads all sensors; a board without any reads as cool. `read` costs a few file reads (well below 1 ms)."""

    def __init__(self, root: Path | str = "/") -> None:
        self._root = Path(root)
        self._counts: dict[Path, int] = {}

    def read(self) -> Thermal:
        """The state now. Throttle *counters* count as throttling when they grew since the last call."""
        hottest: float | None = None
        reasons: list[str] = []
        for zone in sorted(self._root.glob("sys/class/thermal/thermal_zone*")):
            celsius = _milli(zone / "temp")
            if celsius is None:
                continue
            hottest = celsius if hottest is None else max(hottest, celsius)
            trip = _passive_trip(zone)
            if trip is not None and celsius >= trip - TRIP_MARGIN_C:
                reasons.append(f"{_text(zone / 'type') or zone.name} at {celsius:.0f} °C (limit {trip:.0f} °C)")
        reasons += self._pi() + self._capped() + self._counters()
        return Thermal(hottest, tuple(dict.fromkeys(reasons)))

    def _pi(self) -> list[str]:
        bits = 0
        for file in self._root.glob("sys/devices/platform/*/*firmware/get_throttled"):
            bits |= _number(file, 16) or 0
        for sensor in self._root.glob("sys/class/hwmon/hwmon*"):
            if _text(sensor / "name") == "rpi_volt" and _number(sensor / "in0_lcrit_alarm"):
                bits |= PI_UNDERVOLTAGE
        return [text for flag, text in PI_FLAGS.items() if bits & flag]

    def _capped(self) -> list[str]:
        """The kernel's cooling devices lower a policy's `scaling_max_freq`."""
        for policy in sorted(self._root.glob("sys/devices/system/cpu/cpufreq/policy*")):
            limit, most = _number(policy / "scaling_max_freq"), _number(policy / "cpuinfo_max_freq")
            if limit and most and limit < CAPPED_SHARE * most and self._cooling_active():
                return [f"clock limited to {limit / 1e6:.1f} of {most / 1e6:.1f} GHz"]
        return []

    def _cooling_active(self) -> bool:
        # Without this, a person who chose a power-saving profile would read as heat.
        return any(
            (_number(device / "cur_state") or 0) > 0
            for device in self._root.glob("sys/class/thermal/cooling_device*")
            if "cpufreq" in (_text(device / "type") or "").lower()
            or "processor" in (_text(device / "type") or "").lower()
        )

    def _counters(self) -> list[str]:
        grown = False
        for file in self._root.glob("sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count"):
            count = _number(file)
            if count is None:
                continue
            grown |= count > self._counts.get(file, count)
            self._counts[file] = count
        return ["processor reports throttling"] if grown else []


def _passive_trip(zone: Path) -> float | None:
    """Degrees of the zone's lowest passive trip point: from there on the kernel slows the processor."""
    trips = [
        celsius
        for kind in zone.glob("trip_point_*_type")
        if _text(kind) == "passive" and (celsius := _milli(zone / kind.name.replace("_type", "_temp"))) and celsius > 0
    ]
    return min(trips, default=None)


def _text(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError):  # sensors come and go, and some answer EAGAIN or EINVAL
        return None


def _number(file: Path, base: int = 10) -> int | None:
    text = _text(file)
    try:
        return int(text, base) if text is not None else None
    except ValueError:
        return None


def _milli(file: Path) -> float | None:
    number = _number(file)
    return None if number is None else number / 1000
