"""Transcribe whole recordings of any length: cut by the voice activity detector, both passes over every segment."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from edgevoice.asr.factory import build_recognizer, build_second_pass
from edgevoice.asr.recognizer import SAMPLE_RATE, Samples, Transcript
from edgevoice.asr.segments import speech_segments
from edgevoice.settings import Settings


@dataclass(frozen=True, slots=True)
class Recording:
    """What was said in a recording."""

    first_pass: str
    transcript: str
    seconds: float
    """Length of the recording."""
    compute_s: float
    """Time the recognisers took (reading the file not included)."""

    @property
    def rtf(self) -> float:
        """Real-time factor of both passes together."""
        return self.compute_s / self.seconds if self.seconds else 0.0


class Transcriber:
    """Both passes of the settings, without a time budget: a file can wait."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.first = build_recognizer(settings)
        self.second = build_second_pass(settings)

    def load(self) -> None:
        """Load and warm the models. Raises ModelMissingError or ModelDataError."""
        self.first.load()
        if self.second is not None:
            self.second.load()
            self.second.budget_s = float("inf")

    def close(self) -> None:
        """Release the models."""
        self.first.close()
        if self.second is not None:
            self.second.close()

    def segment(self, samples: Samples) -> tuple[Transcript, Transcript]:
        """First and best transcript of one stretch of speech (at most 30 s)."""
        self.first.reset()
        step = SAMPLE_RATE // 2
        for start in range(0, len(samples), step):
            self.first.accept(samples[start : start + step])
        heard = self.first.finish()
        return heard, self.second.refine(samples, heard) if self.second is not None else heard

    def recording(self, blocks: Iterable[Samples]) -> Recording:
        """Transcribe a recording that streams in (16 kHz mono blocks); memory does not grow with its length."""
        counted = _Counted(blocks)
        first: list[str] = []
        best: list[str] = []
        compute = 0.0
        for segment in speech_segments(counted, self._settings.vad):
            began = time.monotonic()
            heard, refined = self.segment(segment.samples)
            compute += time.monotonic() - began
            first.append(heard.text)
            best.append(refined.text)
        return Recording(_join(first), _join(best), counted.samples / SAMPLE_RATE, compute)


class _Counted:
    """Counts the samples that pass."""

    def __init__(self, blocks: Iterable[Samples]) -> None:
        self._blocks = iter(blocks)
        self.samples = 0

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> Samples:
        block = np.asarray(next(self._blocks), np.float32)
        self.samples += len(block)
        return block


def _join(texts: list[str]) -> str:
    return " ".join(text for text in texts if text)
