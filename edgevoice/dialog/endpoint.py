"""Endpointing: has the user finished? Silence decides; how much of it depends on how complete the words look."""

from __future__ import annotations

from enum import Enum

from edgevoice.settings import EndpointSettings


class Silence(Enum):
    """What a silence of a given length means."""

    NONE = "speech goes on"
    PAUSE = "speech may have ended"
    END = "speech has ended"


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
