"""The second pass: read the finished segment again with a stronger model, when there is time and reason to.

After the two-pass idea of Sainath et al. (2019) and of streaming Whisper (arXiv 2506.12154). It never invents words: it
runs only where the first pass heard some, and what it reads must sound like what the first pass heard.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future

import numpy as np

from edgevoice.asr.agreement import hum_in, phone_distance, without_repetition
from edgevoice.asr.language import LanguageIdentifier
from edgevoice.asr.normalize import plain_words
from edgevoice.asr.recognizer import SAMPLE_RATE, Samples, Transcript
from edgevoice.asr.snr import estimate_snr
from edgevoice.asr.whisper import Reading, WhisperRecognizer
from edgevoice.runtime.pool import Pool
from edgevoice.settings import AsrSettings

log = logging.getLogger(__name__)

TOO_DOUBTFUL = 0.55
"""A reading counts if its phone distance to the first pass plus the first pass's lead in confidence stays below this.
What a logistic regression made of 660 held-out readings (docs/models.md) was this line, but for its second decimal."""
TOO_LONG, SPARE_WORDS = 1.5, 2
"""A reading with more words than this many times the first pass's, plus some, repeats itself or invents."""
WORDS_OF_A_HUM = 4
"""Words of the first pass that a hum in the second pass's reading may be."""
TOKENS_PER_WORD, SPARE_TOKENS = 3, 10
LANGUAGE_DEADLINE_S = 6.0
"""Seconds that are waited for the language of a segment; the watchdog takes a stage for hung after ten."""
_FORGET = 0.3
"""How fast an old cost gives way to a new one."""


class SecondPass:
    """Whisper over the segment that the first pass has transcribed. One thread uses it."""

    name = "whisper"

    def __init__(self, settings: AsrSettings, reader: WhisperRecognizer | None = None) -> None:
        self.budget_s = settings.second_pass_budget_ms / 1000
        self._noisy_below_db = settings.noisy_below_db
        self._reader = reader or WhisperRecognizer(settings)
        self._identifier = LanguageIdentifier(settings) if settings.identify_language else None
        self._pool: Pool | None = None
        self._foreign: Future[Transcript | None] | None = None
        """The identifier's work on the last segment."""
        self.doubted = False
        """The last segment was read, and not as the first pass did; but that reading did not count."""
        self._cost = 0.0
        """Measured seconds of work per second of sound (one more second is added for what every segment costs)."""

    def load(self) -> None:
        """Read the model from disk. Raises ModelMissingError or ModelDataError."""
        self._reader.load()
        if self._identifier is not None:
            self._identifier.load()
            self._pool = Pool(1, "language")

    def warm(self) -> None:
        """Run on real-shaped input, so that the first turn is fast and its cost is known."""
        self._reader.warm()
        noise = np.random.default_rng(0).standard_normal(2 * SAMPLE_RATE).astype(np.float32) * 1e-2
        for _ in range(2):
            self._read(noise, 10)
        phone_distance("warm", "worm")  # reads the pronouncing dictionary

    def close(self) -> None:
        """Release the model's memory."""
        self._reader.close()
        if self._identifier is not None and self._pool is not None:
            if self._pool.close():
                self._identifier.close()
            else:
                log.error("language identification does not end; its memory is not released")

    def expected_s(self, seconds: float) -> float:
        """Seconds that a segment of `seconds` is expected to take."""
        return self._cost * (seconds + 1)

    def refine(self, samples: Samples, first: Transcript) -> Transcript:
        """The better transcript of the segment: the second pass's, or `first`.

        In noise (estimated ratio below `asr.noisy_below_db`) the second pass, which heard far more noise in its training, may
        take twice its budget.
        """
        self.doubted = False
        if not first.text:
            return first
        foreign = self._begin_identifying(samples)
        snr_db = estimate_snr(samples)
        refined = self._refine(samples, first, noisy=snr_db is not None and snr_db < self._noisy_below_db)
        # The identifier has run meanwhile; where it found another language, the English readings are worthless.
        try:
            return (foreign.result(LANGUAGE_DEADLINE_S) if foreign else None) or refined
        except TimeoutError:
            log.warning("the language of a segment was not known after %.0f s", LANGUAGE_DEADLINE_S)
            return refined

    def _begin_identifying(self, samples: Samples) -> Future[Transcript | None] | None:
        """The identifier's work on a segment; None without one, or while it is still at the segment before."""
        if self._identifier is None or self._pool is None or (self._foreign and not self._foreign.done()):
            return None
        self._foreign = self._pool.submit(self._identifier.read_foreign, samples)
        return self._foreign

    def _refine(self, samples: Samples, first: Transcript, noisy: bool) -> Transcript:
        expected = self.expected_s(len(samples) / SAMPLE_RATE)
        if expected > self.budget_s * (1 + noisy):
            log.debug("second pass left out: %.0f ms expected", 1000 * expected)
            # Without this one slow moment (another program was busy) would switch the second pass off for ever.
            self._cost *= 0.9
            return first
        reading = self._read(samples, TOKENS_PER_WORD * len(first.text.split()) + SPARE_TOKENS)
        text = without_repetition(reading.text, first.text)
        confidence = float(np.exp(reading.logprob))
        # The first pass, whose lexicon has no hums, must read one as words ("a chen a chen").
        hum = hum_in(text) if len(first.text.split()) <= WORDS_OF_A_HUM else ""
        if not reading.is_speech or not (hum or _trusted(text, confidence, first)):
            self.doubted = True
            return first
        text = hum or text
        return Transcript(text, (), confidence, first.heard, self._reader.language)

    def _read(self, samples: Samples, most_tokens: int) -> Reading:
        began = time.monotonic()
        reading = self._reader.read(samples, most_tokens)
        cost = (time.monotonic() - began) / (len(samples) / SAMPLE_RATE + 1)
        self._cost = cost if not self._cost else (1 - _FORGET) * self._cost + _FORGET * cost
        return reading


def _trusted(text: str, confidence: float, first: Transcript) -> bool:
    words = plain_words(text)
    if not words or len(words.split()) > TOO_LONG * len(first.text.split()) + SPARE_WORDS:
        return False
    return phone_distance(words, first.text) + first.confidence - confidence < TOO_DOUBTFUL
