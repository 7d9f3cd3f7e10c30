"""LaTeX as language models write it: the formula without its markup, its commands as words or signs."""

from __future__ import annotations

from edgevoice.tts.text.rules import Match, rule

_COMMANDS = {"times": "times", "cdot": "times", "div": "÷", "pm": "±", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥",
             "neq": "≠", "ne": "≠", "approx": "≈", "infty": "∞", "rightarrow": "→"}  # fmt: skip
_BRACES = r"\{(?P<a>[^{}]{0,200})\}"
_FRACTION = rule(r"\\[dt]?frac" + _BRACES + r"\{(?P<b>[^{}]{0,200})\}", r" \g<a> over \g<b> ", "\\")


def _command(match: Match) -> str:
    return f" {_COMMANDS[match['name']]} "


RULES = (
    rule(r"\$\$", "", "$"),
    rule(r"(?<![\w$])\$(?P<formula>(?![\d\s])[^$\n]{1,200}(?<!\s)|\d(?=[^$\n]{0,200}[=\\^])[^$\n]{1,200}(?<!\s))\$(?![\w$])",
         r"\g<formula>", "$"),
    rule(r"(?<![\w$])\$(?=[A-Za-z\\])|(?<=[a-z)}])\$(?!\w)", "", "$"),  # half of a formula, cut at a comma
    rule(r"\\(?:text|mathrm|mathbf|mathit|textbf|textit|operatorname)" + _BRACES, r"\g<a>", "\\"),
    rule(r"\\sqrt" + _BRACES, r" square root of \g<a> ", "\\"),
    _FRACTION,
    _FRACTION,  # one in another
    rule(r"\\(?:boxed|fbox)" + _BRACES, r"\g<a>", "\\"),
    rule(r"\\[()\[\]]", " ", "\\"),
    rule(r"\^\{?\\circ\b\}?", "°", "\\"),
    rule(r"(?<!:)\\(?:left|right)(?![A-Za-z])", "", "\\"),
    rule(r"(?<!:) ?\\(?P<name>" + "|".join(_COMMANDS) + r")(?![A-Za-z]) ?", _command, "\\"),
)  # fmt: skip
"""Tried first: a dollar sign around a formula is no money, and no backslash in it a path."""
