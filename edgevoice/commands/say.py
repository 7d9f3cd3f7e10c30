"""`edgevoice say TEXT`: speak a text, a file or standard input, to the speaker or into a sound file."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgevoice import config
from edgevoice.errors import EXIT_OK, DeadlineError, UsageError
from edgevoice.runtime import logs
from edgevoice.settings import Settings
from edgevoice.tts.factory import build_synthesizer
from edgevoice.tts.reading import blocks_of_file, blocks_of_stream, blocks_of_text, spoken_clauses
from edgevoice.tts.synthesizer import PcmChunk, Synthesizer

log = logging.getLogger(__name__)

Write = Callable[[NDArray[np.int16], int], None]
"""Takes samples and their rate in Hz."""

PLAY_DEADLINE_S = 30.0
"""Seconds the speaker may refuse to take sound."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("text", nargs="?", metavar="TEXT", help="what to say; `-` reads standard input")
    source.add_argument("--file", type=Path, metavar="FILE", help="read the text from a file (`-`: standard input)")
    source.add_argument("--list", action="store_true", help="list voices instead of speaking")
    parser.add_argument(
        "--out", metavar="FILE", help="write a sound file instead of playing (.wav, .flac, .ogg, .mp3 …)"
    )
    parser.add_argument(
        "--voice", metavar="NAME", help="voice engine (piper, hibari, espeak), catalogue name, or .onnx file"
    )
    parser.add_argument("--tier", choices=("fine", "standard", "light"), help="how much work the voice may be")
    parser.add_argument("--speed", type=float, metavar="X", help="1 is the voice's own pace, 2 twice as fast")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Speak."""
    settings = _chosen(config.load(args.config, args.set), args)
    logs.set_up(settings.runtime)
    if args.list:
        from edgevoice.commands.voices import show_list

        return show_list(settings, args.json)
    blocks = _source(args)
    voice = build_synthesizer(settings)
    begun = time.monotonic()
    voice.load()
    loaded = time.monotonic()
    try:
        with contextlib.ExitStack() as stack:
            write = _file_writer(stack, args.out, voice) if args.out else _speaker_writer(stack, settings)
            spoken = _speak(voice, spoken_clauses(blocks, settings.asr.language), write)
    finally:
        voice.close()
    _report(spoken, args, voice, loaded - begun)
    return EXIT_OK


@dataclass
class Spoken:
    """What came of it."""

    clauses: int = 0
    samples: int = 0
    rate: int = 0
    first_pcm_ms: float | None = None
    work_s: float = 0.0

    @property
    def seconds(self) -> float:
        """Length of the sound."""
        return self.samples / self.rate if self.rate else 0.0


def _chosen(settings: Settings, args: argparse.Namespace) -> Settings:
    tts = settings.tts
    if args.voice in ("piper", "hibari", "espeak"):
        tts = replace(tts, backend=args.voice)
    elif args.voice:
        tts = replace(tts, backend="piper", voice=args.voice)
    if args.tier:
        tts = replace(tts, tier=args.tier)
    if args.speed is not None:
        if not 0.25 <= args.speed <= 4:
            raise UsageError("--speed", f"{args.speed} is out of range", "use 0.25 to 4")
        tts = replace(tts, speed=args.speed)
    return replace(settings, tts=tts)


def _source(args: argparse.Namespace) -> Iterator[str]:
    if args.text == "-" or (args.file is not None and str(args.file) == "-"):
        return blocks_of_stream(sys.stdin, "standard input")
    if args.file is not None:
        return blocks_of_file(args.file)
    if args.text is None:
        raise UsageError("say", "nothing to say", "give a TEXT, --file FILE, or - for standard input")
    return blocks_of_text(args.text)


def _speak(voice: Synthesizer, clauses: Iterator[str], write: Write) -> Spoken:
    result = Spoken()
    for clause in clauses:
        begun = time.monotonic()
        counted = False
        for chunk in voice.synthesize(clause):
            spent = time.monotonic() - begun
            result.work_s += spent
            if result.first_pcm_ms is None:
                result.first_pcm_ms = spent * 1000
            _take(result, chunk, write)
            result.clauses += not counted
            counted = True
            begun = time.monotonic()
    return result


def _take(result: Spoken, chunk: PcmChunk, write: Write) -> None:
    write(chunk.samples, chunk.rate)
    result.samples += len(chunk.samples)
    result.rate = chunk.rate


def _file_writer(stack: contextlib.ExitStack, out: str, voice: Synthesizer) -> Write:
    """Into a file that appears only when it is complete."""
    from edgevoice.audio.sink import FileSink

    sink = FileSink(out, voice.sample_rate)
    sink.open()

    def complete(kind: object, error: object, trace: object) -> None:
        if kind is None and sink.samples:
            sink.close()
        else:
            sink.abort()

    stack.push(complete)
    return lambda samples, rate: sink.write(samples)


def _speaker_writer(stack: contextlib.ExitStack, settings: Settings) -> Write:
    """To the loudspeaker; waits for the end of the sound when the stack closes."""
    from edgevoice.audio.speaker import DeviceSpeaker

    speaker = DeviceSpeaker(settings.audio)
    speaker.open()
    stack.callback(speaker.close)
    playout = speaker.playout

    def write(samples: NDArray[np.int16], rate: int) -> None:
        if not playout.wait_room(0, PLAY_DEADLINE_S):
            raise DeadlineError("the speaker", f"took no sound for {PLAY_DEADLINE_S:.0f} s", "check the sound device")
        playout.play(0, samples, rate)

    def drain() -> None:
        playout.end_clause(0)
        playout.finish(0)
        deadline = time.monotonic() + PLAY_DEADLINE_S
        while playout.sounding and time.monotonic() < deadline:
            time.sleep(0.02)

    stack.callback(drain)
    return write


def _report(spoken: Spoken, args: argparse.Namespace, voice: Synthesizer, load_s: float) -> None:
    if not spoken.samples:
        print("nothing to speak", file=sys.stderr)
    if args.json:
        print(json.dumps(as_json(spoken, voice, args.out, load_s), indent=2))
    elif args.out and spoken.samples:
        print(f"{args.out}: {spoken.seconds:.1f} s of speech in {spoken.work_s:.1f} s")


def as_json(spoken: Spoken, voice: Synthesizer, out: str | None, load_s: float) -> dict[str, Any]:
    """The object that `--json` prints."""
    return {
        "engine": voice.name,
        "tier": getattr(voice, "tier", None),
        "out": out if spoken.samples else None,
        "clauses": spoken.clauses,
        "seconds": round(spoken.seconds, 3),
        "rate": spoken.rate,
        "ttfb_ms": None if spoken.first_pcm_ms is None else round(spoken.first_pcm_ms, 1),
        "rtf": round(spoken.work_s / spoken.seconds, 4) if spoken.seconds else None,
        "load_s": round(load_s, 2),
    }
