"""`edgevoice replay FILE…`: the daemon itself, with sound files as the microphone and a file as the speaker."""

from __future__ import annotations

import argparse
import contextlib
import json
from typing import Any

from rich.console import Console

from edgevoice import config
from edgevoice.audio.room_loop import RoomSpec
from edgevoice.errors import EXIT_OK, UsageError
from edgevoice.replayer import Replayed, replay
from edgevoice.report import turn_json, waterfall
from edgevoice.runtime import logs


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings, in any format libsndfile reads")
    parser.add_argument("--pace", choices=("real", "fast"), default="real", help="real time, or as fast as it goes")
    parser.add_argument("--out", metavar="FILE", help="write what the speaker played")
    parser.add_argument(
        "--room",
        metavar="DELAY_MS,GAIN_DB,RT60_S,NOISE_DBFS",
        nargs="?",
        const="",
        help="let the answers come back into the microphone, as in a room (default 80,-12,0.3,-60)",
    )
    parser.add_argument("--interrupt", metavar="FILE", action="append", default=[], help="say FILE over an answer")
    parser.add_argument("--after", metavar="SECONDS", type=float, default=1.0, help="… so long after it began")
    parser.add_argument("--json", action="store_true", help="machine-readable output (keys: docs/json.md)")


def run(args: argparse.Namespace) -> int:
    """Replay and report every turn."""
    settings = config.load(args.config, args.set)
    logs.set_up(settings.runtime)
    room = RoomSpec.parse(args.room) if args.room is not None else None
    if args.interrupt and room is None:
        raise UsageError("--interrupt", "needs a room to be heard in", "add --room")
    console = Console(stderr=True)
    shown = console.is_terminal and not args.json
    with console.status("loading models …") if shown else contextlib.nullcontext() as status:
        result = replay(
            settings,
            args.files,
            args.pace,
            args.out,
            on_loaded=lambda _: status.update("listening and answering …") if status else None,
            room=room,
            interruptions=args.interrupt,
            after_s=args.after,
        )
    if args.json:
        print(json.dumps(as_json(result, args.pace), indent=2, ensure_ascii=False))
    else:
        _show(result, args.out)
    return EXIT_OK


def as_json(result: Replayed, pace: str) -> dict[str, Any]:
    """The object that `--json` prints."""
    return {
        "turns": [turn_json(record) for record in result.turns],
        "rss_mb": round(result.rss_mb, 1),
        "cpu_s": round(result.cpu_s, 2),
        "wall_s": round(result.wall_s, 2),
        "load_s": round(result.load_s, 2),
        "pace": pace,
        "stopped_cleanly": result.stopped_cleanly,
    }


def _show(result: Replayed, out: str | None) -> None:
    if not result.turns:
        print("nothing was said: no words were recognised")
    for number, record in enumerate(result.turns, 1):
        print(f"turn {number}\n  you said    {record.transcript}\n  first pass  {record.first_pass}")
        print(f"  answer      {record.reply}\n{waterfall(record)}\n")
    print(f"memory {result.rss_mb:.0f} MB, processor {result.cpu_s:.1f} s in {result.wall_s:.1f} s")
    if out:
        print(f"what the speaker played is in {out}")
