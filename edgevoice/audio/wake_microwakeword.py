"""Wake words with microWakeWord (package `pymicro-wakeword`): small enough to listen all day for 0.3 % of a core."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from edgevoice.asr.recognizer import Samples
from edgevoice.audio.resample import to_int16
from edgevoice.audio.wake import Score, check_tflite, model_file
from edgevoice.errors import ModelDataError, UnavailableError

HOP = 160
"""Samples between two feature frames (10 ms)."""
THRESHOLDS: dict[str, float] = {}
"""Measured thresholds (docs/room.md); words that are not listed use the cut-off in their model's own description."""
LAGS: dict[str, float] = {}
"""Measured delays in seconds from the end of the word to its score."""
DEFAULT_LAG_S = 0.25


class MicroWakeWordEngine:
    """One microWakeWord model; see `edgevoice.audio.wake.WakeEngine`."""

    name = "microwakeword"

    def __init__(self, word: str) -> None:
        self.word = Path(word).stem
        self.default_threshold = THRESHOLDS.get(self.word, 0.9)
        self.lag_s = LAGS.get(self.word, DEFAULT_LAG_S)
        self._source = word
        self._model: Any = None
        self.features: Any = None
        """Makes features of sound; the bench shares one between engines."""
        self._pending = 0
        self._frames = 0

    def load(self) -> None:
        """Read the model. Raises ModelMissingError, ModelDataError, SettingsError, UnavailableError."""
        try:
            import pymicro_wakeword
        except (ImportError, OSError) as error:
            raise UnavailableError(
                "wake.engine = microwakeword",
                f"the package pymicro-wakeword cannot be used ({error})",
                "install it (`pip install pymicro-wakeword`), or set wake.engine to off",
            ) from error
        folder = Path(pymicro_wakeword.__file__).parent / "models"
        path = model_file(self._source, folder, ".json")
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
            tflite = path.parent / described["model"]
            cutoff = float(described["micro"]["probability_cutoff"])
        except (ValueError, KeyError, TypeError) as error:
            raise ModelDataError(
                str(path), f"not a microWakeWord description ({error})", "copy the file again"
            ) from error
        if not tflite.is_file():
            raise ModelDataError(str(path), f"its model {tflite.name} is not beside it", "copy both files")
        check_tflite(tflite)
        if self.word not in THRESHOLDS:
            self.default_threshold = cutoff
        self._model = pymicro_wakeword.MicroWakeWord.from_config(path)
        self.features = pymicro_wakeword.MicroWakeWordFeatures()

    def scores(self, samples: Samples) -> list[Score]:
        """Take the next samples; the scores that became due, one every 30 ms, each the mean over a sliding window."""
        self._pending += len(samples)
        found = []
        for features in self.features.process_streaming(to_int16(samples).tobytes()):
            self._pending -= HOP
            self._frames += 1
            value = self._model.process_streaming_prob(features)
            # Between its strides the package answers 0, which is no score.
            if value is not None and self._frames % self._model.stride == 0:
                found.append(Score(float(value), max(0, self._pending)))
        return found

    def reset(self) -> None:
        """Forget the sound heard so far."""
        if self._model is not None:
            self._model.reset()
            self.features.reset()
        self._pending = self._frames = 0

    def close(self) -> None:
        """Release the model's memory."""
        if self._model is not None:
            self._model.close()
        self._model = self.features = None
