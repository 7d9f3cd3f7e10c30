"""The ladder: what each quality level of the governor means for each stage."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgevoice.settings import Settings

TIERS = ("fine", "standard", "light")
"""Vocoders of a voice, by falling amount of work."""
CLAUSE_TOKENS = (24, 10, 5)
"""Tokens of a clause without punctuation on the upper levels."""
CHUNKS_MS = (160, 320, 640)
"""Chunks the streaming recogniser exists in; longer ones cost less per second of sound and answer later."""


@dataclass(frozen=True)
class Quality:
    """Named settings of one level. A stage reads only what is its own."""

    name: str
    asr_chunk_ms: int
    """Milliseconds the streaming recogniser takes at a time."""
    second_pass: bool
    """Read the finished segment again with the slower recogniser."""
    attempts: int
    """Answers that may be begun in one turn before the user has certainly finished. Each wrong one is wasted work."""
    llm_max_tokens: int
    """Tokens of one answer; 0: fixed sentences and intents only."""
    clause_tokens: int
    """Tokens after which a clause without any punctuation is spoken: shorter ones are heard sooner."""
    voice_tier: str
    """`fine`, `standard` or `light`: how much work the voice may be."""


def ladder(settings: Settings) -> tuple[Quality, ...]:
    """The levels from full quality down. Nothing on it asks for more than `settings` does."""
    tokens, chunk = settings.llm.max_tokens, settings.asr.chunk_ms
    templates_only = settings.llm.backend == "template"
    full = Quality(
        name="full",
        asr_chunk_ms=chunk,
        second_pass=settings.asr.second_pass != "off",
        attempts=settings.endpoint.max_attempts if settings.dialog.speculate else 0,
        llm_max_tokens=0 if templates_only else tokens,
        clause_tokens=CLAUSE_TOKENS[0],
        voice_tier=settings.tts.tier,
    )
    brisk = replace(
        full,
        name="brisk",
        second_pass=False,
        llm_max_tokens=min(full.llm_max_tokens, 30),
        clause_tokens=CLAUSE_TOKENS[1],
        voice_tier=_no_finer(full.voice_tier, "standard"),
    )
    lean = replace(
        brisk,
        name="lean",
        asr_chunk_ms=_next_chunk(chunk),
        attempts=min(full.attempts, 1),
        llm_max_tokens=min(full.llm_max_tokens, 15),
        clause_tokens=CLAUSE_TOKENS[2],
        voice_tier="light",
    )
    bare = replace(lean, name="bare", asr_chunk_ms=max(chunk, CHUNKS_MS[-1]), attempts=0, llm_max_tokens=0)
    return (full, brisk, lean, bare)


def _no_finer(tier: str, least: str) -> str:
    return max(tier, least, key=TIERS.index)


def _next_chunk(chunk_ms: int) -> int:
    return next((c for c in CHUNKS_MS if c > chunk_ms), chunk_ms)
