"""Which microphones and speakers are there, and which one a setting means.

Settings hold names, never indexes. A name may be one of PulseAudio's or PipeWire's (they are asked directly, since
PortAudio sees both only as one device called "pulse") or one of ALSA's.
"""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from typing import Any

from edgevoice.audio import portaudio, sound_server
from edgevoice.audio.device import Device, Kind
from edgevoice.errors import DeviceError

KINDS: tuple[Kind, ...] = ("input", "output")
SERVER_DEVICES = ("pulse", "default", "pipewire")
"""ALSA's names for the way to a sound server, in the order of preference."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The device a setting leads to."""

    device: Device
    reason: str
    portaudio_name: str
    """What PortAudio opens."""
    pulse_name: str = ""
    """Source or sink of the sound server it is routed to; empty: the server's default, or no server."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything that was found."""

    devices: tuple[Device, ...]
    server: str
    """Sound server with its version, or empty."""
    host_apis: tuple[str, ...]

    def of(self, kind: Kind) -> list[Device]:
        """Devices of one kind."""
        return [device for device in self.devices if device.kind == kind]


def inventory() -> Inventory:
    """List all devices as PortAudio and the sound server see them now. Raises DeviceError without PortAudio."""
    with portaudio.asking() as sd:
        apis = tuple(api["name"] for api in sd.query_hostapis())
        listed = [dict(entry) for entry in sd.query_devices()]
        defaults = {"input": sd.default.device["input"], "output": sd.default.device["output"]}
        for api in sd.query_hostapis():
            for kind in ("input", "output"):
                if defaults[kind] < 0:
                    defaults[kind] = api[f"default_{kind}_device"]
    server, served = sound_server.devices()
    found = list(served)
    for entry in listed:
        if served and entry["name"] in SERVER_DEVICES:
            continue
        for kind in KINDS:
            if entry[f"max_{kind}_channels"] > 0:
                found.append(
                    _portaudio_device(entry, kind, apis, default=not served and entry["index"] == defaults[kind])
                )
    return Inventory(tuple(found), server, apis)


def resolve(kind: Kind, wanted: str, seen: Inventory | None = None) -> Choice:
    """The device that `wanted` (part of a name, or empty for the default) means.

    Raises DeviceError when there is none, or when the name fits several: then it lists them.
    """
    seen = seen or inventory()
    devices = seen.of(kind)
    if not any(not device.monitor for device in devices):
        raise no_device(kind)
    if not wanted:
        real = [device for device in devices if not device.monitor]
        chosen = next((device for device in real if device.default), real[0])
        reason = "the system's default" if chosen.default else "the first one; the system names no usable default"
        return _choice(chosen, reason, by_default=chosen.default)
    chosen, reason = _named(kind, wanted, devices)
    return _choice(chosen, reason, by_default=False)


def no_device(kind: Kind) -> DeviceError:
    """The error for a machine without any microphone or speaker, as this user sees it."""
    what = "microphone" if kind == "input" else "speaker"
    return DeviceError(
        f"no {what}",
        f"none is visible to {whereabouts()}",
        "start PulseAudio or PipeWire for this user, or add the user to the group `audio`; see `edgevoice devices`",
    )


def whereabouts() -> str:
    """Who looks for devices, and where: differs between a shell and a service."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    runtime = os.environ.get("XDG_RUNTIME_DIR") or "unset"
    server = f"PULSE_SERVER {os.environ['PULSE_SERVER']}, " if os.environ.get("PULSE_SERVER") else ""
    return f"user {user} (XDG_RUNTIME_DIR {runtime}, {server}default device {_default_name()})"


def _default_name() -> str:
    try:
        with portaudio.asking() as sd:
            found = [api["default_input_device"] for api in sd.query_hostapis() if api["default_input_device"] >= 0]
            return str(sd.query_devices(found[0])["name"]) if found else "none"
    except (DeviceError, OSError, ValueError):
        return "none"


def _named(kind: Kind, wanted: str, devices: list[Device]) -> tuple[Device, str]:
    key = wanted.casefold()
    exact = [d for d in devices if key in (d.name.casefold(), d.description.casefold())]
    partly = [d for d in devices if key in d.name.casefold() or key in d.description.casefold()]
    fits = exact or [d for d in partly if not d.monitor] or partly
    # A sound server holds the cards that ALSA lists, too: its view of the same card wins.
    fits = [d for d in fits if d.api in sound_server.NAMES] or fits
    setting = f"audio.{kind}_device"
    if len(fits) == 1:
        return fits[0], f"{setting} is {wanted!r}"
    if fits:
        names = ", ".join(repr(d.name) for d in fits)
        raise DeviceError(f"{setting} {wanted!r}", f"fits several devices: {names}", "name one of them in full")
    names = ", ".join(repr(d.name) for d in devices if not d.monitor)
    raise DeviceError(f"{setting} {wanted!r}", f"is not there; there is {names}", "plug it in, or name another")


def _choice(device: Device, reason: str, by_default: bool) -> Choice:
    if device.api not in sound_server.NAMES:
        return Choice(device, reason, device.name)
    with portaudio.asking() as sd:
        names = [entry["name"] for entry in sd.query_devices() if entry[f"max_{device.kind}_channels"] > 0]
    way = next((name for name in SERVER_DEVICES if name in names), None)
    if way is None:
        raise DeviceError(
            device.name,
            f"belongs to {device.api}, but ALSA has no way to it",
            "install the way: apt install libasound2-plugins (PipeWire: pipewire-alsa)",
        )
    return Choice(device, reason, way, "" if by_default else device.name)


def _portaudio_device(entry: dict[str, Any], kind: Kind, apis: tuple[str, ...], default: bool) -> Device:
    return Device(
        name=entry["name"],
        description=entry["name"],
        kind=kind,
        api=apis[entry["hostapi"]],
        rate=int(entry["default_samplerate"]),
        channels=int(entry[f"max_{kind}_channels"]),
        default=default,
    )
