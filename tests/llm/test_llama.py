"""The real model: reuse of its cache, cancelling, context overflow, memory, and what it says."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import psutil
import pytest

from edgevoice.errors import SettingsError
from edgevoice.llm.engine import BATCH
from edgevoice.llm.generator import Exchange, PromptUse
from edgevoice.llm.llama import LlamaGenerator
from edgevoice.settings import LlmSettings


def say(generator: LlamaGenerator, words: str, history: tuple[Exchange, ...] = (), **options: int) -> str:
    return "".join(t.text for t in generator.generate(history, words, **options))


def test_e2_only_what_is_new_is_evaluated(generator: LlamaGenerator) -> None:
    questions = [
        "what is the capital of france",
        "how many people live there",
        "why is the sky blue",
        "tell me about dogs",
    ]
    history: tuple[Exchange, ...] = ()
    before = generator.prefix_tokens
    for question in questions:
        answer = say(generator, question, history)
        use = generator.last_use()
        assert use.evaluated + use.reused == use.tokens
        assert use.evaluated <= (use.tokens - before) + 32
        assert use.reused >= generator.prefix_tokens
        before = use.tokens
        history = (*history, Exchange(question, answer))


def test_e2_probe_warns_when_the_cache_cannot_be_cut(
    generator: LlamaGenerator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    assert generator.check_reuse() > 0.9
    assert "reused" not in caplog.text
    engine = generator._engine
    cut = engine.cut
    # The fault of a sliding-window cache that was not kept in full: part of a sequence cannot be removed.
    monkeypatch.setattr(engine, "cut", lambda length, sequence=0: cut(0, sequence))
    assert generator.check_reuse() < 0.9
    assert "% of the prompt is reused" in caplog.text


def test_words_heard_so_far_are_evaluated_once(generator: LlamaGenerator) -> None:
    words = ["what", "is", "the", "largest", "city", "in", "the", "north", "of", "spain"]
    generator.prefill((), " ".join(words[:1]))
    for i in range(2, len(words) + 1):
        use = generator.prefill((), " ".join(words[:i]))
        assert use.evaluated <= 8, "one word, the closing of the prompt, and the last token of before"
    assert generator.prefill((), " ".join(words)).evaluated == 0
    first = next(iter(generator.generate((), " ".join(words))))
    assert generator.last_use().evaluated == 0 and first.index == 0


def test_reuse_gives_the_same_scores_as_a_fresh_start(generator: LlamaGenerator) -> None:
    words = "what is the capital of france"
    for part in ("what is", "what is the color of blood", "what is the capital"):
        generator.prefill((), part)
    position = generator.prefill((), words).tokens - 1
    engine = generator._engine
    reused = engine.scores(position)
    engine.cut(0)
    generator.prefill((), words)
    fresh = engine.scores(position)
    assert reused is not None and fresh is not None
    assert reused.argmax() == fresh.argmax()
    assert abs(reused - fresh).max() < 1.0


def test_withdrawn_words_leave_no_trace(generator: LlamaGenerator) -> None:
    plain = say(generator, "what is the capital of spain")
    say(generator, "what is the capital of spain in the year nineteen ten")
    assert say(generator, "what is the capital of spain") == plain


def test_complete_words_score_higher_than_incomplete(generator: LlamaGenerator) -> None:
    pairs = [
        ("what is the capital of france", "what is the capital of"),
        ("how do i boil an egg", "how do i boil an"),
        ("set an alarm for seven in the morning", "set an alarm for"),
        ("what is the weather like today", "what is the"),
        ("i want to listen to some music", "i want to"),
        ("tell me about elephants", "tell me about"),
    ]
    scores = []
    for whole, part in pairs:
        generator.prefill((), whole)
        complete = generator.completeness()
        generator.prefill((), part)
        scores.append((complete, generator.completeness()))
    assert all(0.0 <= p <= 1.0 for pair in scores for p in pair)
    assert min(c for c, _ in scores) > max(i for _, i in scores)
    generator.rollback(())
    assert generator.completeness() == 0.0, "no words, nothing complete"


def test_answers_are_one_plain_sentence(generator: LlamaGenerator) -> None:
    answers = {
        q: say(generator, q)
        for q in (
            "what is the capital of france",
            "what color is the sky",
            "what do bees make",
            "explain quantum physics in detail with a list",
        )
    }
    assert "Paris" in answers["what is the capital of france"]
    assert "blue" in answers["what color is the sky"].lower()
    assert "honey" in answers["what do bees make"].lower()
    for answer in answers.values():
        assert answer and answer == answer.strip()
        assert not re.search(r"user:|assistant:|[*_#`\n]", answer.lower())
        assert len(answer.split()) <= 60


def test_cancel_stops_between_tokens(generator: LlamaGenerator) -> None:
    seen = 0

    def cancelled() -> bool:
        return seen >= 2

    for _ in generator.generate((), "tell me a long story about a king", cancelled):
        seen += 1
    assert seen == 2
    assert "Madrid" in say(generator, "what is the capital of spain")


def test_cancel_stops_a_long_prefill_between_batches(generator: LlamaGenerator) -> None:
    words = " ".join(f"number {i}" for i in range(150))
    calls = iter([False, False, True])
    use = generator.prefill((), words, lambda: next(calls))
    assert use.evaluated == 2 * BATCH < use.tokens
    rest = generator.prefill((), words)
    assert rest.reused >= generator.prefix_tokens + BATCH, "what was done is kept"
    assert list(generator.generate((), "another thing", lambda: True)) == []


def test_rollback_prepares_the_next_turn(generator: LlamaGenerator) -> None:
    history = (Exchange("what is the capital of france", "The capital of", interrupted=True),)
    generator.rollback(history)
    generator.prefill(history, "how")
    assert generator.last_use().evaluated <= 8


def _rss_mb() -> float:
    return psutil.Process().memory_info().rss / 1e6


def test_e4_memory_is_flat_over_turns(generator: LlamaGenerator) -> None:
    turns = 40
    for i in range(10):
        say(generator, f"what is {i}", max_tokens=1)
    before = _rss_mb()
    for i in range(turns):
        say(generator, f"where is {i}", max_tokens=1)
    assert (_rss_mb() - before) / turns < 0.1


@pytest.fixture(scope="module")
def small() -> Iterator[LlamaGenerator]:
    generator = LlamaGenerator(LlmSettings(context=512, max_tokens=8, prefix_cache=False), threads=2)
    generator.load()
    generator.evaluate_prefix()
    yield generator
    generator.close()


def test_e1_two_hundred_turns_in_a_small_context(small: LlamaGenerator) -> None:
    history: tuple[Exchange, ...] = ()
    before, moved = small.prefix_tokens, 0
    for i in range(200):
        words = f"number {i}"
        answer = say(small, words, history, max_tokens=1)
        use: PromptUse = small.last_use()
        assert use.tokens <= 512 and use.reused >= small.prefix_tokens
        moved += use.tokens < before
        before = use.tokens
        history = (*history, Exchange(words, answer))
    assert 3 < moved < 200 / 3, "exchanges are dropped in blocks, not one each turn"


def test_words_longer_than_the_context_are_cut(small: LlamaGenerator) -> None:
    assert say(small, "word " * 5000, max_tokens=1) is not None
    assert 400 < small.last_use().tokens <= 512


def test_e3_swapping_models_gives_memory_back() -> None:
    seen = []
    for _ in range(5):
        generator = LlamaGenerator(LlmSettings(context=512, prefix_cache=False), threads=2)
        generator.load()
        generator._engine.evaluate([2, 3, 4], lambda: False)
        seen.append(_rss_mb())
        generator.close()
    assert seen[-1] <= seen[0] * 1.05


def test_e5_the_cost_of_the_prompt_is_told(generator: LlamaGenerator, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "edgevoice.llm")
    generator._engine.cut(0)
    generator.warm()
    assert re.search(rf"fixed prompt: {generator.prefix_tokens} tokens evaluated in \d+\.\d+ s", caplog.text)


def test_no_words_are_logged(generator: LlamaGenerator, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    answer = say(generator, "what is the capital of portugal")
    assert answer and "portugal" not in caplog.text.lower() and "lisbon" not in caplog.text.lower()


def test_a_context_too_small_for_the_prompt_is_named() -> None:
    generator = LlamaGenerator(LlmSettings(context=128), threads=1)
    generator.close()
    with pytest.raises(SettingsError, match=r"llm\.context.*too few.*at least \d+"):
        generator.load()


def test_a_temperature_still_answers() -> None:
    generator = LlamaGenerator(LlmSettings(context=512, temperature=0.7, prefix_cache=False), threads=2)
    generator.load()
    assert say(generator, "what is the capital of italy", max_tokens=8)
    generator.close()
    generator.close()
