"""The plain piper-tts package, as anyone would use it: the yardstick for speed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgevoice.errors import UnavailableError
from edgevoice.tts.synthesizer import Cancelled, PcmChunk


class PlainPiper:
    """piper-tts with its own default session (all cores, spinning) and its own settings."""

    def __init__(self, model: Path) -> None:
        try:
            from piper import PiperVoice
        except ImportError as error:
            raise UnavailableError(
                "package piper-tts", f"cannot be loaded ({error})", "pip install piper-tts"
            ) from error
        self._voice: Any = PiperVoice.load(model)

    def speak(self, text: str) -> tuple[NDArray[np.int16], int]:
        """The whole sound of `text` and its rate in Hz."""
        chunks = list(self._voice.synthesize(text))
        if not chunks:
            return np.zeros(0, np.int16), 22050
        return np.concatenate([chunk.audio_int16_array for chunk in chunks]), int(chunks[0].sample_rate)


class PlainSynthesizer:
    """The package behind the synthesiser contract: one chunk, when all is done."""

    name = "piper-tts"
    sample_rate = 0

    def __init__(self, model: Path) -> None:
        self._model = model
        self._plain: PlainPiper | None = None

    def load(self) -> None:
        """Read the voice. Raises UnavailableError without the package."""
        self._plain = PlainPiper(self._model)
        _, self.sample_rate = self._plain.speak("Yes.")

    def warm(self) -> None:
        """Speak a longer sentence unheard."""
        for _ in self.synthesize("The quick brown fox jumps over the lazy dog."):
            pass

    def synthesize(self, clause: str, cancelled: Cancelled = lambda: False) -> Iterator[PcmChunk]:
        """All of it at once."""
        if self._plain is None:
            raise RuntimeError("load() first")
        sound, rate = self._plain.speak(clause)
        if len(sound) and not cancelled():
            yield PcmChunk(sound, rate)

    def close(self) -> None:
        """Release the voice."""
        self._plain = None
