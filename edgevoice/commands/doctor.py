"""`edgevoice doctor`: one page about this machine; exit code 1 if anything on it fails."""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
from collections.abc import Iterator

from rich.console import Console

from edgevoice import config
from edgevoice.doctor import machine, service, sound, stored
from edgevoice.doctor.finding import Check, Finding, State, examine
from edgevoice.errors import EXIT_FAILURE, EXIT_OK
from edgevoice.settings import Settings

COLOURS = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--no-sound", action="store_true", help="do not record and do not play the test tone")
    parser.add_argument("--no-speed", action="store_true", help="do not load the models to measure their speed")


def run(args: argparse.Namespace) -> int:
    """Examine everything, print each line as soon as it is known."""
    findings: list[Finding] = []
    console = Console(highlight=False, soft_wrap=True)
    for finding in examine_all(args):
        findings.append(finding)
        if not args.json:
            colour = COLOURS[finding.state]
            console.print(f"[{colour}]{finding.state:<4}[/]  {finding.subject:<20} ", end="")
            console.print(finding.text + (f"\n      {'':<20} -> {finding.mend}" if finding.mend else ""), markup=False)
    bad = any(finding.state is State.FAIL for finding in findings)
    if args.json:
        print(json.dumps({"ok": not bad, "findings": [dataclasses.asdict(f) for f in findings]}, ensure_ascii=False))
    return EXIT_FAILURE if bad else EXIT_OK


def examine_all(args: argparse.Namespace) -> Iterator[Finding]:
    """All findings, in the order of the page."""
    settings = config.load(args.config, args.set)
    logging.getLogger("edgevoice").setLevel("ERROR")  # warnings of the parts are lines of the page already
    checks: list[tuple[str, Check]] = [
        ("python", machine.python),
        ("processor", lambda: machine.processor(settings)),
        ("memory", lambda: machine.memory_fit(settings)),
        ("disk", machine.disk),
        ("heat", machine.heat),
        ("user", lambda: service.view(args.config)),
        ("service", service.unit),
        ("port", lambda: service.port(settings)),
        ("sound system", lambda: sound.choices(settings)),
        ("models", lambda: stored.models(settings)),
    ]
    if not args.no_sound:
        checks.append(("recording", lambda: sound.listen_and_play(settings)))
    if not args.no_speed:
        checks.append(("speed", lambda: _speed(settings)))
    for subject, check in checks:
        yield from examine(subject, check)


def _speed(settings: Settings) -> Iterator[Finding]:
    # Imports every back end: where one of them is broken, the rest of the page is still wanted.
    from edgevoice.doctor import speed

    yield from speed.measure(settings)
