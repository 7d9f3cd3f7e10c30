"""`edgevoice bench idle`: what the daemon costs while nobody speaks."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgevoice.assistant import Assistant
from edgevoice.audio.speaker import FileSpeaker
from edgevoice.commands.options import positive_number
from edgevoice.config import replace
from edgevoice.messages import Frame
from edgevoice.report import cpu_seconds, peak_rss_mb
from edgevoice.runtime.memory import rss_mb
from edgevoice.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    parser.add_argument("--seconds", type=positive_number, default=20.0, help="how long to listen (default 20)")


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """Listen to a quiet room in real time; processor time as a percentage of one core, and memory."""
    settings = replace(settings, echo={"mode": "off"})
    source = QuietRoom(args.seconds, settings.audio.block_ms)
    assistant = Assistant(settings, source, FileSpeaker(settings.audio))
    assistant.load()
    assistant.open_devices()
    assistant.start()
    time.sleep(1.0)  # the first frames are not what idling costs
    began, cpu = time.monotonic(), cpu_seconds()
    assistant.ended.wait(args.seconds + 30)
    wall, used, resident = time.monotonic() - began, cpu_seconds() - cpu, rss_mb()
    assistant.stop()
    return {
        "cpu_percent_of_one_core": round(100 * used / wall, 2),
        "seconds": round(wall, 1),
        "rss_mb": round(resident, 1),
        "rss_mb_peak": round(peak_rss_mb(), 1),
        "load_seconds": {name: round(seconds, 2) for name, seconds in assistant.models.seconds.items()},
    }


class QuietRoom:
    """A `Source` of faint noise (about -60 dBFS), in real time."""

    live = True
    waiting_for = ""
    missed = 0

    def __init__(self, seconds: float, block_ms: int) -> None:
        self._blocks, self._seconds = round(seconds * 1000 / block_ms), block_ms / 1000
        self._closed = False

    def open(self, wait_s: float = 0.0) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """End the frames."""
        self._closed = True

    def frames(self) -> Iterator[Frame]:
        """One block of noise after the other, when a microphone would deliver it."""
        noise = np.random.default_rng(0)
        clock = time.monotonic()
        for _ in range(self._blocks):
            clock += self._seconds
            time.sleep(max(0.0, clock - time.monotonic()))
            if self._closed:
                return
            samples = 0.001 * noise.standard_normal(round(16_000 * self._seconds))
            yield Frame(samples.astype(np.float32), clock)
