"""Layouts: byte-stable, growing only at the end, right for templates of several families."""

from __future__ import annotations

import itertools

import pytest

from edgevoice.errors import ModelDataError
from edgevoice.llm.generator import Exchange
from edgevoice.llm.prompt import INSTRUCTION, ChatPrompt, FewShotPrompt, Layout, Prompt, mark, written
from edgevoice.llm.window import Window

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}"
    "<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
HISTORY = (
    Exchange("what is the capital of france", "The capital of France is Paris."),
    Exchange("how many people live there", "About two million", interrupted=True),
    Exchange("thanks", "You are welcome."),
)


def joined(layout: Layout) -> str:
    return layout.fixed + "".join(layout.pairs) + layout.opening + "".join(layout.words) + layout.closing


@pytest.mark.parametrize("prompt", [FewShotPrompt(), ChatPrompt(CHATML), ChatPrompt(NO_SYSTEM)])
def test_each_turn_only_adds_to_the_last(prompt: Prompt) -> None:
    whole = prompt.layout(HISTORY, "and in spain")
    assert len(whole.pairs) == len(HISTORY) and whole.words
    for n in range(len(HISTORY)):
        earlier = prompt.layout(HISTORY[:n], "what is it")
        assert earlier.fixed == whole.fixed
        assert earlier.pairs == whole.pairs[:n]
    shorter = prompt.layout(HISTORY, "and in")
    assert (shorter.pairs, shorter.opening, shorter.words) == (whole.pairs, whole.opening, whole.words[:2])


def test_transcript() -> None:
    layout = FewShotPrompt().layout(HISTORY[1:2], "what's the capital of spain")
    text = joined(layout)
    assert text.endswith(
        "User: How many people live there?\nAssistant: About two million -\n"
        "User: What's the capital of spain?\nAssistant:"
    )
    assert text.startswith(layout.fixed) and not layout.fixed.endswith(" ")


def test_chatml() -> None:
    text = joined(ChatPrompt(CHATML).layout(HISTORY[:1], "and in spain"))
    assert text == (
        f"<|im_start|>system\n{INSTRUCTION}<|im_end|>\n"
        "<|im_start|>user\nWhat is the capital of france?<|im_end|>\n"
        "<|im_start|>assistant\nThe capital of France is Paris.<|im_end|>\n"
        "<|im_start|>user\nAnd in spain.<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_template_without_system_role_gets_the_instruction_in_the_first_message() -> None:
    text = joined(ChatPrompt(NO_SYSTEM).layout((), "hello"))
    assert text == f"<start_of_turn>user\n{INSTRUCTION}\n\nHello.<end_of_turn>\n<start_of_turn>model\n"


def test_templates_cannot_reach_the_system_and_bad_ones_are_named() -> None:
    with pytest.raises(ModelDataError, match="chat template"):
        ChatPrompt("{% for %}")
    with pytest.raises(ModelDataError, match="chat template"):
        ChatPrompt("{{ messages.__class__.__mro__[1].__subclasses__() }}").layout((), "hello")


def test_written_words_do_not_depend_on_what_follows() -> None:
    words = "i think i'm in ireland"
    assert written(words) == ["I", "think", "I'm", "in", "ireland"]
    for i in range(1, len(words.split())):
        assert written(" ".join(words.split()[:i])) == written(words)[:i]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("what is it", "?"),
        ("what's up", "?"),
        ("whatever you say", "."),
        ("play music", "."),
        ("is it late", "?"),
        ("island life", "."),
        ("Really?", ""),
        ("", ""),
    ],
)
def test_marks(words: str, expected: str) -> None:
    assert mark(words) == expected


def test_e1_exchanges_leave_in_blocks() -> None:
    window, pairs, starts = Window(300), [], []
    for i in range(200):
        pairs.append((i,) * 10)
        kept = window.fit(100, pairs, 20)
        assert len(kept) * 10 + 120 <= 300
        assert list(kept) == pairs[len(pairs) - len(kept) :]
        starts.append(kept[0])
    moves = sum(a != b for a, b in itertools.pairwise(starts))
    assert 0 < moves <= 200 / 9 + 1
    assert list(window.fit(100, [], 20)) == []
    assert list(window.fit(100, [(1,) * 500], 20)) == []
