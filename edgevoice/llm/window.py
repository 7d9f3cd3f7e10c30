"""Which exchanges of the conversation fit into the context."""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[int, ...]
"""Tokens of one exchange."""


class Window:
    """Drops the oldest exchanges in blocks.

    Dropping one exchange every turn would move all that follows and make the whole conversation be evaluated again,
    every turn. So when the context is full, exchanges go until half of the room is free, and the new start is kept for
    the turns that follow. `room` is the number of tokens a prompt may have.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._first: Pair | None = None
        """The oldest exchange kept at the last call."""

    def fit(self, fixed: int, pairs: Sequence[Pair], rest: int) -> Sequence[Pair]:
        """The newest `pairs` that fit beside `fixed` tokens before them and `rest` tokens after them."""
        start = pairs.index(self._first) if self._first in pairs else 0
        free = self.room - fixed - rest
        if sum(map(len, pairs[start:])) > free:
            start = len(pairs)
            used = 0
            while start > 0 and used + len(pairs[start - 1]) <= free // 2:
                start -= 1
                used += len(pairs[start])
        kept = pairs[start:]
        self._first = kept[0] if kept else None
        return kept
