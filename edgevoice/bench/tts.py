"""`edgevoice bench tts`: first sound, real-time factor and memory of the voice, against the plain piper-tts package.

All contestants speak each sentence one after the other before the next sentence comes, so that other work on the machine
meets all of them alike. Wall time is what a user waits, processor time what the work costs.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field, replace
from typing import Any

from edgevoice.bench.statistics import percentiles
from edgevoice.commands.options import positive_int
from edgevoice.models import store
from edgevoice.runtime.cores import plan
from edgevoice.runtime.memory import rss_mb
from edgevoice.settings import Settings
from edgevoice.tts.factory import build_synthesizer
from edgevoice.tts.optimize.plain import PlainPiper
from edgevoice.tts.optimize.sentences import sentences
from edgevoice.tts.synthesizer import Synthesizer

REST_S = 0.2
"""Pause after the plain package's turn: its threads go on spinning for a while, at the next one's cost."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    parser.add_argument(
        "--sentences", type=positive_int, default=30, help="how many sentences, 1 to 38 words (default 30)"
    )
    parser.add_argument("--rounds", type=positive_int, default=2, help="rounds over all sentences (default 2)")
    parser.add_argument("--threads", type=positive_int, nargs="+", metavar="N", help="numbers of threads to compare")
    parser.add_argument("--no-piper", action="store_true", help="leave out the comparison with the piper-tts package")


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """Measure.

    Keys: `engine`, `voice`, `tier`; `ttfb` (`p50_ms` …), `rtf`, `cpu_rtf` at the planned `threads`; `speedup_over_piper`
    and `cpu_speedup_over_piper` (the piper-tts package's time divided by ours, same sentences, in turns; None without
    it); `piper` (its row); `by_threads`: a row each; `rss_mb` of the process, `model_mb` what loading the voice added.
    """
    planned = plan(settings).tts
    counts = sorted({*(args.threads or range(1, plan(settings).cores + 1)), planned})
    before = rss_mb()
    voices = {count: _load(settings, count) for count in [planned, *(n for n in counts if n != planned)]}
    model_mb = rss_mb() - before
    plain = None
    if settings.tts.backend == "piper" and not getattr(args, "no_piper", False):
        plain = PlainPiper(store.find(settings.tts.voice, "tts"))
        plain.speak("Warm up.")
    rows = {count: Row() for count in voices}
    reference = Row()
    for _ in range(args.rounds):
        for turn, text in enumerate(sentences(args.sentences)):
            # Who is first varies: it meets words that are new to the phonemiser, which all share.
            order = list(voices)
            for count in order[turn % len(order) :] + order[: turn % len(order)]:
                rows[count].take(*timed(voices[count], text))
            if plain is not None:
                reference.take(*timed_plain(plain, text))
                time.sleep(REST_S)
    for voice in voices.values():
        voice.close()
    mine = rows[planned]
    return {
        "engine": settings.tts.backend,
        "voice": settings.tts.voice,
        "tier": settings.tts.tier if settings.tts.backend == "piper" else None,
        "threads": planned,
        "ttfb": percentiles(mine.first_ms),
        "rtf": mine.rtf,
        "cpu_rtf": mine.cpu_rtf,
        "speedup_over_piper": _ratio(reference.rtf, mine.rtf) if plain else None,
        "cpu_speedup_over_piper": _ratio(reference.cpu_rtf, mine.cpu_rtf) if plain else None,
        "piper": reference.as_json() if plain else None,
        "by_threads": [{"threads": count, **rows[count].as_json()} for count in counts],
        "model_mb": round(model_mb / len(voices), 1),
        "rss_mb": round(rss_mb(), 1),
    }


@dataclass
class Row:
    """The figures of one contestant."""

    first_ms: list[float] = field(default_factory=list)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    sound_s: float = 0.0

    def take(self, first_s: float, wall_s: float, cpu_s: float, sound_s: float) -> None:
        """Add one sentence."""
        self.first_ms.append(first_s * 1000)
        self.wall_s += wall_s
        self.cpu_s += cpu_s
        self.sound_s += sound_s

    @property
    def rtf(self) -> float:
        """Wall time over length of the sound."""
        return round(self.wall_s / self.sound_s, 4) if self.sound_s else 0.0

    @property
    def cpu_rtf(self) -> float:
        """Processor time (all threads) over length of the sound."""
        return round(self.cpu_s / self.sound_s, 4) if self.sound_s else 0.0

    def as_json(self) -> dict[str, Any]:
        """Flat figures."""
        return {"ttfb": percentiles(self.first_ms), "rtf": self.rtf, "cpu_rtf": self.cpu_rtf}


def timed(voice: Synthesizer, text: str) -> tuple[float, float, float, float]:
    """Seconds to the first chunk, to the end, of processor time, and of sound."""
    begun, cpu = time.perf_counter(), time.process_time()
    first, samples = 0.0, 0
    for chunk in voice.synthesize(text):
        first = first or time.perf_counter() - begun
        samples += len(chunk.samples)
    return first, time.perf_counter() - begun, time.process_time() - cpu, samples / voice.sample_rate


def timed_plain(plain: PlainPiper, text: str) -> tuple[float, float, float, float]:
    """The same of the piper-tts package, whose first chunk is all of it."""
    begun, cpu = time.perf_counter(), time.process_time()
    sound, rate = plain.speak(text)
    wall = time.perf_counter() - begun
    return wall, wall, time.process_time() - cpu, len(sound) / rate


def _load(settings: Settings, threads: int) -> Synthesizer:
    voice = build_synthesizer(replace(settings, tts=replace(settings.tts, threads=threads)))
    voice.load()
    voice.warm()
    return voice


def _ratio(theirs: float, ours: float) -> float | None:
    return round(theirs / ours, 2) if ours else None
