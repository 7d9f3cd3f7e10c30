"""Wake words with openWakeWord (package `pyopen-wakeword`): larger models, many times the work of microWakeWord."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from edgevoice.asr.recognizer import Samples
from edgevoice.audio.resample import to_int16
from edgevoice.audio.wake import Score, check_tflite, model_file
from edgevoice.errors import UnavailableError

HOP = 1280
"""Samples between two scores (80 ms)."""
THRESHOLDS: dict[str, float] = {}
"""Measured thresholds (docs/room.md)."""
LAGS: dict[str, float] = {}
"""Measured delays in seconds from the end of the word to its score."""
DEFAULT_LAG_S = 0.3


class OpenWakeWordEngine:
    """One openWakeWord model; see `edgevoice.audio.wake.WakeEngine`."""

    name = "openwakeword"

    def __init__(self, word: str) -> None:
        self.word = Path(word).stem
        self.default_threshold = THRESHOLDS.get(self.word, 0.5)
        self.lag_s = LAGS.get(self.word, DEFAULT_LAG_S)
        self._source = word
        self._model: Any = None
        self.features: Any = None
        """Makes features of sound; the bench shares one between engines."""
        self._rest: Samples = np.zeros(0, np.float32)

    def load(self) -> None:
        """Read the models. Raises ModelMissingError, ModelDataError, SettingsError, UnavailableError."""
        try:
            import pyopen_wakeword
        except (ImportError, OSError) as error:
            raise UnavailableError(
                "wake.engine = openwakeword",
                f"the package pyopen-wakeword cannot be used ({error})",
                "install it (`pip install pyopen-wakeword`), or set wake.engine to microwakeword",
            ) from error
        folder = Path(pyopen_wakeword.__file__).parent / "models"
        path = model_file(self._source, folder, ".tflite")
        check_tflite(path)
        self._model = pyopen_wakeword.OpenWakeWord.from_model(path)
        self.features = pyopen_wakeword.OpenWakeWordFeatures.from_builtin()

    def scores(self, samples: Samples) -> list[Score]:
        """Take the next samples; the scores that became due, one every 80 ms."""
        # The package moves ten seconds of buffer at every call: whole hops cost a quarter of 20 ms blocks.
        waiting = np.concatenate([self._rest, samples])
        whole = len(waiting) // HOP * HOP
        self._rest = waiting[whole:]
        found = []
        for at in range(0, whole, HOP):
            for features in self.features.process_streaming(to_int16(waiting[at : at + HOP]).tobytes()):
                for value in self._model.process_streaming(features):
                    found.append(Score(float(value), len(waiting) - at - HOP))
        return found

    def reset(self) -> None:
        """Forget the sound heard so far.

        Only the classifier's window is emptied: resetting the package's feature stream makes it work through eight
        seconds of silence, which stalls the listener for half a second.
        """
        if self._model is not None:
            self._model.reset()
        self._rest = np.zeros(0, np.float32)

    def close(self) -> None:
        """Release the models' memory."""
        if self._model is not None:
            self._model.close()
            self.features.close()
        self._model = self.features = None
