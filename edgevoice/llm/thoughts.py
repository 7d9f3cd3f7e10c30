"""Hidden thoughts of reasoning models: `<think>…</think>` is never spoken."""

from __future__ import annotations

from collections.abc import Sequence

_BEGIN, _END = "<think>", "</think>"


def partial_match(text: str, markers: Sequence[str]) -> int:
    """Length of the longest tail of `text` that may be the beginning of one of `markers`."""
    for size in range(min(max(map(len, markers), default=0), len(text)), 0, -1):
        if any(m.startswith(text[-size:]) for m in markers):
            return size
    return 0


def opens_thought(prompt: str) -> bool:
    """Whether the prompt ends in an open thought, as the templates of reasoning models do."""
    return prompt.rstrip().endswith(_BEGIN)


class ThoughtFilter:
    """Takes text in any pieces and gives back what is not inside a thought.

    `thinking`: the text begins inside one, because the prompt has opened it (see `opens_thought`).
    """

    def __init__(self, thinking: bool = False) -> None:
        self._waiting = ""
        self._thinking = thinking

    def add(self, text: str) -> str:
        """The next visible text."""
        self._waiting += text
        visible = ""
        while True:
            marker = _END if self._thinking else _BEGIN
            before, found, after = self._waiting.partition(marker)
            if not found:
                break
            visible += "" if self._thinking else before
            self._waiting = after
            self._thinking = not self._thinking
        hold = partial_match(self._waiting, (marker,))
        safe, self._waiting = self._waiting[: len(self._waiting) - hold], self._waiting[len(self._waiting) - hold :]
        return visible if self._thinking else visible + safe

    def finish(self) -> str:
        """The rest, once no more text comes."""
        rest, self._waiting = self._waiting, ""
        return "" if self._thinking else rest
