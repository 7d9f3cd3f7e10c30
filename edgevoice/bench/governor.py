"""`edgevoice bench governor`: the daemon in real time under a processor cap. Are answers still given, and how late?

Each cap runs in a process of its own, put into a control group with a quota once its models are loaded; its threads are
planned for the cores that the quota is worth, as they would be in a container. Caps are percent of all cores.
`--imitate` adds caps that make the plain piper-tts package as slow on this machine with all cores
as the published real-time factor of Piper's medium voices with all four cores of that board.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from edgevoice.assistant import Assistant
from edgevoice.bench import recordings
from edgevoice.bench.outcomes import apology, outcomes
from edgevoice.bench.statistics import percentiles
from edgevoice.bench.tts import timed_plain
from edgevoice.commands.options import number_list, positive_int
from edgevoice.config import replace
from edgevoice.dialog.ledger import TurnRecord
from edgevoice.errors import UnavailableError
from edgevoice.models import store
from edgevoice.replayer import replay
from edgevoice.runtime import logs
from edgevoice.runtime.cores import plan, usable_cores
from edgevoice.runtime.governor import Governor, TurnReport
from edgevoice.runtime.ladder import ladder
from edgevoice.runtime.metrics import Metrics
from edgevoice.runtime.monitor import Monitor
from edgevoice.settings import Settings
from edgevoice.tts.optimize.plain import PlainPiper

log = logging.getLogger(__name__)

BOARDS = {"pi4": 0.36, "pi5": 0.144}
"""Board -> real-time factor of a Piper medium voice with four threads. Pi 4: published. Pi 5: 2.5 times as fast, the
usual ratio of the two boards' published benchmarks."""
PERIOD_US = 20_000
SENTENCE = (
    "The train to the coast leaves at half past nine from platform four, and it takes about two hours to get there."
)
WORKER_DEADLINE_S = 3600.0


@dataclass(frozen=True)
class Capped:
    """What came of one cap; crosses the process border."""

    asked: int
    answered: int
    """Recordings after which something was heard."""
    wordless: int
    """Recordings in which the recogniser found no words, so that there was nothing to answer."""
    fixed: int
    """Answers that were a fixed sentence because the machine was too slow for another."""
    e2e_ms: list[float]
    levels: list[int]
    """The level after each turn."""
    reason: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    recordings.add_argument(parser)
    parser.add_argument(
        "--caps",
        type=number_list,
        default=(100.0, 50.0, 25.0, 12.0),
        help="percent of this machine (default 100,50,25,12)",
    )
    parser.add_argument(
        "--imitate", type=_boards, default=(), metavar="BOARDS", help=f"also imitate: {', '.join(BOARDS)}"
    )
    parser.add_argument("--repeat", type=positive_int, default=2, help="times the recordings are said (default 2)")


def _boards(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in BOARDS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(BOARDS)}")
    return names


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """Measure; see docs/json.md for the keys."""
    caps = {f"{cap:g} %": cap for cap in args.caps}
    rtf = None
    if args.imitate:
        rtf = voice_rtf(settings)
        for board in args.imitate:
            cap = 100 * min(1.0, rtf / BOARDS[board])
            caps[f"{board} ({cap:.0f} %)"] = cap
    files = recordings.expand(args.files, args.limit) * args.repeat
    rows = {name: row(in_process(settings, files, cap)) for name, cap in caps.items()}
    return {
        "caps": rows,
        "cores": usable_cores(),
        "voice_rtf": rtf,
        "settings_latency_ms": settings.governor.latency_limit_ms,
    }


