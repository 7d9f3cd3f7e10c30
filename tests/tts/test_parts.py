"""Long text in parts."""

from hypothesis import given
from hypothesis import strategies as st

from edgevoice.tts.parts import LONGEST_PART, parts_of


@given(st.text(alphabet="ab .,!?\n'A", max_size=1500))
def test_parts_joined_are_the_text_and_short(text: str) -> None:
    parts = list(parts_of(text))
    assert all(len(part.text) <= LONGEST_PART for part in parts)
    assert all(text[part.begin : part.begin + len(part.text)] == part.text for part in parts)
    covered = {i for part in parts for i in range(part.begin, part.begin + len(part.text))}
    assert all(text[i].isspace() for i in range(len(text)) if i not in covered)


def test_sentences_are_parts_of_their_own() -> None:
    assert [part.text.strip() for part in parts_of("It rains. Dr. Smith is in. Really?")] == [
        "It rains.",
        "Dr. Smith is in.",
        "Really?",
    ]
