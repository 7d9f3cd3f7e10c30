"""The CTC forward algorithm over characters: equal to counting all alignments by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from edgevoice.asr.spelling import CHARACTERS, spelling_costs

IDS = {character: index for index, character in enumerate(CHARACTERS, start=1)}


def by_hand(log_probs: np.ndarray, text: str) -> float:
    """The sum over every path of classes whose collapsed form is the text."""
    wanted, total = [IDS[c] for c in text], 0.0
    for path in itertools.product(range(3), repeat=len(log_probs)):
        collapsed = [label for label, _ in itertools.groupby(path) if label]
        if collapsed == wanted:
            total += float(np.exp(sum(log_probs[frame, label] for frame, label in enumerate(path))))
    return -np.log(total) if total else np.inf


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_sum_over_all_alignments(seed: int) -> None:
    random = np.random.default_rng(seed)
    # Only blank, space and "a" are possible, so that all paths can be counted.
    probabilities = np.zeros((6, len(CHARACTERS) + 1))
    probabilities[:, :3] = random.dirichlet((1, 1, 1), 6)
    with np.errstate(divide="ignore"):
        log_probs = np.log(probabilities).astype(np.float32)
    texts = ["a", "aa", " a", "a a", "aaa", "aaaa", ""]
    expected = [by_hand(log_probs, text) for text in texts]
    np.testing.assert_allclose(spelling_costs(log_probs, texts), expected, rtol=1e-4)
    assert np.isinf(expected[5]), "four times the same letter needs seven frames"


def test_frames_of_nothing_but_blank_change_nothing() -> None:
    peaks = np.full((9, len(CHARACTERS) + 1), -20.0, np.float32)
    for frame, character in enumerate(" a b  c"):
        peaks[frame, IDS[character] if character != " " else 0] = 0.0
    peaks[7:, 0] = 0.0
    silence = np.full((200, len(CHARACTERS) + 1), -20.0, np.float32)
    silence[:, 0] = 0.0
    texts = ["abc", "ab", "abd"]
    short, long = spelling_costs(peaks, texts), spelling_costs(np.concatenate([silence, peaks, silence]), texts)
    np.testing.assert_allclose(short, long, atol=1e-3)
    assert short.argmin() == 0


def test_unknown_characters_are_left_out() -> None:
    peaks = np.full((4, len(CHARACTERS) + 1), -5.0, np.float32)
    assert spelling_costs(peaks, ["é", ""])[0] == spelling_costs(peaks, [""])[0]
    assert spelling_costs(peaks, []).shape == (0,)
