"""Too loud, too quiet: speech that will not be recognised well, and when to tell the user so."""

from __future__ import annotations

from enum import StrEnum


class Loudness(StrEnum):
    """How loud an utterance was."""

    FINE = "fine"
    TOO_QUIET = "too_quiet"
    TOO_LOUD = "too_loud"


class TooLoudTooQuiet:
    """Judges utterances one by one; `advise` is true once for a run of bad ones.

    `quiet_dbfs`: speech level below which recognition suffers; `loud_dbfs`: level above which it clips;
    `clipped_share`: share of samples at full scale from which it counts as clipped; `patience`: how many utterances of
    the same kind in a row are needed before the user is told.
    """

    def __init__(
        self, quiet_dbfs: float = -48.0, loud_dbfs: float = -6.0, clipped_share: float = 0.001, patience: int = 2
    ) -> None:
        self.quiet_dbfs, self.loud_dbfs = quiet_dbfs, loud_dbfs
        self.clipped_share, self.patience = clipped_share, patience
        self._run, self._last = 0, Loudness.FINE

    def judge(self, level_dbfs: float, clipped_share: float = 0.0) -> Loudness:
        """The loudness of one utterance."""
        kind = Loudness.FINE
        if level_dbfs > self.loud_dbfs or clipped_share > self.clipped_share:
            kind = Loudness.TOO_LOUD
        elif level_dbfs < self.quiet_dbfs:
            kind = Loudness.TOO_QUIET
        self._run = self._run + 1 if kind is self._last else 1
        self._last = kind
        return kind

    @property
    def advise(self) -> bool:
        """True when the last utterance completed a run of bad ones: say it now (once per run)."""
        return self._last is not Loudness.FINE and self._run == self.patience
