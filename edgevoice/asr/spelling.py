"""How well words are spelled by the character head: the CTC probability of each of several texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

CHARACTERS = " abcdefghijklmnopqrstuvwxyz'"
"""What the character head writes; class 0 is the blank."""
_IDS = {character: index for index, character in enumerate(CHARACTERS, start=1)}
SURELY_BLANK = 0.999
"""Probability of the blank from which a frame that follows another such one tells nothing (37 % of speech)."""

CharacterLogProbs = NDArray[np.float32]
"""Log-probabilities of blank and characters, shape [frames, 29], one frame per 20 ms."""


def spelling_costs(log_probs: CharacterLogProbs, texts: Sequence[str]) -> NDArray[np.float64]:
    """Negative natural log-probability of each text, summed over all alignments; infinite where none fits.

    The forward algorithm of Graves et al., "Connectionist Temporal Classification" (2006), on all texts at once and with
    probabilities scaled in every frame. Characters that the head does not know are left out.
    """
    spelled = [[_IDS[character] for character in text if character in _IDS] for text in texts]
    probabilities = np.exp(_telling(log_probs).astype(np.float64))
    states = 2 * max(map(len, spelled), default=0) + 1
    labels = np.zeros((len(texts), states), np.intp)
    for row, ids in zip(labels, spelled, strict=True):
        row[1 : 2 * len(ids) : 2] = ids
    # From one character to the next without a blank, unless they are the same.
    skips = np.zeros(labels.shape)
    skips[:, 2:] = (labels[:, 2:] != 0) & (labels[:, 2:] != labels[:, :-2])
    skips[:, 1:2] = 1.0
    # Of two columns in front the second stands for the beginning: the first frame is a blank or the first character.
    forward = np.zeros((len(texts), states + 2))
    forward[:, 1] = 1.0
    costs = np.zeros(len(texts))
    with np.errstate(divide="ignore"):
        for frame in probabilities:
            new = (forward[:, 2:] + forward[:, 1:-1] + forward[:, :-2] * skips) * frame[labels]
            scale = new.max(axis=1)
            costs -= np.log(scale)
            forward[:, 2:] = new / np.maximum(scale, np.finfo(float).tiny)[:, None]
            forward[:, 1] = 0.0
        ends = np.array([2 * len(ids) for ids in spelled], np.intp)
        rows = np.arange(len(texts))
        last_blank, last_character = forward[rows, ends + 2], forward[rows, ends + 1]
        return np.asarray(costs - np.log(last_blank + last_character))


def _telling(log_probs: CharacterLogProbs) -> CharacterLogProbs:
    """Without the frames that are nothing but more of the same blank."""
    blank = log_probs[:, 0] > np.log(SURELY_BLANK)
    keep = np.ones(len(log_probs), bool)
    keep[1:] = ~(blank[1:] & blank[:-1])
    return np.asarray(log_probs[keep])