def row(capped: Capped) -> dict[str, Any]:
    """One line of the table. `settled` leaves out the first third, in which the level is still being found."""
    settled = capped.e2e_ms[len(capped.e2e_ms) // 3 :]
    figures = percentiles(settled)
    return {
        "asked": capped.asked,
        "wordless": capped.wordless,
        "lost": capped.asked - capped.wordless - capped.answered,
        "fixed": capped.fixed,
        "level": capped.levels[-1] if capped.levels else None,
        "changes": sum(a != b for a, b in zip(capped.levels, capped.levels[1:], strict=False)),
        "p50_ms": figures["p50_ms"],
        "p95_ms": figures["p95_ms"],
        "reason": capped.reason,
    }


def in_process(settings: Settings, files: Sequence[str], percent: float) -> Capped:
    """Run the daemon under the cap in a fresh process."""
    spawn = multiprocessing.get_context("spawn")
    with cpu_group(percent) as group, ProcessPoolExecutor(1, mp_context=spawn) as pool:
        asked = pool.submit(daemon, planned(settings, percent), list(files), str(group), cores_of(percent))
        return asked.result(WORKER_DEADLINE_S)


def planned(settings: Settings, percent: float) -> Settings:
    """The settings with the threads that a process gets whose quota is this share of the machine."""
    threads = plan(settings, cores_of(percent))
    return replace(
        settings,
        asr={"threads": threads.asr, "second_pass_threads": threads.second_pass},
        llm={} if percent >= 100 else {"threads": threads.llm},
        tts={"threads": threads.tts},
    )


def cores_of(percent: float) -> int:
    """Cores that a quota is worth, rounded up."""
    return max(1, ceil(percent / 100 * usable_cores()))


def confine(cores: int) -> None:
    """Let all threads of this process run on so many cores only, and those that it starts later.

    The kernel hands out a quota in slices of 5 ms per core: of a small one, one core would take everything, and the
    threads on the others would starve for periods on end, which no slow board does.
    """
    allowed = sorted(os.sched_getaffinity(0))[-cores:]
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), allowed)


def daemon(settings: Settings, files: list[str], group: str, cores: int) -> Capped:
    """In the capped process: replay in real time with the governor at work."""
    logs.set_up(settings.runtime)
    levels = ladder(settings)
    governor = Governor(len(levels) - 1, settings.governor)
    visited: list[int] = []
    events: list[str] = []
    monitors: list[Monitor] = []

    def loaded(assistant: Assistant) -> None:
        monitor = Monitor(
            governor,
            levels,
            Metrics(),
            [stage.rtf for stage in assistant.measured],
            assistant.queues,
            watched=(assistant.frames, assistant.speech),
            apply=assistant.apply,
        )
        monitors.append(monitor)
        confine(cores)
        Path(group, "cgroup.procs").write_text(str(os.getpid()))
        monitor.start()

    def finished(record: TurnRecord) -> None:
        monitors[0].turn(TurnReport(record.interval("e2e"), failed=bool(record.facts.get("failed"))))
        visited.append(governor.level)

    try:
        turns = replay(
            settings,
            files,
            pace="real",
            on_turn=finished,
            on_event=lambda name, facts: events.append(name),
            on_loaded=loaded,
        ).turns
    finally:
        for monitor in monitors:
            monitor.stop()
    answered = [turn for turn in turns if turn.reply]
    for turn in turns:
        log.info("%s", described(turn))
    e2e = [seconds * 1000 for turn in answered if (seconds := turn.interval("e2e")) is not None]
    fixed = sum(map(apology, answered))
    heard = len({turn.facts["recording"] for turn in answered})
    wordless = outcomes(len(files), turns, events).wordless
    return Capped(len(files), heard, wordless, fixed, e2e, visited, governor.reason)


def described(turn: TurnRecord) -> str:
    """One turn's figures, none of its words."""
    return f"recording {turn.facts['recording']}: {turn.intervals_ms()} {turn.facts}"


def voice_rtf(settings: Settings) -> float:
    """Real-time factor of the voice in the plain piper-tts package with all cores, which the published figures are of."""
    plain = PlainPiper(store.find(settings.tts.voice, "tts"))
    plain.speak(SENTENCE)
    runs = [timed_plain(plain, SENTENCE) for _ in range(5)]
    return round(statistics.median(wall / sound for _, wall, _, sound in runs), 4)


@contextmanager
def cpu_group(percent: float) -> Iterator[Path]:
    """A control group (version 1 or 2) with this quota, and a weight that lets it have the quota whatever else runs.

    Raises UnavailableError where this user may not make one.
    """
    quota = max(1000, round(percent / 100 * usable_cores() * PERIOD_US))
    first, second = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    top = first if (first / "cpu.cfs_quota_us").exists() or (first / "tasks").exists() else second
    group = top / f"edgevoice-bench-{os.getpid()}-{percent:g}"
    try:
        group.mkdir()
        if top == first:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota if percent < 100 else -1))
            (group / "cpu.shares").write_text("100000")
        else:
            (group / "cpu.max").write_text(f"{quota if percent < 100 else 'max'} {PERIOD_US}")
            (group / "cpu.weight").write_text("10000")
    except OSError as error:
        raise UnavailableError(
            "processor cap", f"no control group can be made here ({error.strerror})", "run it as root"
        ) from error
    try:
        yield group
    finally:
        for _ in range(50):
            try:
                group.rmdir()
                break
            except OSError:  # the process is still leaving it
                time.sleep(0.1)
