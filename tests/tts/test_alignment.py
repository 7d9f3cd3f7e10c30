"""Phonemes back to words, durations to samples."""

import numpy as np

from edgevoice.tts.alignment import match_words, spoken_words


def test_every_phoneme_finds_its_word() -> None:
    owner = match_words("həlˈoʊ wˈɜːld.", ["həlˈoʊ", "wˈɜːld"])
    assert owner == [0, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1, 1, 1, -1]


def test_words_that_melt_together_are_told_apart() -> None:
    # "of the" is one word for the phonemiser in a sentence, two alone.
    owner = match_words("ʌvðə", ["ʌv", "ðə"])
    assert owner == [0, 0, 1, 1]


def test_vowel_change_in_context_keeps_the_words() -> None:
    owner = match_words("ðɪʲ ˈɛnd", ["ðə", "ˈɛnd"])
    assert owner[:2] == [0, 0]
    assert owner[4:] == [1, 1, 1, 1]


def test_punctuation_alone_belongs_to_nobody() -> None:
    assert match_words("...", ["..."]) == [-1, -1, -1]


def test_words_in_samples() -> None:
    durations = np.array([2, 1, 3, 4, 1])
    words = spoken_words([(0, 2), (3, 5)], [-1, 0, 0, 1, -1], durations, hop=10, first_sample=100, first_character=7)
    assert [(w.begin, w.end, w.start_sample, w.end_sample) for w in words] == [(7, 9, 120, 160), (10, 12, 160, 200)]
