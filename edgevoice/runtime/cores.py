"""The core plan: how many threads each stage gets. The measurements behind it are in docs/cores.md."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from edgevoice.settings import Settings


@dataclass(frozen=True)
class CorePlan:
    """Threads per stage. Their sum may exceed the cores: the voice and the second pass work in turns with the rest."""

    cores: int
    asr: int
    second_pass: int
    llm: int
    llm_shared: int
    """The language model's threads while the recogniser or the voice is at work."""
    tts: int


def usable_cores(root: Path | str = "/") -> int:
    """Cores this process may use: its affinity mask, cut by a control group quota (rounded up), at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota(root)
    return max(1, min(cores, ceil(quota)) if quota else cores)


def cpu_quota(root: Path | str = "/") -> float | None:
    """Cores' worth of time the control groups (version 2 or 1) allow, or None without a limit."""
    root = Path(root)
    quotas = []
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            quotas += _quotas_v2(root / "sys/fs/cgroup", path)
        elif "cpu" in controllers.split(","):
            quotas += _quotas_v1(root / "sys/fs/cgroup" / "cpu", path)
    return min(quotas, default=None)


def plan(settings: Settings, cores: int | None = None) -> CorePlan:
    """Threads per stage: what `settings` name, else computed from `cores` (default: `usable_cores()`).

    - The streaming recogniser gets one thread: a chunk is too small a piece of work to share.
    - The voice gets two where there are two: the first doubling gains most; a third and fourth thread give little.
    - The language model gets all cores but one (the listening thread's). Its threads meet at a barrier hundreds of times a
      token, so that one whose core is taken holds up all: on two cores a token takes 13 ms with two threads while nothing
      else runs at all, but 31 ms in the daemon, which always listens; with one thread 22 ms either way. While another
      stage computes, it gets what the voice leaves (`llm_shared`); the number follows from token to token.
    """
    cores = usable_cores() if cores is None else cores
    tts = settings.tts.threads or min(2, cores)
    return CorePlan(
        cores=cores,
        asr=min(settings.asr.threads or 1, cores),
        second_pass=min(settings.asr.second_pass_threads or 2, cores),
        llm=settings.llm.threads or max(1, cores - 1),
        llm_shared=settings.llm.threads or max(1, cores - tts),
        tts=tts,
    )


def _quotas_v2(top: Path, path: str) -> list[float]:
    quotas = []
    for folder in _upwards(top, path):
        try:
            quota, period = (folder / "cpu.max").read_text().split()
        except (OSError, ValueError):
            continue
        if quota != "max":
            quotas.append(int(quota) / int(period))
    return quotas


def _quotas_v1(top: Path, path: str) -> list[float]:
    quotas = []
    for folder in _upwards(top, path):
        try:
            quota = int((folder / "cpu.cfs_quota_us").read_text())
            period = int((folder / "cpu.cfs_period_us").read_text())
        except (OSError, ValueError):
            continue
        if quota > 0:
            quotas.append(quota / period)
    return quotas


def _upwards(top: Path, path: str) -> list[Path]:
    """The group's folder and its parents. In a container the named folder may not exist; the top one then counts."""
    own = top / path.lstrip("/")
    return [folder for folder in (own, *own.parents) if folder == top or top in folder.parents]
