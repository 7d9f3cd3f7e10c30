"""An answer that begins like an earlier one does not become it."""

from __future__ import annotations

from edgevoice.llm.llama import REPEATED, followers


def test_only_what_followed_a_shared_run_is_barred() -> None:
    earlier = [[1, 2, 3, 4, 5, 6], [9, 2, 3, 4, 5, 7], [1, 2]]
    found = followers(earlier)
    assert REPEATED == 4
    assert found[1, 2, 3, 4] == {5} and found[2, 3, 4, 5] == {6, 7}
    assert (1, 2) not in found and (3, 4, 5, 6) not in found
