"""PulseAudio and PipeWire, asked directly by `pulsectl`: PortAudio sees both only as one device, "pulse"."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from edgevoice.audio.device import Device, Kind

T = TypeVar("T")

NAMES = ("PulseAudio", "PipeWire")


def devices() -> tuple[str, list[Device]]:
    """Name and version of the running sound server, and its devices; empty without one."""
    return _asked(_devices) or ("", [])


def moved_away(kind: Kind, wanted: str) -> bool:
    """True if the server has moved our stream away from the source or sink `wanted`, as it does when that is unplugged.

    False when it cannot be told: no server, or no stream of this process.
    """

    def ask(pulse: Any) -> bool:
        streams = pulse.source_output_list() if kind == "input" else pulse.sink_input_list()
        places = pulse.source_list() if kind == "input" else pulse.sink_list()
        names = {place.index: place.name for place in places}
        ours = [stream for stream in streams if stream.proplist.get("application.process.id") == str(os.getpid())]
        places_of_ours = [names.get(stream.source if kind == "input" else stream.sink) for stream in ours]
        return bool(ours) and wanted not in places_of_ours

    return bool(_asked(ask))


def _asked(question: Callable[[Any], T]) -> T | None:
    """The server's answer; None without a server, or when it goes away meanwhile."""
    try:
        import pulsectl
    except (ImportError, OSError):
        return None
    try:
        with pulsectl.Pulse("edgevoice-devices", connect=False) as pulse:
            pulse.connect(autospawn=False, wait=False)
            return question(pulse)
    except pulsectl.PulseError:
        return None


def _devices(pulse: Any) -> tuple[str, list[Device]]:
    info = pulse.server_info()
    api = NAMES["pipewire" in info.server_name.casefold()]
    inputs = [_device(entry, "input", api, info.default_source_name) for entry in pulse.source_list()]
    outputs = [_device(entry, "output", api, info.default_sink_name) for entry in pulse.sink_list()]
    version = info.server_version if api == "PulseAudio" else info.server_name.split("PipeWire")[-1].strip(" )")
    return f"{api} {version}".strip(), inputs + outputs


def _device(entry: Any, kind: Kind, api: str, default: str) -> Device:
    return Device(
        name=entry.name,
        description=entry.description,
        kind=kind,
        api=api,
        rate=entry.sample_spec.rate,
        channels=entry.channel_count,
        default=entry.name == default,
        monitor=kind == "input" and entry.proplist.get("device.class") == "monitor",
    )
