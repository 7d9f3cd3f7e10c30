"""Endpointing: has the user finished? Silence decides; how much of it depends on how complete the words look."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from edgevoice.settings import EndpointSettings

TOGETHER = (0.63, 0.85, 0.23)
"""Bias and weights of the log odds of sound and words: a logistic regression on held-out speakers' pauses, ends and inner
ones weighing the same (`python -m scripts.asr.turn_end fuse`)."""
SOUND_ALONE = (0.10, 0.88)
"""The same without the words."""
WORDS_ALONE = (1.06, 0.41)
"""The same without the sound, for recognisers that do not judge it: the words alone tell little (docs/latency.md)."""
LEAST = 0.002
"""Probabilities nearer to 0 or 1 count as this near."""


class Silence(Enum):
    """What a silence of a given length means."""

    NONE = "speech goes on"
    PAUSE = "speech may have ended"
    END = "speech has ended"


@dataclass(frozen=True, slots=True)
class EndEvidence:
    """What is known about whether the speaker has finished; all in [0, 1], None while unknown."""

    words: float | None = None
    """Completeness of the words by the language model."""
    sound: float | None = None
    """Probability by the sound alone, by the recogniser."""

    @property
    def completeness(self) -> float | None:
        """Probability that the turn is over, from both together or from the one that is known; None if nothing is."""
        if self.sound is not None and self.words is not None:
            bias, sound, words = TOGETHER
            return _logistic(bias + sound * log_odds(self.sound) + words * log_odds(self.words))
        if self.sound is not None:
            return _logistic(SOUND_ALONE[0] + SOUND_ALONE[1] * log_odds(self.sound))
        if self.words is not None:
            return _logistic(WORDS_ALONE[0] + WORDS_ALONE[1] * log_odds(self.words))
        return None


UNKNOWN_END = EndEvidence()


class Endpointer:
    """Pure rule: no clock, no audio. The caller gives the length of the silence and what is known of the words."""

    def __init__(self, settings: EndpointSettings) -> None:
        self.settings = settings

    def needed_s(self, completeness: float | None) -> float:
        """Seconds of silence that end the turn.

        The most below `incomplete_below`, the least above `complete_above`, and in proportion between: most inner pauses
        are longer than the least, so only words that are hardly ever followed by more may end a turn that soon.
        Unknown completeness waits longest: better late than cut off.
        """
        rule = self.settings
        least, most = rule.min_silence_ms / 1000, rule.max_silence_ms / 1000
        if completeness is None or most <= least:
            return max(least, most)
        width = rule.complete_above - rule.incomplete_below
        if width <= 0:
            return least if completeness >= rule.complete_above else most
        share = min(1.0, max(0.0, (completeness - rule.incomplete_below) / width))
        return least + (most - least) * (1.0 - share)

    def judge(self, silence_s: float, completeness: float | None) -> Silence:
        """What `silence_s` seconds of silence mean."""
        if silence_s >= self.needed_s(completeness):
            return Silence.END
        return Silence.PAUSE if silence_s * 1000 >= self.settings.pause_ms else Silence.NONE


def log_odds(probability: float) -> float:
    """Natural logarithm of the odds, kept finite."""
    kept = min(1 - LEAST, max(LEAST, probability))
    return math.log(kept / (1 - kept))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
