"""From bytes to speakable text, whatever the cuts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgevoice.llm.prompt import ChatPrompt, FewShotPrompt
from edgevoice.llm.reply import ReplyText, loops, trim_to_sentence
from edgevoice.llm.thoughts import ThoughtFilter, opens_thought

STOPS = ("\n", "User:", "Assistant:")
PIECES = [*"ab .!?\nUser:Asitn<>/hk3é🙂", "Dr.", "No.", "U.S.", "1. "]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def reply(raw: bytes, cuts: list[int], cut_off: bool = False, stops: tuple[str, ...] = STOPS) -> str:
    stream, out, start = ReplyText(stops), "", 0
    for end in [*sorted(c % (len(raw) + 1) for c in cuts), len(raw)]:
        out += stream.add(raw[start:end])
        start = end
    return out + stream.finish(cut_off)


@given(TEXTS, st.lists(st.integers(0, 300), max_size=12), st.booleans())
def test_the_answer_does_not_depend_on_the_cuts(text: str, cuts: list[int], cut_off: bool) -> None:
    raw = text.encode()
    assert reply(raw, cuts, cut_off) == reply(raw, list(range(len(raw))), cut_off)


@given(TEXTS, st.lists(st.integers(0, 300), max_size=12))
def test_no_stop_text_gets_through(text: str, cuts: list[int]) -> None:
    answer = reply(text.encode(), cuts)
    assert "\n" not in answer and "User:" not in answer and answer == answer.strip()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (" Paris is the capital.\nUser: and", "Paris is the capital."),
        ("\n\n Well. Yes", "Well. Yes"),
        ("Assistant: Hello there.", "Hello there."),
        ("user : hm. Assistant:", "hm."),
        ("It is 3.5 percent.", "It is 3.5 percent."),
        ("Note: this stays.", "Note: this stays."),
        ("", ""),
        ("\n", ""),
        ("A", "A"),
    ],
)
def test_answers(raw: str, expected: str) -> None:
    assert reply(raw.encode(), list(range(len(raw)))) == expected


def test_half_a_sentence_is_dropped_unless_it_is_the_first() -> None:
    assert reply(b"One. Two is lon", [3, 8], cut_off=True) == "One."
    assert reply(b"One is very lon", [3, 8], cut_off=True) == "One is very lon"
    assert reply(b"One. Two. Thr", [], cut_off=True) == "One. Two."
    assert trim_to_sentence("One. Two") == "One." and trim_to_sentence("One") == "One"


def test_the_first_sentence_is_not_held_back() -> None:
    stream = ReplyText(STOPS)
    assert stream.add(b" The") == "The"
    assert stream.add(b" sky") == " sky"
    assert stream.add(b" is blue.") == " is blue."
    assert stream.add(b" It") == ""
    assert stream.add(b" is wide.") == ""
    assert stream.add(b" And") == " It is wide."


def test_abbreviations_and_list_numbers_end_no_sentence() -> None:
    stream = ReplyText()
    assert [stream.add(p) for p in (b"I asked", b" Dr. S", b"mith.", b" No. 5", b" won.")] == [
        *("I asked", " Dr. S", "mith.", "", ""),
    ]
    stream = ReplyText()
    assert [stream.add(p) for p in (b"1. Mix", b" it.\n2. B", b"ake.")] == ["1. Mix", " it.", ""]
    assert reply(b"It is so. I live in St. Lou", [4], cut_off=True, stops=()) == "It is so."
    assert reply(b"It is so. I live in St.", [4], cut_off=True, stops=()) == "It is so."
    assert reply(b"One.\n1. Mix it.\n2.", [4], cut_off=True, stops=()) == "One.\n1. Mix it."
    assert reply(b"It is 5. Yes. No.", [4], cut_off=True, stops=()) == "It is 5. Yes. No."
    assert trim_to_sentence('He said "go." Then we we') == 'He said "go."'


def test_characters_cut_in_half() -> None:
    raw = "Schöne Grüße 🙂".encode()
    assert reply(raw, list(range(len(raw)))) == "Schöne Grüße 🙂"
    assert reply(raw[:-1], []) == "Schöne Grüße �"


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("<think>hm, hard</think>\n\nYes.", "Yes."),
        ("Well <think>or not?</think>yes", "Well yes"),
        ("<think>never ends", ""),
        ("a < b and <thin>", "a < b and <thin>"),
        ("<think></think>", ""),
    ],
)
def test_e6_thoughts_are_never_spoken(text: str, visible: str) -> None:
    for size in (1, 3, 100):
        thoughts = ThoughtFilter()
        out = "".join(thoughts.add(text[i : i + size]) for i in range(0, len(text), size)) + thoughts.finish()
        assert out.strip() == visible
    assert reply(text.encode(), list(range(len(text))), stops=("\n",)) == visible.strip()


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("hm, a plan</think>The answer is 4.", "The answer is 4."),
        ("hm</think>\n\nYes <think>or</think>no.", "Yes no."),
        ("<think>again</think>Yes.", "Yes."),
        ("never ends", ""),
    ],
)
def test_e6_a_thought_opened_by_the_prompt_is_not_spoken(text: str, visible: str) -> None:
    for size in (1, 3, 100):
        stream = ReplyText(thinking=True)
        pieces = [text[i : i + size].encode() for i in range(0, len(text), size)]
        assert "".join(map(stream.add, pieces)) + stream.finish() == visible


def test_which_prompts_open_a_thought() -> None:
    template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}<|assistant|>"
    assert opens_thought(ChatPrompt(template + "<think>\n").layout((), "hi").closing)
    assert opens_thought("<|assistant|><think>")
    assert not opens_thought(ChatPrompt(template + "<think>\n\n</think>\n\n").layout((), "hi").closing)
    assert not opens_thought(FewShotPrompt().layout((), "hi").closing)


def test_loops_are_seen() -> None:
    assert loops([9, 1, 2, 1, 2, 1, 2]) and loops([5, 5, 5]) and loops(list(range(12)) * 3)
    assert not loops([1, 2, 1, 2]) and not loops([]) and not loops([1, 2, 3, 1, 2, 4, 1, 2])
