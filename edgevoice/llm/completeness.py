"""Do the words so far look like a whole utterance? Read off the language model's own expectation of what comes next."""

from __future__ import annotations

import numpy as np

from edgevoice.llm.engine import Engine, Scores

ENDERS = (b".", b"?", b"!", b"\n")
"""First bytes of the tokens that end an utterance in the transcript prompt."""
LIKELIEST = 64
"""Tokens looked at; the mass of all others together is too small to matter."""


class EndOfUtterance:
    """Probability that an utterance is over, as the mass of sentence marks, line ends and end tokens.

    The idea that a language model's next-token distribution after the words predicts the end of a turn is that of
    Ekstedt and Skantze, "TurnGPT" (2020); here the model's own sentence marks stand for their trained end token.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ends: dict[int, bool] = {}
        """Which tokens end an utterance, as far as they were met (asking for all takes a second)."""

    def probability(self, scores: Scores) -> float:
        """Probability in [0, 1]; `scores` are those after the last word."""
        top = np.argpartition(scores, -LIKELIEST)[-LIKELIEST:]
        best = scores.max()
        enders = [t for t in top.tolist() if self._is_end(t)]
        total = float(np.exp(scores - best).sum())
        return min(float(np.exp(scores[enders] - best).sum()) / total, 1.0)

    def _is_end(self, token: int) -> bool:
        if token not in self._ends:
            self._ends[token] = self._engine.piece(token)[:1] in ENDERS or self._engine.is_end(token)
        return self._ends[token]
