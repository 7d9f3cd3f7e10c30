"""`edgevoice devices`: microphones and speakers, which ones would be used, and why."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from edgevoice import config
from edgevoice.audio.device import Device, Kind
from edgevoice.audio.devices import KINDS, Choice, Inventory, inventory, resolve, whereabouts
from edgevoice.errors import EXIT_OK, DeviceError
from edgevoice.settings import AudioSettings

TITLES: dict[Kind, str] = {"input": "microphones", "output": "speakers"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """List everything. Raises DeviceError (exit 69) when a microphone or a speaker cannot be chosen."""
    settings = config.load(args.config, args.set).audio
    seen = inventory()
    choices: dict[Kind, Choice] = {}
    errors: dict[Kind, DeviceError] = {}
    for kind in KINDS:
        try:
            choices[kind] = resolve(kind, _wanted(settings, kind), seen)
        except DeviceError as error:
            errors[kind] = error
    if args.json:
        print(json.dumps(_as_json(seen, choices, errors), indent=2, ensure_ascii=False))
    else:
        _show(seen, choices)
    if errors:
        raise next(iter(errors.values()))
    return EXIT_OK


def _wanted(settings: AudioSettings, kind: Kind) -> str:
    return settings.input_device if kind == "input" else settings.output_device


def _as_json(seen: Inventory, choices: dict[Kind, Choice], errors: dict[Kind, DeviceError]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "sound_server": seen.server,
        "host_apis": list(seen.host_apis),
        "seen_by": whereabouts(),
        "devices": [asdict(device) for device in seen.devices],
    }
    for kind in KINDS:
        choice, error = choices.get(kind), errors.get(kind)
        result[kind] = {
            "device": choice.device.name if choice else None,
            "reason": choice.reason if choice else None,
            "opened_as": choice.portaudio_name if choice else None,
            "error": str(error) if error else None,
        }
    return result


def _show(seen: Inventory, choices: dict[Kind, Choice]) -> None:
    print(f"sound server  {seen.server or 'none is running'}")
    print(f"PortAudio     {', '.join(seen.host_apis)}")
    print(f"seen by       {whereabouts()}")
    width = max((len(device.name) for device in seen.devices), default=0)
    for kind in KINDS:
        print(f"\n{TITLES[kind]}")
        chosen = choices.get(kind)
        devices = seen.of(kind)
        if not devices:
            print("    none")
        for device in devices:
            mark = "→" if chosen and chosen.device == device else " "
            print(f"  {mark} {_line(device, width)}".rstrip())
        if chosen:
            print(f"    used: {chosen.device.name}, because {_because(chosen)}")


def _line(device: Device, width: int) -> str:
    notes = [device.description if device.description != device.name else "", "default" if device.default else ""]
    notes.append("what a speaker plays" if device.monitor else "")
    text = ", ".join(note for note in notes if note)
    return f"{device.name:{width}}  {device.api:10}  {device.rate:6d} Hz  {device.channels:2d} ch  {text}"


def _because(choice: Choice) -> str:
    reason = f"it is {choice.reason}" if choice.device.default and not choice.pulse_name else choice.reason
    way = f" (through ALSA's device {choice.portaudio_name!r})" if choice.portaudio_name != choice.device.name else ""
    return reason + way
