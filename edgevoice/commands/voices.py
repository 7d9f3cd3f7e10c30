"""`edgevoice voices list|compare|optimize`: what can speak, how well and how fast, and faster forms of a voice."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from edgevoice import config
from edgevoice.commands.options import positive_int
from edgevoice.errors import EXIT_OK, EdgeVoiceError, UsageError
from edgevoice.models import store
from edgevoice.models.catalogue import catalogue
from edgevoice.runtime import logs
from edgevoice.settings import Settings
from edgevoice.tts.vits.tiers import TIERS


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="voices and engines, and whether they are installed")
    comparing = actions.add_parser("compare", help="measure engines and tiers: first sound, speed, memory, errors")
    comparing.add_argument(
        "--sentences", type=positive_int, default=30, help="how many of the hundred test sentences (default 30)"
    )
    comparing.add_argument("--markdown", type=Path, metavar="FILE", help="also write the table as Markdown")
    optimizing = actions.add_parser("optimize", help="make faster forms of the voice and report what they cost")
    optimizing.add_argument(
        "--prune", type=int, nargs="*", default=[20, 35, 50], metavar="PERCENT", help="channels to remove"
    )
    optimizing.add_argument("--keep", type=_kept, metavar="PERCENT=TIER", help="install one of them, e.g. 20=standard")
    optimizing.add_argument("--sentences", type=positive_int, default=12, help="sentences to measure with (default 12)")
    optimizing.add_argument(
        "--distill",
        type=positive_int,
        metavar="MINUTES",
        help="teach the voice a last stage half as wide, and use it from then on (needs PyTorch and --text)",
    )
    optimizing.add_argument("--text", type=Path, metavar="FILE", help="sentences in the voice's language, one a line")
    for sub in (listing, comparing, optimizing):
        sub.add_argument("--json", action="store_true", help="machine-readable output")


def _kept(text: str) -> tuple[int, str]:
    """`20=standard` as a pair; argparse makes a usage error of what cannot be read."""
    percent, _, tier = text.partition("=")
    if not percent.isdecimal() or not tier:
        raise argparse.ArgumentTypeError(f"{text!r} is not PERCENT=TIER, e.g. 20=standard")
    return int(percent), tier


def run(args: argparse.Namespace) -> int:
    """Do what was asked."""
    settings = config.load(args.config, args.set)
    logs.set_up(settings.runtime)
    if args.action == "list":
        return show_list(settings, args.json)
    if args.action == "compare":
        return _compare(settings, args)
    return _optimize(settings, args)


def show_list(settings: Settings, as_json: bool) -> int:
    """Print the voices."""
    rows = voices(settings)
    if as_json:
        print(json.dumps({"voices": rows}, indent=2))
        return EXIT_OK
    table = Table(title="voices", title_justify="left")
    for column in ("engine", "voice", "tiers", "licence", "installed", "in use"):
        table.add_column(column)
    for row in rows:
        table.add_row(
            row["engine"],
            row["voice"],
            " ".join(row["tiers"]) or "–",
            row["licence"],
            "yes" if row["installed"] else "no",
            "yes" if row["in_use"] else "",
        )
    Console().print(table)
    return EXIT_OK


def voices(settings: Settings) -> list[dict[str, Any]]:
    """Every voice edgevoice knows of."""
    tts = settings.tts
    rows: list[dict[str, Any]] = []
    names = [entry.name for entry in catalogue().values() if entry.kind == "tts"]
    if tts.backend == "piper" and tts.voice not in names:
        names.append(tts.voice)
    for name in names:
        entry = catalogue().get(name)
        if name.startswith("hibari"):
            continue
        rows.append(
            {
                "engine": "piper",
                "voice": name,
                "tiers": list(TIERS),
                "licence": f"voice {entry.licence if entry else 'unknown'}, engine GPL-3.0",
                "installed": _installed(name),
                "in_use": tts.backend == "piper" and tts.voice == name,
            }
        )
    rows.append(_engine("hibari", "heart", "Apache-2.0", importlib.util.find_spec("hibari") is not None, settings))
    rows.append(_engine("espeak", settings.asr.language, "GPL-3.0", shutil.which("espeak-ng") is not None, settings))
    return rows


def _engine(name: str, voice: str, licence: str, installed: bool, settings: Settings) -> dict[str, Any]:
    return {
        "engine": name,
        "voice": voice,
        "tiers": [],
        "licence": licence,
        "installed": installed,
        "in_use": settings.tts.backend == name,
    }


def _installed(name: str) -> bool:
    return _file(name) is not None


def _file(name: str) -> Path | None:
    try:
        return store.find(name, "tts")
    except EdgeVoiceError:
        return None


def _compare(settings: Settings, args: argparse.Namespace) -> int:
    from edgevoice.tts.optimize.comparison import compare, markdown

    candidates = []
    for row in voices(settings):
        if not row["installed"]:
            continue
        for tier in row["tiers"] or [settings.tts.tier]:
            voice = row["voice"] if row["engine"] == "piper" else settings.tts.voice
            tts = replace(settings.tts, backend=row["engine"], voice=voice, tier=tier)
            candidates.append((row, replace(settings, tts=tts)))
    if settings.tts.backend == "piper" and _installed(settings.tts.voice):
        plain = next(row for row in voices(settings) if row["voice"] == settings.tts.voice)
        candidates.append(({**plain, "engine": "piper-tts", "tiers": []}, settings))
    rows = compare(candidates, args.sentences)
    if args.markdown:
        args.markdown.write_text(markdown(rows), encoding="utf-8")
    _show(rows, "voices compared", args.json)
    return EXIT_OK


def _optimize(settings: Settings, args: argparse.Namespace) -> int:
    from edgevoice.tts.optimize.pruning_report import Distillation, optimize

    keep = dict([args.keep] if args.keep else [])
    distillation = Distillation(args.distill, _texts(args.text)) if args.distill else None
    model = store.find(settings.tts.voice, "tts")
    rows = optimize(model, args.prune, args.sentences, keep, distillation, Console(stderr=True).print)
    _show(rows, f"faster forms of {settings.tts.voice}", args.json)
    return EXIT_OK


def _texts(path: Path | None) -> list[str]:
    """The lines of the file that hold something. Raises UsageError."""
    if path is None:
        raise UsageError("--distill", "needs sentences to learn from", "give --text FILE, one sentence a line")
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(str(path), f"cannot be read ({error})", "give a text file, one sentence a line") from error


def _show(rows: list[dict[str, Any]], title: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"rows": rows}, indent=2))
        return
    table = Table(title=title, title_justify="left")
    for column in rows[0]:
        table.add_column(column)
    for row in rows:
        table.add_row(*("–" if value is None else str(value) for value in row.values()))
    Console().print(table)
