"""A board that is too hot, as the kernel tells it."""

from __future__ import annotations

from pathlib import Path


def hot_zone(root: Path, degrees: int) -> None:
    """Write below `root` a thermal zone with this temperature in °C and a passive trip point at 80."""
    zone = root / "sys/class/thermal/thermal_zone0"
    zone.mkdir(parents=True)
    files = {"temp": degrees * 1000, "type": "cpu", "trip_point_0_type": "passive", "trip_point_0_temp": 80_000}
    for name, text in files.items():
        (zone / name).write_text(str(text))
