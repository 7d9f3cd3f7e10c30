"""The real language model, loaded once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from edgevoice.llm.llama import LlamaGenerator
from edgevoice.settings import LlmSettings


@pytest.fixture(scope="session")
def loaded() -> Iterator[LlamaGenerator]:
    generator = LlamaGenerator(LlmSettings(prefix_cache=False), threads=2)
    generator.load()
    generator.warm()
    yield generator
    generator.close()


@pytest.fixture
def generator(loaded: LlamaGenerator) -> LlamaGenerator:
    loaded.rollback(())
    return loaded
