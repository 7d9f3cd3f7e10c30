"""Which voice engine: chosen by name in the settings. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from edgevoice.errors import SettingsError
from edgevoice.runtime.cores import plan
from edgevoice.settings import Settings
from edgevoice.tts.synthesizer import Cancelled, PcmChunk, Synthesizer


def build_synthesizer(settings: Settings) -> Synthesizer:
    """The voice that the settings name; touches no disk. Raises SettingsError for an unknown engine."""
    engine = ENGINES.get(settings.tts.backend)
    if engine is None:
        raise SettingsError(
            f"tts.backend = {settings.tts.backend!r}", "unknown voice engine", f"use one of {', '.join(ENGINES)}"
        )
    return engine(settings)


def _piper(settings: Settings) -> Synthesizer:
    from edgevoice.tts.piper import PiperSynthesizer

    tts = settings.tts
    return PiperSynthesizer(tts.voice, plan(settings).tts, tts.speed, tts.gain_db, tts.first_chunk_ms, tier=tts.tier)


def _hibari(settings: Settings) -> Synthesizer:
    from edgevoice.tts.hibari import HibariSynthesizer

    return HibariSynthesizer(plan(settings).tts, settings.tts.speed, settings.tts.gain_db)


def _espeak(settings: Settings) -> Synthesizer:
    from edgevoice.tts.espeak import EspeakSynthesizer

    return EspeakSynthesizer(settings.asr.language, settings.tts.speed, settings.tts.gain_db)


def _off(settings: Settings) -> Synthesizer:
    return SilentSynthesizer()


class SilentSynthesizer:
    """No voice: answers are only written."""

    name = "off"
    sample_rate = 22050

    def load(self) -> None:
        """Nothing to read."""

    def warm(self) -> None:
        """Nothing to warm."""

    def synthesize(self, clause: str, cancelled: Cancelled = lambda: False) -> Iterator[PcmChunk]:
        """Yields nothing."""
        return iter(())

    def close(self) -> None:
        """Nothing to release."""


ENGINES: dict[str, Callable[[Settings], Synthesizer]] = {
    "piper": _piper,
    "hibari": _hibari,
    "espeak": _espeak,
    "off": _off,
}
"""Engine name -> builder; each imports its engine only when it is chosen."""
