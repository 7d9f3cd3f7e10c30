"""Runs the daemon with sound files as the microphone: what `replay`, `bench latency` and the tests share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgevoice.assistant import Assistant
from edgevoice.audio.files import FileSource
from edgevoice.audio.room_loop import RoomLoop, RoomSpec
from edgevoice.audio.speaker import FileSpeaker
from edgevoice.config import replace
from edgevoice.dialog.ledger import TurnRecord
from edgevoice.report import cpu_seconds, peak_rss_mb
from edgevoice.settings import Settings

TURN_DEADLINE_S = 60.0
"""Seconds an answer may go on after its recording before the replay moves on."""


@dataclass(frozen=True)
class Replayed:
    """What came of a replay."""

    turns: list[TurnRecord]
    """Turns that held words, in order."""
    rss_mb: float
    """Peak resident memory of the process."""
    cpu_s: float
    """Processor seconds, loading excluded."""
    wall_s: float
    load_s: float
    stopped_cleanly: bool


def replay(
    settings: Settings,
    files: Sequence[str | Path],
    pace: str = "real",
    out: str | Path | None = None,
    on_turn: Callable[[TurnRecord], None] = lambda record: None,
    on_event: Callable[[str, dict[str, object]], None] = lambda name, facts: None,
    on_loaded: Callable[[Assistant], None] = lambda assistant: None,
    room: RoomSpec | None = None,
    interruptions: Sequence[str | Path] = (),
    after_s: float = 1.0,
) -> Replayed:
    """Say each file to a fresh assistant, waiting for each answer before the next.

    Each record's fact `recording` is the index of the file it answers.

    Without a `room` no sound gets from the file speaker into the file microphone, so echo control is off. With one,
    `interruptions` are said over the answers, `after_s` seconds after their first audible sample.
    Raises InputMissingError, AudioDataError, ModelMissingError, ModelDataError, OutputError, StorageError.
    """
    turns: list[TurnRecord] = []

    def keep(record: TurnRecord) -> None:
        if record.transcript:
            record.facts["recording"] = max(0, said.current)
            turns.append(record)
            on_turn(record)

    said = FileSource(files, pace=pace, block_ms=settings.audio.block_ms)
    said.open()  # a file that cannot be read is reported before the models are loaded
    loop = RoomLoop(said, room, interruptions, after_s) if room else None
    if loop is None:
        settings = replace(settings, echo={"mode": "off"})
    speaker = FileSpeaker(settings.audio, out, pace=pace)
    assistant = Assistant(settings, loop or said, speaker, on_turn=keep, on_event=on_event)
    if loop is not None:
        assistant.taps.append(loop.played)
        assistant.on_audible = loop.answer_audible
    said.busy = _Busy(assistant)
    loading = time.monotonic()
    assistant.load()
    # Known before the first sound: an answer without any (no voice, nothing that can be said) ends like the others.
    speaker.playout.use_rate(assistant.models.synthesizer.sample_rate)
    on_loaded(assistant)
    began, cpu = time.monotonic(), cpu_seconds()
    assistant.open_devices()
    assistant.start()
    try:
        while not assistant.ended.wait(0.2):
            assistant.check()
    finally:
        stopped = assistant.stop()
    if assistant.source_error:
        raise assistant.source_error
    wall = time.monotonic() - began
    return Replayed(turns, peak_rss_mb(), cpu_seconds() - cpu, wall, began - loading, stopped)


class _Busy:
    """Whether the answer to the recording is still being made or spoken; no longer than the deadline."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant, self._since = assistant, 0.0

    def __call__(self) -> bool:
        if not self._assistant.busy:
            self._since = 0.0
            return False
        self._since = self._since or time.monotonic()
        return time.monotonic() - self._since < TURN_DEADLINE_S
