"""The generator of last resort: no model, one fixed sentence. The governor falls back to it on an overloaded board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgevoice.llm.generator import Cancelled, Exchange, PromptUse, Token
from edgevoice.llm.phrases import phrase


class TemplateGenerator:
    """Answers everything with the same sentence, at no cost. See `Generator` for the contract."""

    name = "template"

    def __init__(self, language: str = "en") -> None:
        self._sentence = phrase("reduced", language)

    def load(self) -> None:
        """Nothing to load."""

    def warm(self) -> None:
        """Nothing to warm."""

    def prefill(self, history: Sequence[Exchange], words: str, cancelled: Cancelled = lambda: False) -> PromptUse:
        """Nothing to evaluate."""
        return self.last_use()

    def completeness(self) -> float:
        """Unknown: the endpoint then rests on silence alone."""
        return 0.5

    def generate(
        self,
        history: Sequence[Exchange],
        words: str,
        cancelled: Cancelled = lambda: False,
        max_tokens: int | None = None,
    ) -> Iterator[Token]:
        """The sentence, as one token."""
        if not cancelled():
            yield Token(self._sentence, 0)

    def last_use(self) -> PromptUse:
        """Always nothing."""
        return PromptUse(tokens=0, evaluated=0, reused=0)

    def rollback(self, history: Sequence[Exchange]) -> None:
        """Nothing to cut."""

    def close(self) -> None:
        """Nothing to release."""
