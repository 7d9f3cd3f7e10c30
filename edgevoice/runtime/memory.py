"""How much memory this process uses and how much it may still have, its control group's limit included."""

from __future__ import annotations

from pathlib import Path

import psutil

MB = 1024 * 1024


def rss_mb() -> float:
    """Resident megabytes of this process."""
    return float(psutil.Process().memory_info().rss) / MB


def headroom_mb(root: Path | str = "/") -> float:
    """Megabytes that can still be had: the least of the machine's available memory and the control group's rest."""
    machine = float(psutil.virtual_memory().available) / MB
    group = _group_rest_mb(Path(root))
    return machine if group is None else min(machine, group)


def total_mb(root: Path | str = "/") -> float:
    """Megabytes of the machine, or of the control group if that is less."""
    total = float(psutil.virtual_memory().total) / MB
    limit = next((n for folder in _groups(Path(root)) if (n := _limit(folder)) is not None), None)
    return total if limit is None else min(total, limit / MB)


def _group_rest_mb(root: Path) -> float | None:
    rests = []
    for folder in _groups(root):
        limit, used = _limit(folder), _number(folder / "memory.current")
        if limit is None or used is None:
            continue
        # File pages are given back under pressure, so they count as free.
        rests.append((limit - used + _stat(folder, "inactive_file")) / MB)
    return min(rests, default=None)


def _groups(root: Path) -> list[Path]:
    """This process's control group (version 2) and its parents."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    path = next((line[3:] for line in lines if line.startswith("0::")), None)
    if path is None:
        return []
    top = root / "sys/fs/cgroup"
    own = top / path.lstrip("/")
    return [folder for folder in (own, *own.parents) if folder == top or top in folder.parents]


def _limit(folder: Path) -> int | None:
    limits = [n for name in ("memory.max", "memory.high") if (n := _number(folder / name)) is not None]
    return min(limits, default=None)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # "max", or no such file
        return None


def _stat(folder: Path, key: str) -> int:
    try:
        lines = (folder / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key} ")), 0)
