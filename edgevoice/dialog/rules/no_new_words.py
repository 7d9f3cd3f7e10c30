"""No new words: the sound goes on, but nobody speaks any more (television, music, a fan that starts)."""

from __future__ import annotations

from edgevoice.settings import EndpointSettings

RESUME_S = 0.8
"""Seconds somebody gets, who goes on after the longest silence that does not end the turn, to be recognised again."""


class NoNewWords:
    """The turn is over when `limit_s` seconds of recognised sound hold no phone, after words before; 0: never.

    Phones, not words, because a recogniser in trouble misses words first: of half a minute of swelling music 0.5 % of
    the frames are read as phones (docs/room.md).

    Times are seconds of the segment's sound, not of a clock: a file that is read faster than real time, or a recogniser
    that is behind, makes no difference. Sound without any word is no turn yet and has no limit here.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s

    @classmethod
    def of(cls, settings: EndpointSettings) -> NoNewWords:
        """As the settings say, but never so short that it would undercut the longest silence allowed."""
        limit = settings.no_new_words_s
        return cls(max(limit, settings.max_silence_ms / 1000 + RESUME_S) if limit else 0.0)

    def over(self, ended_s: float, heard_s: float) -> bool:
        """True if of `heard_s` seconds recognised so far the last speech ended at `ended_s`, too long ago."""
        return 0 < self.limit_s <= heard_s - ended_s
