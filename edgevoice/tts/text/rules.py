"""What a normalising rule is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

Match = re.Match[str]


class Rule(NamedTuple):
    """Replace every match of `pattern`. A rule whose match turns out to mean nothing returns the match unchanged."""

    pattern: re.Pattern[str]
    replace: Callable[[Match], str]
    needs: str = ""
    """The rule is tried only on text that holds one of these characters; empty: always."""


def rule(pattern: str, replace: Callable[[Match], str] | str, needs: str = "", flags: int = 0) -> Rule:
    """Make a rule; a string is a replacement template as in `re.sub`."""
    compiled = re.compile(pattern, flags)
    if isinstance(replace, str):
        template = replace
        return Rule(compiled, lambda match: match.expand(template), needs)
    return Rule(compiled, replace, needs)


def closing_stop(match: Match) -> str:
    """An abbreviation's full stop at the end of the clause also ends the sentence: "." there, else nothing."""
    ends = match.group().endswith(".") and not match.string[match.end() :].strip(" \n\"')”")
    return "." if ends else ""
