"""Options that several verbs share, and types of their values: what cannot be read is a usage error (exit code 2)."""

from __future__ import annotations

import argparse
import math


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """`--config` and `--set` behind an action (`eval asr … --set …`); the verb itself takes them before it."""
    parser.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help="settings file (TOML)")
    parser.add_argument(
        "--set", metavar="SECTION.KEY=VALUE", action="append", default=argparse.SUPPRESS, help="override one setting"
    )


def positive_int(text: str) -> int:
    """A whole number of 1 or more."""
    return _whole(text, 1)


def count(text: str) -> int:
    """A whole number of 0 or more."""
    return _whole(text, 0)


def positive_number(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def number_list(text: str) -> tuple[float, ...]:
    """Numbers above 0 with commas between them."""
    values = tuple(positive_number(part) for part in text.split(",") if part.strip())
    if not values:
        raise argparse.ArgumentTypeError(f"{text!r} holds no number, e.g. 100,50")
    return values


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of {least} or more")
    return value
