"""The machine: Python and packages, processor, memory, disk, heat."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.requirements import Requirement

from edgevoice.doctor.finding import Finding, fail, ok, warn
from edgevoice.doctor.stored import voice_model
from edgevoice.models.catalogue import catalogue
from edgevoice.models.places import cache_dir, data_dir
from edgevoice.runtime import memory
from edgevoice.runtime.cores import cpu_quota, plan
from edgevoice.runtime.thermal import ThermalReader
from edgevoice.settings import Settings

BASE_MB = 160
"""Resident memory of the process without any model (interpreter, numpy, ONNX Runtime)."""
DISK_FLOOR_MB = 200
FEATURES = {
    "x86": (("avx2", "llama.cpp and ONNX Runtime run several times slower without it"), ("fma", "same")),
    "arm": (("asimddp", "INT8 models run about twice as slow without the dot product instructions"),),
}
"""Processor features that matter, and why."""


def python() -> Iterator[Finding]:
    """Interpreter and the packages edgevoice was made for."""
    version = platform.python_version()
    if sys.version_info < (3, 11):  # noqa: UP036 - the doctor is there for the case that should not happen
        yield fail("python", version, "use Python 3.11 or newer")
    else:
        yield ok("python", f"{version} ({sys.executable})")
    yield from packages(importlib.metadata.requires("edgevoice") or [])


def packages(requirements: Iterable[str]) -> Iterator[Finding]:
    """Hold the installed versions against `requirements` (lines as in package metadata; extras are left out)."""
    wrong, count = [], 0
    for line in requirements:
        wanted = Requirement(line)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        count += 1
        try:
            found = importlib.metadata.version(wanted.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{wanted.name} is missing")
            continue
        if not wanted.specifier.contains(found, prereleases=True):
            wrong.append(f"{wanted.name} {found} is not {wanted.specifier}")
    if wrong:
        yield fail("packages", "; ".join(wrong), "install again: scripts/setup, or pip install -c requirements.lock .")
    else:
        yield ok("packages", f"all {count} there")


def processor(settings: Settings, cpuinfo: Path = Path("/proc/cpuinfo")) -> Iterator[Finding]:
    """Features, cores, and how the work is spread over them."""
    architecture = "arm" if platform.machine().startswith(("aarch64", "arm")) else "x86"
    try:
        text = cpuinfo.read_text()
    except OSError:
        text = ""
    flags = set(" ".join(re.findall(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)).split())
    missing = [(name, why) for name, why in FEATURES[architecture] if flags and name not in flags]
    model = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", text, re.MULTILINE)
    name = f"{model[1] if model else platform.machine()}"
    if missing:
        lacks = "; ".join(f"{feature}: {why}" for feature, why in missing)
        yield warn("processor", f"{name} lacks {lacks}", "choose smaller models, or another board")
    else:
        yield ok("processor", name)
    found = plan(settings)
    quota = cpu_quota()
    limit = f" (limited to {quota:.1f} by the control group)" if quota else ""
    spread = f"listening {found.asr}, second pass {found.second_pass}, language model {found.llm}, voice {found.tts}"
    text = f"{found.cores} usable{limit}; threads: {spread}"
    if found.cores < 2:
        yield warn("cores", text, "one core answers late; use two or more, or llm.backend = template")
    else:
        yield ok("cores", text)


def memory_fit(settings: Settings) -> Iterator[Finding]:
    """Whether the chosen models fit into what can be had."""
    chosen = {settings.asr.model: "recogniser"}
    if settings.asr.second_pass != "off":
        chosen[settings.asr.second_pass_model] = "second pass"
    if settings.llm.backend == "llama":
        chosen[settings.llm.model] = "language model"
    if voice := voice_model(settings):
        chosen[voice] = "voice"
    known = {use: catalogue()[name].memory_mb for name, use in chosen.items() if name in catalogue()}
    needed = BASE_MB + sum(known.values())
    headroom, total = memory.headroom_mb(), memory.total_mb()
    parts = ", ".join(f"{use} {mb}" for use, mb in known.items())
    text = f"needs about {needed} MB ({parts}, itself {BASE_MB}); {headroom:.0f} of {total:.0f} MB can be had"
    mend = "turn the second pass off (asr.second_pass = off), or choose a smaller voice or language model"
    if headroom < needed:
        yield fail("memory", text, mend)
    elif headroom < needed + 2 * settings.governor.memory_floor_mb:
        yield warn("memory", text, mend)
    else:
        yield ok("memory", text)


def disk() -> Iterator[Finding]:
    """Room where models and caches are written, and whether they may be."""
    for name, folder in (("data", data_dir()), ("cache", cache_dir())):
        existing = next(place for place in (folder, *folder.parents) if place.exists())
        free = shutil.disk_usage(existing).free // 2**20
        if not os.access(existing, os.W_OK):
            yield fail(f"disk ({name})", f"{folder}: not writable for this user", "give the folder to this user")
        elif free < DISK_FLOOR_MB:
            yield warn(f"disk ({name})", f"{folder}: {free} MB free", f"free {DISK_FLOOR_MB} MB or more")
        else:
            yield ok(f"disk ({name})", f"{folder}: {free} MB free")


def heat(root: Path | str = "/") -> Iterator[Finding]:
    """Temperature and throttling now."""
    found = ThermalReader(root).read()
    if found.throttled:
        yield warn("heat", "slowed down: " + "; ".join(found.reasons), "better cooling or a stronger power supply")
    elif found.celsius is None:
        yield ok("heat", "no sensor on this machine")
    else:
        yield ok("heat", f"{found.celsius:.0f} °C, not throttled")
