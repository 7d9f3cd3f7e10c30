"""`edgevoice bench SUBJECT`: measure this machine."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from edgevoice import config
from edgevoice.bench import picture
from edgevoice.errors import EXIT_OK

SUBJECTS = {
    "latency": "end of speech to first audible sample, with every interval between",
    "endpoint": "how many utterances with inner pauses are cut, against fixed silences",
    "asr": "speech recognition: real-time factor, memory, by threads",
    "llm": "language model: first token, tokens per second, memory, by threads",
    "tts": "voice: first sound, real-time factor, memory, by threads",
    "wake": "wake word: detections and false accepts per hour",
    "room": "in a simulated room: its own voice, interruptions, coughs",
    "governor": "the daemon under a processor cap",
    "soak": "a thousand turns at full speed: does anything grow or get slower?",
    "idle": "processor time and memory while listening to silence",
}
"""Subject -> help; the module is `edgevoice.bench.<subject>` with `run(settings, args)` and perhaps `configure(parser)`.

A subject that takes `--png` leaves in `args.draw` what draws it: the figures are printed first.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    subjects = parser.add_subparsers(dest="subject", metavar="SUBJECT", required=True)
    for name, text in SUBJECTS.items():
        sub = subjects.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.add_argument("--json", action="store_true", help="machine-readable output")
        if configure_subject := getattr(_module(name), "configure", None):
            configure_subject(sub)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    module = _module(args.subject)
    picture.check(getattr(args, "png", None))
    result = module.run(config.load(args.config, args.set), args)
    if args.json:
        print(json.dumps(result, indent=2))
    elif show := getattr(module, "show", None):
        show(result)
    else:
        _show(args.subject, result)
    if draw := getattr(args, "draw", None):
        sys.stdout.flush()
        draw()
    return EXIT_OK


def _module(name: str) -> Any:
    return importlib.import_module(f"edgevoice.bench.{name}")


def _show(title: str, result: dict[str, Any]) -> None:
    """Any result as plain tables: one for the single figures, one for each list or group of rows."""
    console = Console()
    single = Table(title=title, title_justify="left", show_header=False)
    for key, value in result.items():
        rows = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        if rows and all(isinstance(row, dict) for row in rows):
            names = [str(i) for i in range(len(rows))] if isinstance(value, list) else list(value)
            console.print(_rows(key, names if isinstance(value, dict) else None, rows))
        else:
            single.add_row(key, _cell(value))
    if single.row_count:
        console.print(single)


def _rows(title: str, names: list[str] | None, rows: list[dict[str, Any]]) -> Table:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(title=title, title_justify="left")
    for column in ([""] if names else []) + columns:
        table.add_column(column, justify="left" if column == "" else "right")
    for i, row in enumerate(rows):
        cells = [_cell(row.get(column)) for column in columns]
        table.add_row(*([names[i]] if names else []), *cells)
    return table


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 100 else str(value)
