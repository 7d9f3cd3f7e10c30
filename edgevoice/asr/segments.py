"""Cut a long recording into stretches of speech, as it streams: memory stays flat however long it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.audio.vad import WINDOW, Vad
from edgevoice.settings import VadSettings

PAUSE_SECONDS = 0.6
"""Silence that ends a segment."""
EARLY_PAUSE_SECONDS = 0.25
"""Silence that ends a segment which has become long."""
LONG_SECONDS = 15.0
LONGEST_SECONDS = 25.0
"""A segment is cut here even inside speech: the model hears at most 30 s."""
TAIL_SECONDS = 0.3
"""Silence kept after speech."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of speech with a little silence around it."""

    start: float
    """Seconds from the start of the recording."""
    samples: Samples


def speech_segments(blocks: Iterable[Samples], vad: VadSettings) -> Iterator[Segment]:
    """Stretches of speech in `blocks` (16 kHz mono, any block length)."""
    detector = Vad()
    detector.load()
    step = WINDOW / SAMPLE_RATE
    before: deque[Samples] = deque(maxlen=max(1, round(vad.preroll_ms / 1000 / step)))
    inside: list[Samples] = []
    silence, position = 0.0, 0
    for chunk in _chunks(blocks, WINDOW):
        position += 1
        probability = detector.probability(chunk)
        if not inside:
            before.append(chunk)
            if probability >= vad.threshold:
                inside, silence = list(before), 0.0
                before.clear()
            continue
        inside.append(chunk)
        silence = 0.0 if probability >= vad.release else silence + step
        length = len(inside) * step
        pause = EARLY_PAUSE_SECONDS if length > LONG_SECONDS else PAUSE_SECONDS
        if silence >= pause or length >= LONGEST_SECONDS:
            yield _segment(inside, position, silence, step)
            before.extend(inside[-round(silence / step) :] if silence else [])
            inside = []
    if inside:
        yield _segment(inside, position, silence, step)


def _segment(inside: list[Samples], position: int, silence: float, step: float) -> Segment:
    surplus = int(max(0.0, silence - TAIL_SECONDS) / step)
    kept = inside[: len(inside) - surplus]
    return Segment((position - len(inside)) * step, np.concatenate(kept))


def _chunks(blocks: Iterable[Samples], size: int) -> Iterator[Samples]:
    """The same sound in chunks of exactly `size`; the last is filled up with silence."""
    rest: Samples = np.zeros(0, np.float32)
    for block in blocks:
        rest = np.concatenate([rest, block])
        whole = len(rest) // size * size
        for start in range(0, whole, size):
            yield rest[start : start + size]
        rest = rest[whole:]
    if len(rest):
        yield np.concatenate([rest, np.zeros(size - len(rest), np.float32)])
