"""The ladder only ever takes work away."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from edgevoice import config
from edgevoice.runtime.ladder import TIERS, ladder
from edgevoice.settings import Settings
from edgevoice.tts.compose import LONG

settings = st.builds(
    lambda chunk, second, tokens, speculate, llm, tier: config.replace(
        Settings(),
        asr={"chunk_ms": chunk, "second_pass": second},
        llm={"max_tokens": tokens, "backend": llm},
        dialog={"speculate": speculate},
        tts={"tier": tier},
    ),
    st.sampled_from((160, 320, 640)),
    st.sampled_from(("whisper", "off")),
    st.integers(1, 400),
    st.booleans(),
    st.sampled_from(("llama", "template")),
    st.sampled_from(TIERS),
)


@given(settings)
def test_each_level_asks_for_no_more_work_than_the_one_above(wanted: Settings) -> None:
    levels = ladder(wanted)
    for above, below in itertools.pairwise(levels):
        assert below.asr_chunk_ms >= above.asr_chunk_ms
        assert below.second_pass <= above.second_pass
        assert below.attempts <= above.attempts
        assert below.llm_max_tokens <= above.llm_max_tokens
        assert below.clause_tokens <= above.clause_tokens
        assert TIERS.index(below.voice_tier) >= TIERS.index(above.voice_tier)


@given(settings)
def test_the_top_is_what_the_settings_ask_for(wanted: Settings) -> None:
    top = ladder(wanted)[0]
    assert top.clause_tokens == LONG
    assert top.asr_chunk_ms == wanted.asr.chunk_ms
    assert top.second_pass == (wanted.asr.second_pass != "off")
    assert top.llm_max_tokens == (wanted.llm.max_tokens if wanted.llm.backend == "llama" else 0)


def test_answers_are_begun_early_as_long_as_the_model_answers() -> None:
    for level in ladder(Settings()):
        assert bool(level.attempts) == bool(level.llm_max_tokens)


def test_the_bottom_needs_no_language_model() -> None:
    assert ladder(Settings())[-1].llm_max_tokens == 0
