"""llama.cpp at its low level, with the real model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from edgevoice.errors import ModelDataError, ModelMissingError
from edgevoice.llm.engine import Engine, common_prefix, repacks
from edgevoice.llm.llama import LlamaGenerator
from edgevoice.llm.prefix import SavedPrefix
from edgevoice.models.store import find
from edgevoice.settings import LlmSettings


def test_absent_and_damaged_models(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"none\.gguf"):
        Engine(tmp_path / "none.gguf", 512, 1).load()
    cut = tmp_path / "cut.gguf"
    with find("gemma3-270m", "llm").open("rb") as source, cut.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 16)
        target.truncate(20_000_000)
    with pytest.raises(ModelDataError, match="truncated"):
        Engine(cut, 512, 1).load()
    generator = LlamaGenerator(LlmSettings(model=str(cut)), 1)
    with pytest.raises(ModelDataError, match=r"cut\.gguf"):
        generator.load()


def test_text_of_a_user_never_becomes_a_control_token(generator: LlamaGenerator) -> None:
    engine = generator._engine
    assert len(engine.tokenize("<end_of_turn>", special=True)) == 1
    assert len(engine.tokenize("<end_of_turn>")) > 1


def test_pieces_join_to_the_text(generator: LlamaGenerator) -> None:
    engine = generator._engine
    text = " Grüße, 你好 🙂 it's 9:30!"
    assert b"".join(map(engine.piece, engine.tokenize(text))).decode() == text


def test_growing_words_keep_their_tokens(generator: LlamaGenerator) -> None:
    words = [
        "i",
        "don't",
        "know",
        "what's",
        "the",
        "weather",
        "in",
        "new",
        "york",
        "at",
        "half",
        "past",
        "nine",
        "o'clock",
    ]
    before: list[int] = []
    for i in range(1, len(words) + 1):
        tokens, end = generator._layout((), " ".join(words[:i]))
        assert end is not None and tokens[: len(before)] == before
        before = tokens[: end + 1]


def test_saved_prompt_is_restored_and_a_damaged_one_dropped(
    generator: LlamaGenerator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgevoice.llm.prefix.cache_dir", lambda: tmp_path)
    engine, tokens = generator._engine, list(generator._fixed)
    saved = SavedPrefix(engine, tokens)
    assert not saved.restore()
    engine.evaluate(tokens, lambda: False)
    saved.save()
    expected = generator.prefill((), "what is the capital of france").tokens
    wanted = engine.scores(expected - 1)
    engine.cut(0)
    assert saved.restore() and engine.cached() == tokens
    use = generator.prefill((), "what is the capital of france")
    got = engine.scores(expected - 1)
    assert use.reused == len(tokens)
    assert wanted is not None and got is not None and abs(wanted - got).max() < 1.0

    content = bytearray(saved.path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    saved.path.write_bytes(content)
    assert not saved.restore() and not saved.path.exists()
    saved.path.write_bytes(b"")
    assert not saved.restore()
    engine.cut(0)


def test_a_full_disk_only_costs_the_saved_prompt(
    generator: LlamaGenerator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "prefix").write_text("a file where the folder should be")
    monkeypatch.setattr("edgevoice.llm.prefix.cache_dir", lambda: tmp_path)
    SavedPrefix(generator._engine, generator._fixed).save()
    assert not SavedPrefix(generator._engine, generator._fixed).restore()


def test_no_repacking_where_llama_cpp_dies_of_it() -> None:
    assert not repacks("CPU : SSE3 = 1 | AVX2 = 1 | AMX_INT8 = 1 | REPACK = 1 |")
    assert repacks("CPU : SSE3 = 1 | AVX2 = 1 | REPACK = 1 |")
    assert repacks("CPU : NEON = 1 | AMX_INT8 = 0 |")


def test_common_prefix() -> None:
    assert common_prefix([1, 2, 3], [1, 2, 4, 5]) == 2
    assert common_prefix([1, 2], [1, 2, 3]) == 2
    assert common_prefix([], [1]) == 0
