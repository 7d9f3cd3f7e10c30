"""Second look at a wake word: does the speech recogniser hear its phones?

The small wake word models fire on much that merely resembles their word. Whatever they find is read once more by a
phone recogniser: the cheapest path of the word's phones through the last seconds of sound, against the best path of any
phones (keyword against filler; Rose and Paul, "A hidden Markov model based keyword recognition
system", ICASSP 1990, here on CTC outputs). The path also tells where the word ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgevoice.asr.ctc import MODEL_FILE, CtcEncoder
from edgevoice.asr.features import FeatureStream
from edgevoice.asr.lexicon import PHONES
from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.asr.search import ENCODER_FRAME_SECONDS
from edgevoice.models import store

SECONDS = 1.8
"""Seconds of sound that are read again."""
TAIL_S = 0.2
"""Seconds of silence put after it, so that the last phone is read as it would be later."""
LAST_PHONE_S = 0.1
"""The last phone is found where it begins; it sounds for about this long (0.05 to 0.2 s, measured)."""
MOST_COST = 8.0
"""Nats that one frame may cost at most: one odd frame must not decide."""
PHRASES: dict[str, tuple[str, ...]] = {
    "okay_nabu": ("OW", "K", "EY", "N", "AA|AE|AO|AH|EY", "B", "UW|UH"),
    "hey_jarvis": ("HH", "EY", "JH", "AA", "R", "V", "IH|AH|IY", "S|Z"),
    "alexa": ("AH|AE|AA", "L", "EH", "K", "S", "AH|AA|ER"),
    "hey_mycroft": ("HH", "EY", "M", "AY", "K", "R", "AO|AA|AH", "F", "T"),
}
"""Wake word -> its phones (ARPAbet); `|` separates sounds that count as the same."""

LogProbs = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Match:
    """How well the phones fit."""

    cost: float
    """Nats per phone by which the word is less likely than the best guess; 0 is perfect."""
    end_frame: int
    """Frame after the word's last one."""


class PhoneCheck:
    """Reads the last seconds of sound once more. `load` before `look`; one thread uses it."""

    def __init__(self, word: str, model: str = "asr-en-ctc") -> None:
        self.phones = PHRASES[word]
        self._model = model
        self._encoder: CtcEncoder | None = None

    def load(self) -> None:
        """Open the phone model (10 MB). Raises ModelMissingError or ModelDataError."""
        self._encoder = CtcEncoder(store.find(self._model, "asr") / MODEL_FILE, 1)

    def look(self, samples: Samples) -> tuple[float, int]:
        """Cost in nats per phone, and after which of the `samples` (16 kHz, about `SECONDS`) the word ended."""
        assert self._encoder is not None, "load() first"
        stream = FeatureStream()
        features = np.concatenate([stream.accept(samples), stream.tail(round(TAIL_S * SAMPLE_RATE))])
        found = match(self._encoder.whole(features), self.phones)
        end = found.end_frame * ENCODER_FRAME_SECONDS + LAST_PHONE_S
        return found.cost, min(len(samples), round(end * SAMPLE_RATE))

    def close(self) -> None:
        """Release the model."""
        self._encoder = None


def match(log_probs: LogProbs, phones: Sequence[str]) -> Match:
    """The cheapest place of `phones` in `log_probs`, shape [frames, 1 + len(PHONES)] with the blank first."""
    frames = len(log_probs)
    wanted = [[PHONES.index(name) + 1 for name in slot.split("|")] for slot in phones]
    if frames < len(wanted):
        return Match(MOST_COST, frames)
    best = log_probs.max(axis=1, keepdims=True)
    costs = np.minimum(best - log_probs, MOST_COST)
    # CTC states: phone, blank, phone … phone; no blank is asked for before the first or after the last phone.
    states = 2 * len(wanted) - 1
    emit = np.repeat(costs[:, :1], states, axis=1)
    for i, ids in enumerate(wanted):
        emit[:, 2 * i] = costs[:, ids].min(axis=1)
    path = np.full(states, np.inf)
    cheapest, end = np.inf, frames
    for t in range(frames):
        step, skip = np.roll(path, 1), np.roll(path, 2)
        step[0] = 0.0  # the word may begin anywhere
        skip[:2] = np.inf
        skip[1::2] = np.inf
        path = np.minimum(np.minimum(path, step), skip) + emit[t]
        if path[-1] < cheapest - 1e-6:
            cheapest, end = float(path[-1]), t + 1
    return Match(cheapest / len(wanted), end)
