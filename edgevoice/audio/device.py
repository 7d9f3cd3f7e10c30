"""What is known of a microphone or speaker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["input", "output"]


@dataclass(frozen=True, slots=True)
class Device:
    """A microphone or speaker."""

    name: str
    """What the settings call it."""
    description: str
    kind: Kind
    api: str
    """`PulseAudio`, `PipeWire`, or PortAudio's host API (`ALSA` …)."""
    rate: int
    """Its own rate in Hz."""
    channels: int
    default: bool
    """The system's default of its kind."""
    monitor: bool = False
    """Not a microphone but what a speaker plays."""
