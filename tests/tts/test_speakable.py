"""What a voice can say of a text."""

import pytest

from edgevoice.tts.speakable import LONGEST_WORD, speakable


@pytest.mark.parametrize("text", ["", "🙂🎉", "\x00\x01", "\ud800", "…", "你好世界", "مرحبا", "   \n"])
def test_nothing_to_speak(text: str) -> None:
    assert speakable(text, "en").empty


def test_positions_stay() -> None:
    text = "Hi 🙂 there\x00, \ud800naïve café"
    cleaned = speakable(text, "en").text
    assert len(cleaned) == len(text)
    assert cleaned.split() == ["Hi", "there", ",", "naïve", "café"]


def test_other_scripts_are_named_and_left_out() -> None:
    checked = speakable("hello Привет world", "en")
    assert checked.text.split() == ["hello", "world"]
    assert "Cyrillic" in checked.warning
    assert "Привет" not in checked.warning
    assert speakable("Привет", "ru").warning == ""


def test_a_word_of_ten_thousand_letters_is_cut() -> None:
    checked = speakable("a" * 10_000 + " end", "en")
    assert len(checked.text) == 10_004
    assert len(checked.text.split()[0]) == LONGEST_WORD
    assert checked.cut_words == 1
