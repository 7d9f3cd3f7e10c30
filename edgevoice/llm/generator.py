"""The generator contract: what every language model looks like from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

Cancelled = Callable[[], bool]
"""Asked between units of work; True means: stop, nobody wants the rest."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One pair of the conversation so far: what the user said and what the assistant was *heard* to say."""

    user: str
    assistant: str
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of the answer."""

    text: str
    """The text this token adds; may be empty while a multi-byte character is incomplete."""
    index: int


@dataclass(frozen=True, slots=True)
class PromptUse:
    """What the last prefill or generate cost."""

    tokens: int
    """Length of the whole prompt in tokens."""
    evaluated: int
    """Tokens computed anew."""
    reused: int
    """Tokens found in the KV cache."""


class Generator(Protocol):
    """A streaming language model. Not thread-safe: one thread uses it.

    The caller always passes the whole history; the generator finds by itself how much of its KV cache still fits.
    That makes a rollback (barge-in, withdrawn speculation) nothing but a call with another history.
    """

    name: str

    def load(self) -> None:
        """Read the model from disk. Raises ModelMissingError or ModelDataError."""

    def warm(self) -> None:
        """Prefill the fixed prompt and generate one token, so that the first turn is as fast as later ones."""

    def prefill(self, history: Sequence[Exchange], words: str, cancelled: Cancelled = ...) -> PromptUse:
        """Compute the KV cache up to the user's words so far (`words` may be a prefix of what will be said)."""

    def completeness(self) -> float:
        """Probability in [0, 1] that the words of the last `prefill` end an utterance; costs no evaluation."""

    def generate(
        self, history: Sequence[Exchange], words: str, cancelled: Cancelled = ..., max_tokens: int | None = None
    ) -> Iterator[Token]:
        """Stream the answer to `words`. Stop strings are handled inside and never yielded."""

    def last_use(self) -> PromptUse:
        """What the last `prefill` or `generate` evaluated and reused."""

    def rollback(self, history: Sequence[Exchange]) -> None:
        """Cut the KV cache back to what was really said and heard."""

    def close(self) -> None:
        """Release the model's memory."""
