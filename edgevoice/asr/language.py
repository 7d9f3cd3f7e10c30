"""Which language is spoken: multilingual Whisper base, and the same model as second pass when it is another one."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples, Transcript
from edgevoice.asr.whisper import WhisperModel, WhisperRecognizer, is_quiet
from edgevoice.errors import ModelDataError
from edgevoice.settings import AsrSettings

log = logging.getLogger(__name__)

SURE = 0.9
"""Probability of another language above which a turn is read in that language."""
LEAST_SECONDS = 1.0
"""Shorter segments say too little about their language."""
SILENCE_FRAMES = 1000
"""Stored silence behind the segment: the model tells languages apart more surely when its window looks full."""
MOST_SECONDS = 8.0
"""Only the beginning is looked at."""


@dataclass(frozen=True, slots=True)
class Language:
    """The most likely language of a segment."""

    code: str
    probability: float


class LanguageIdentifier:
    """Identifies the language of segments and reads those in another one. One thread uses it.

    The model is read at `load` and its memory released at `close`; both may be repeated.
    """

    def __init__(self, settings: AsrSettings) -> None:
        self._configured = settings.language
        self._reader = WhisperRecognizer(settings, settings.language_model)

    def load(self) -> None:
        """Read the model. Raises ModelMissingError, or ModelDataError if it knows only one language."""
        self._reader.load()
        if not self._reader.model.multilingual:
            self._reader.close()
            raise ModelDataError("asr.language_model", "knows only English", "choose a multilingual Whisper model")

    def warm(self) -> None:
        """Run once."""
        self._reader.warm()

    def close(self) -> None:
        """Release the model's memory."""
        self._reader.close()

    def identify(self, samples: Samples) -> Language | None:
        """The language of the segment; None if it is too short or too quiet to tell."""
        if len(samples) < LEAST_SECONDS * SAMPLE_RATE or is_quiet(samples):
            return None
        model: WhisperModel = self._reader.model
        probabilities = model.language_probabilities(
            model.encode(samples[: int(MOST_SECONDS * SAMPLE_RATE)], SILENCE_FRAMES)
        )
        code = max(probabilities, key=lambda language: probabilities[language])
        return Language(code, probabilities[code])

    def read_foreign(self, samples: Samples) -> Transcript | None:
        """The transcript of a segment that is surely in another language than the configured one, else None."""
        language = self.identify(samples)
        if language is None or language.code == self._configured or language.probability <= SURE:
            return None
        log.info("another language is spoken: %s (%.2f)", language.code, language.probability)
        self._reader.language = language.code
        reading = self._reader.read(samples)
        if not reading.is_speech:
            return None
        seconds = len(samples) / SAMPLE_RATE
        return Transcript(reading.text, (), language.probability, seconds, language.code)
