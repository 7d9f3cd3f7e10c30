"""Measure the core plan on this machine and write the table into docs/cores.md: `python -m scripts.measure_cores`.

All variants are loaded at once and measured in turns, so that a busy moment hits every one of them.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgevoice import config
from edgevoice.assembly import Models
from edgevoice.doctor import speed
from edgevoice.doctor.speed import Speeds
from edgevoice.llm.stage import Threaded
from edgevoice.runtime.cores import plan, usable_cores
from edgevoice.settings import Settings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cores.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
COLUMNS: dict[str, Callable[[Speeds], str]] = {
    "recogniser, RTF": lambda s: f"{s.recognise_rtf:.4f}",
    "finish, ms": lambda s: f"{s.finish_s * 1000:.0f}",
    "second pass, ms": lambda s: f"{s.second_pass_s * 1000:.0f}",
    "LLM first token, ms": lambda s: f"{s.first_token_s * 1000:.0f}",
    "LLM tokens/s": lambda s: f"{1 / s.token_s:.0f}" if s.token_s else "–",
    "voice first sound, ms": lambda s: f"{s.first_pcm_s * 1000:.0f}",
    "voice, RTF": lambda s: f"{s.voice_rtf:.3f}",
}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    cores = usable_cores()
    settings = {threads: with_threads(threads) for threads in range(1, min(4, cores) + 1)}
    variants = {threads: Models.build(wanted) for threads, wanted in settings.items()}
    for models in variants.values():
        models.load()
    measured: dict[int, list[Speeds]] = {threads: [] for threads in variants}
    for _ in range(args.rounds):
        for threads, models in variants.items():
            measured[threads].append(speed.speeds(settings[threads], models))
    most = max(variants)
    shared = plan(Settings(), cores).llm_shared
    alone, crowded = first_sounds(variants[most], shared, args.rounds * 4)
    lines = [
        f"{platform.machine()}, {cores} cores usable; median of {args.rounds} alternating rounds.",
        "",
        "| threads | " + " | ".join(COLUMNS) + " |",
        "|---" * (len(COLUMNS) + 1) + "|",
    ]
    for threads, rounds in measured.items():
        lines.append(f"| {threads} | " + " | ".join(column(median(rounds)) for column in COLUMNS.values()) + " |")
    lines += [
        "",
        f"First sound of a clause with {most} voice threads: {alone * 1000:.0f} ms while the language model rests, "
        f"{crowded * 1000:.0f} ms while it writes on with {shared} thread{'s' if shared > 1 else ''}.",
    ]
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{tail}", encoding="utf-8")
    print("\n".join(lines))
    for models in variants.values():
        models.close()


def with_threads(threads: int) -> Settings:
    """The default settings with this many threads for every model."""
    each = {"threads": threads}
    return config.replace(Settings(), asr={**each, "second_pass_threads": threads}, llm=each, tts=each)


def median(rounds: list[Speeds]) -> Speeds:
    """Field by field."""
    return Speeds(*(float(np.median([getattr(r, name) for r in rounds])) for name in Speeds.__dataclass_fields__))


def first_sounds(models: Models, threads: int, rounds: int) -> tuple[float, float]:
    """Seconds to the first sound: language model at rest, and writing with so many threads."""
    if isinstance(models.generator, Threaded):
        models.generator.set_threads(threads)
    found: dict[str, list[float]] = {"rest": [], "write": []}
    for _ in range(rounds):
        for mode, results in found.items():
            stop = threading.Event()
            writer = threading.Thread(target=write, args=(models, stop), name="writer")
            if mode != "rest":
                writer.start()
                time.sleep(0.2)
            began = time.monotonic()
            for _chunk in models.synthesizer.synthesize("Tomorrow will be sunny and warm,", lambda: False):
                results.append(time.monotonic() - began)
                break
            stop.set()
            if mode != "rest":
                writer.join(30)
    return statistics.median(found["rest"]), statistics.median(found["write"])


def write(models: Models, stop: threading.Event) -> None:
    """Let the language model write until told to stop."""
    while not stop.is_set():
        for _ in models.generator.generate((), "tell me a long story about the sea", stop.is_set, 100):
            pass


if __name__ == "__main__":
    main()
