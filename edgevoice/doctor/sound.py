"""Sound: the devices the settings lead to, the room's level, and the way from speaker to microphone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgevoice.audio import devices, portaudio
from edgevoice.doctor.finding import Finding, fail, ok, warn
from edgevoice.errors import DeviceError
from edgevoice.settings import Settings

RATE = 48_000
RECORD_S = 2.0
TONE_S, TONE_HZ, TONE_DBFS = 0.3, 1000.0, -20.0
TONE_AT_S = 0.7
"""The tone begins this long after the recording; what comes before it measures the room."""
FADE_S, WINDOW_S = 0.01, 0.02
"""Fade of the tone, and window over which its level is measured."""
CLIPPED = 0.999
LOUD_ROOM_DBFS, DEAD_DBFS = -35.0, -90.0
ATTEMPTS = 3
"""Recordings at most: a busy machine may lose a block of one, and the tone is then early, or gone."""


@dataclass(frozen=True)
class Probe:
    """What two seconds of recording, with a tone in the middle, tell."""

    noise_dbfs: float
    """Level before the tone."""
    clipped: float
    """Share of samples at full scale."""
    round_trip_s: float | None
    """Speaker to microphone, all buffers included; None if the tone was not heard."""
    tone_dbfs: float
    """Level of the tone in the recording."""


def choices(settings: Settings) -> Iterator[Finding]:
    """The devices the settings lead to, as this user sees them."""
    seen = devices.inventory()
    yield ok(
        "sound system", f"{seen.server or 'no sound server'}; PortAudio has {', '.join(seen.host_apis) or 'nothing'}"
    )
    wanted = {"input": settings.audio.input_device, "output": settings.audio.output_device}
    for kind in devices.KINDS:
        subject = "microphone" if kind == "input" else "speaker"
        try:
            choice = devices.resolve(kind, wanted[kind], seen)
        except DeviceError as error:
            yield fail(subject, f"{error.what}: {error.why}", error.mend)
        else:
            device = choice.device
            yield ok(subject, f"{device.name} ({device.api}, {device.rate} Hz, {device.channels} ch): {choice.reason}")


def listen_and_play(settings: Settings) -> Iterator[Finding]:
    """Record two seconds and play a tone into them, again while the tone does not come back. Needs both devices."""
    source = devices.resolve("input", settings.audio.input_device)
    sink = devices.resolve("output", settings.audio.output_device)
    for _ in range(ATTEMPTS):
        probe = measure(_record_and_play(source, sink))
        if probe.round_trip_s is not None:
            break
    yield from judge(probe)


def measure(recorded: NDArray[np.float32]) -> Probe:
    """Analyse a recording at `RATE` (mono float32) in which the tone was played at `TONE_AT_S`."""
    before = recorded[int(0.2 * RATE) : int((TONE_AT_S - 0.05) * RATE)]
    envelope = tone_envelope(recorded)
    floor = float(np.median(envelope[: len(before)])) if len(before) else 0.0
    peak = float(envelope.max(initial=0.0))
    start = None
    if peak > max(6 * floor, 10 ** (-70 / 20)):
        # Half the amplitude is reached half a window and half the fade after the tone began.
        start = int(np.argmax(envelope > peak / 2)) / RATE - TONE_AT_S - (WINDOW_S + FADE_S) / 2
    return Probe(
        noise_dbfs=_dbfs(before),
        clipped=float(np.mean(np.abs(recorded) >= CLIPPED)) if len(recorded) else 0.0,
        round_trip_s=start if start is not None and start > 0 else None,
        tone_dbfs=20 * float(np.log10(max(peak, 1e-6))),
    )


def judge(probe: Probe) -> Iterator[Finding]:
    """A probe in words."""
    level = f"room at {probe.noise_dbfs:.0f} dBFS"
    if probe.noise_dbfs <= DEAD_DBFS and probe.round_trip_s is None:
        yield fail("microphone level", f"{level}: digital silence", "unmute it, or choose another (edgevoice devices)")
    elif probe.noise_dbfs > LOUD_ROOM_DBFS:
        yield warn("microphone level", f"{level}: loud", "turn its gain down, or move it away from the noise")
    else:
        yield ok("microphone level", level)
    if probe.clipped > 0.0005:
        yield warn(
            "clipping", f"{probe.clipped:.2%} of the samples are at full scale", "turn the microphone's gain down"
        )
    else:
        yield ok("clipping", "none")
    if probe.round_trip_s is None:
        yield warn(
            "round trip",
            "the tone was not heard back",
            "fine with headphones; else turn the speaker up, or check its plug",
        )
    else:
        ms = probe.round_trip_s * 1000
        yield ok("round trip", f"{ms:.0f} ms from speaker to microphone, tone back at {probe.tone_dbfs:.0f} dBFS")


def tone() -> NDArray[np.float32]:
    """The test tone, mono at `RATE`, faded at both ends so that it does not click."""
    t = np.arange(int(TONE_S * RATE)) / RATE
    fade = np.minimum(1.0, np.minimum(t, TONE_S - t) / FADE_S)
    wave = 10 ** (TONE_DBFS / 20) * np.sqrt(2) * fade * np.sin(2 * np.pi * TONE_HZ * t)
    return np.asarray(wave, np.float32)


def tone_envelope(recorded: NDArray[np.float32]) -> NDArray[np.float64]:
    """Amplitude at the tone's frequency over time: mixed to zero and averaged over `WINDOW_S`."""
    t = np.arange(len(recorded)) / RATE
    mixed = recorded * np.exp(-2j * np.pi * TONE_HZ * t)
    width = int(WINDOW_S * RATE)
    sums = np.cumsum(np.concatenate([np.zeros(width), mixed]))
    return np.asarray(np.abs(sums[width:] - sums[:-width]) / width * 2)


def _record_and_play(source: devices.Choice, sink: devices.Choice) -> NDArray[np.float32]:
    sd = portaudio.library()
    played = np.zeros((int(RECORD_S * RATE), 1), np.float32)
    begin = int(TONE_AT_S * RATE)
    played[begin : begin + int(TONE_S * RATE), 0] = tone()
    with portaudio.routed(pulse_source=source.pulse_name, pulse_sink=sink.pulse_name):
        indexes = (
            portaudio.index_of(source.portaudio_name, "input"),
            portaudio.index_of(sink.portaudio_name, "output"),
        )
        try:
            recorded = sd.playrec(played, samplerate=RATE, channels=1, device=indexes, dtype="float32", blocking=True)
        except sd.PortAudioError as error:
            raise portaudio.open_error(f"{source.device.name} and {sink.device.name}", error) from error
    return np.asarray(recorded[:, 0], np.float32)


def _dbfs(samples: NDArray[np.float32]) -> float:
    if not len(samples):
        return -120.0
    return 10 * float(np.log10(max(float(np.mean(np.square(samples, dtype=np.float64))), 1e-12)))
