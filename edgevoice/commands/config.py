"""`edgevoice config show|check`: the settings in force, or whether a file of settings is right."""

from __future__ import annotations

import argparse
import dataclasses
import json

from edgevoice import config
from edgevoice.errors import EXIT_OK


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("action", choices=("show", "check"), nargs="?", default="show")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Print the settings as TOML (or JSON), or say that they are right."""
    settings = config.load(args.config, args.set)
    if args.action == "check":
        print(json.dumps({"ok": True}) if args.json else "settings are right")
    elif args.json:
        print(json.dumps(dataclasses.asdict(settings), indent=2))
    else:
        section = None
        for name, key, _, default in config.fields():
            if name != section:
                print(f"{'' if section is None else chr(10)}[{name}]")
                section = name
            value = getattr(getattr(settings, name), key)
            line = f"{key} = {toml_value(value)}"
            print(line if value == default else f"{line:<40}# default: {toml_value(default)}")
    return EXIT_OK


def toml_value(value: object) -> str:
    """One setting's value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_value(v) for v in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
