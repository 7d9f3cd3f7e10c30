"""The hibari voice (package hibari-tts, Apache-2.0): small and fast, for those who cannot ship GPL code.

Its network works on whole sentences, so the first sound comes after the first sentence; long sentences are given to it
in parts. Its synthesis (harmonics, noise, inverse STFT) is the package's own.
"""

from __future__ import annotations

import importlib.metadata
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgevoice.errors import ModelDataError, UnavailableError
from edgevoice.models.onnx import session
from edgevoice.tts import shaping
from edgevoice.tts.parts import parts_of
from edgevoice.tts.speakable import speakable
from edgevoice.tts.synthesizer import Cancelled, PcmChunk

GAIN = 1.0
"""Fixed gain on the package's own level."""
CHUNK_S = 0.25
"""Seconds of the chunks a finished sentence is handed out in, so that cancelling stays quick."""


class HibariSynthesizer:
    """The built-in voice of hibari behind the synthesiser contract. Gives no word timing."""

    name = "hibari"

    def __init__(self, threads: int = 1, speed: float = 1.0, gain_db: float = 0.0, seed: int = 0) -> None:
        self.sample_rate = 24000
        self._threads, self._speed, self._seed = threads, speed, seed
        self._gain = GAIN * 10 ** (gain_db / 20)
        self._voice: Any = None

    def load(self) -> None:
        """Open the model inside the package. Raises UnavailableError or ModelDataError."""
        try:
            import hibari  # type: ignore[import-untyped]
            from hibari.voices import DEFAULT, voice_path  # type: ignore[import-untyped]
        except ImportError as error:
            raise UnavailableError(
                "tts.backend = hibari", f"the package cannot be loaded ({error})", "pip install hibari-tts"
            ) from error
        try:
            self._voice = hibari.Hibari(threads=self._threads)
            # The package opens its session with spinning threads: replace it by one made like all others here.
            self._voice.sess = session(voice_path(DEFAULT), self._threads)
        except (OSError, ValueError, RuntimeError) as error:
            raise ModelDataError("the hibari voice", str(error), "pip install --force-reinstall hibari-tts") from error
        self.sample_rate = int(hibari.SAMPLE_RATE)

    @property
    def form(self) -> str:
        """The package's version: its voice comes with it."""
        return importlib.metadata.version("hibari-tts")

    def warm(self) -> None:
        """Speak once unheard; also loads the dictionary."""
        for _ in self.synthesize("The quick brown fox jumps over the lazy dog."):
            pass

    def close(self) -> None:
        """Release the model."""
        self._voice = None

    def synthesize(self, clause: str, cancelled: Cancelled = lambda: False) -> Iterator[PcmChunk]:
        """Speak one clause of plain text of any length. See the contract."""
        checked = speakable(clause, "en")
        if checked.empty:
            return
        rate = self.sample_rate
        for part in parts_of(checked.text):
            rng = np.random.default_rng([self._seed, zlib.crc32(part.text.encode("utf-8", "replace"))])
            for phonemes in self._voice.phonemize(part.text):
                if cancelled():
                    return
                sound = self._voice.from_ids(self._voice.ids(phonemes), self._speed, rng)
                sound = sound[shaping.onset(sound, self._gain, rate) : shaping.ending(sound, self._gain, rate)].copy()
                if not len(sound):
                    continue
                shaping.fade_in(sound, rate)
                shaping.fade_out(sound, rate)
                silence = int(shaping.pause_after(part.text.rstrip("\"'”’)] \n")[-1:]) * rate)
                pcm = shaping.to_pcm(np.concatenate([sound, np.zeros(silence, np.float32)]), self._gain)
                step = int(CHUNK_S * rate)
                for first in range(0, len(pcm), step):
                    if cancelled():
                        return
                    yield PcmChunk(pcm[first : first + step], rate)
