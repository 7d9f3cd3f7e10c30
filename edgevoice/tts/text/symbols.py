"""Signs that are words (`#`, `&`, `@`, `C#`), letters with digits, and what is left at the end."""

# ruff: noqa: E501 - tables of patterns, one entry a line

from __future__ import annotations

import re
import unicodedata

from edgevoice.tts.text.numbers import NUMBER, digits, number, pairs, whole
from edgevoice.tts.text.rules import Match, rule

_GREEK = {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "θ": "theta", "λ": "lambda", "μ": "mu", "µ": "mu",
          "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "ω": "omega", "Δ": "delta", "Σ": "sigma", "Ω": "omega",
          "η": "eta", "χ": "chi", "ψ": "psi", "Φ": "phi", "Ψ": "psi", "Γ": "gamma", "Λ": "lambda", "Θ": "theta", "Π": "pi", "ν": "nu", "ξ": "xi", "κ": "kappa", "ζ": "zeta"}  # fmt: skip
_SIGNS = {"∞": "infinity", "≈": "about", "±": "plus or minus", "×": "times", "÷": "divided by", "≤": "is less than or equal to",
          "≥": "is greater than or equal to", "≠": "is not equal to", "→": "to", "⇒": "implies", "←": "from", "↔": "and", "∑": "the sum of",
          "∫": "the integral of", "√": "the square root of", "∈": "in", "∂": "partial", "§": "section", "¶": "paragraph", "©": "copyright",
          "€": "euros", "£": "pounds", "¥": "yen", "$": "dollars", "°": "degrees", "%": "percent", "&": "and", "@": "at", "‰": "per mille",
          "≡": "is equivalent to", "∝": "is proportional to", "∪": "union", "∩": "intersection", "∀": "for all", "∃": "there exists", "✓": "check", "✕": "times", "✖": "times", "¢": "cents",
          "+": "plus", "=": "equals", "<": "less than", ">": "greater than"}  # fmt: skip
_DIGITS_AFTER = r"(?P<cue>\b(?:[Cc]ode|PIN|pin|[Pp]assword|[Zz]ip(?: code)?|ZIP(?: code)?|[Ee]xtension|[Cc]ombination|[Aa]ccount(?: number)?|[Ss]erial(?: number)?)(?: is| was|:)? )"
_PAIRED = r"(?P<cue>\b(?:[Rr]oom|[Ff]light|[Hh]ighway|[Ii]nterstate|[Rr]oute|Boeing|Airbus|Area|[Ss]uite|[Aa]partment|[Ee]rror|HTTP) (?:[A-Z]{2} ?)?)"


def _paired(match: Match) -> str:
    value = match["n"]
    return match["cue"] + (pairs(int(value)) if value[0] != "0" and len(value) < 5 else digits(value))


def _hundreds_apart(match: Match) -> str:
    """Letters with three digits are read in pairs (`A320`), with more digits one by one."""
    text = match["n"]
    return pairs(int(text)) if len(text) == 3 and text[0] != "0" else whole(text) if len(text) < 3 else digits(text)


def _initialism(match: Match) -> str:
    left, right = match["left"], match["right"]
    spell = " ".join
    return f"{spell(left) if len(left) < 3 else left} and {spell(right) if len(right) < 3 else right}"


def _offset(match: Match) -> str:
    return f"{match['zone']} {'plus' if match['sign'] == '+' else 'minus'} {match['hours']}"


_BOOKS = (
    "Genesis|Exodus|Leviticus|Numbers|Deuteronomy|Joshua|Judges|Ruth|Samuel|Kings|Chronicles|Ezra|Nehemiah|Esther|Job|Psalms?|Proverbs"
    "|Ecclesiastes|Isaiah|Jeremiah|Lamentations|Ezekiel|Daniel|Hosea|Joel|Amos|Micah|Matthew|Mark|Luke|John|Acts|Romans|Corinthians"
    "|Galatians|Ephesians|Philippians|Colossians|Thessalonians|Timothy|Titus|Hebrews|James|Peter|Jude|Revelation|Surah|Quran"
)


def _verse(match: Match) -> str:
    """A verse of ten or more is said like a time of day ("John three sixteen"), a lower one by its name."""
    verse = match["verse"]
    last = f" to {whole(match['last'])}" if match["last"] else ""
    return f"{match['book']} {whole(match['chapter'])} {'' if len(verse) > 1 else 'verse '}{whole(verse)}{last}"


SIGNS = (
    rule(r"\b(?P<book>" + _BOOKS + r") (?P<chapter>\d{1,3}):(?P<verse>\d{1,3})(?:[-–](?P<last>\d{1,3}))?(?![\w:]| ?[AaPp]\.?[Mm])", _verse, ":"),
    rule(r"(?<=\b[Ww]e )<3(?!\S)|(?<=\b(?:I|U) )<3(?!\S)|(?<=\b(?:[Yy]ou|hey) )<3(?= \w)", "love", "<"),
    rule(r"(?<=[a-z!.?] )(?<!\b[a-z] )<3(?=\W*\Z)", "heart", "<"),
    rule(r"(?<![\w)\]])~ ?(?=[\d$£€])", "about ", "~"),
    rule(r"(?<![\w.,$])(?P<n>1,?000|100|10)s(?= of\b)", lambda m: {"10": "tens", "100": "hundreds"}.get(m["n"], "thousands"), "s"),
    rule(r"\b401\(?k\)?", "four oh one k", "k"),
    rule(r"(?<!\w)(?P<letter>[A-GJ])#(?!\w)", r"\g<letter> sharp", "#"),
    rule(r"(?<!\w)(?P<letter>[A-G])♯", r"\g<letter> sharp", "♯"),
    rule(r"(?<!\w)(?P<letter>[A-G])♭", r"\g<letter> flat", "♭"),
    rule(r"(?<!\w)(?P<letter>[A-Za-z]|Notepad)\+\+(?!\w)", r"\g<letter> plus plus", "+"),
    rule(r"(?<!\w)\.NET\b", "dot net", "."),
    rule(r"(?<!\w)[#№] ?(?=\d)", "number ", "#№"),
    rule(r"(?<!\w)#(?=[A-Za-z])", "hashtag ", "#"),
    rule(r"\b(?P<left>[A-Z]{1,4})&(?P<right>[A-Z]{1,4})\b", _initialism, "&"),
    rule(r"(?<![\w@])@(?=\w)", "at ", "@"),
    rule(r"\b(?P<zone>UTC|GMT) ?(?P<sign>[-+−–]) ?0?(?P<hours>\d{1,2})(?::00)?(?![\d.])", _offset, "-+−–"),
    rule(r"\b24/7\b", "twenty-four seven", "/"),
    rule(r"(?<![\w/])9/11(?![\w/])", "nine eleven", "/"),
    rule(_DIGITS_AFTER + r"(?P<n>\d[\d\-]{2,11})(?![\w,.]\d|\w)", lambda m: m["cue"] + digits(m["n"]), "codeCPZipEA"),
    rule(r"(?P<cue>\b[A-Z]{2} )(?P<n>\d{5})(?:-(?P<m>\d{4}))?\b", lambda m: m["cue"] + digits(m["n"]) + (" " + digits(m["m"]) if m["m"] else "")),
    rule(_PAIRED + r"(?P<n>\d{3,4})(?![\w,]|\.\d)", _paired),
)  # fmt: skip
"""Signs and digits that a word before them explains; tried before numbers are read."""

NUMBERS = (
    rule(r"(?m)^(?P<n>\d{1,3})[.)] (?=\S)", lambda m: number(m["n"]) + ", "),
    rule(r"\b(?P<n>\d{1,3}(?:\.\d{3})+,\d{1,2})(?!\d)", lambda m: number(m["n"]), ","),
    rule(r"(?<![\w.,])(?P<n>\d{1,3},\d{1,2})(?![\w,]|\.\d)", lambda m: number(m["n"].replace(",", ".")), ","),
    rule(r"(?<![\w)\]])[-−–](?=" + NUMBER.replace("(?<![\\w.])", "") + ")", "minus ", "-−–"),
    rule(r"(?<![\w)])\+(?=\d)", "plus ", "+"),
    rule(r"(?<=\d)\+(?!\w)", " plus", "+"),
    rule(r"(?<=[^\W\d_])-?(?P<n>\d+)(?=[A-Za-z]|\b)", lambda m: " " + _hundreds_apart(m) + " "),
    rule(r"(?<![\w.])(?P<n>" + NUMBER + r")(?P<letters>[A-Za-z]+)", lambda m: number(m["n"]) + " " + m["letters"]),
    rule(NUMBER, lambda m: " " * m.string[m.start() - 1 : m.start()].isalpha() + number(m.group())
         + " " * m.string[m.end() : m.end() + 1].isalpha()),
    rule(r"\d+", lambda m: f" {digits(m.group())} "),
)  # fmt: skip
"""Numbers that nothing before has explained; afterwards no digit is left."""


def _sign_word(match: Match) -> str:
    sign = match.group()
    return f" {_SIGNS.get(sign) or _GREEK[sign]} "


def _slash(match: Match) -> str:
    return " "


REST = (
    rule("[" + re.escape("".join(_SIGNS)) + "]", _sign_word, "".join(_SIGNS)),
    rule(r"(?<![α-ωΑ-Ω])[" + "".join(_GREEK) + r"](?![α-ωΑ-Ω])", _sign_word, "".join(_GREEK)),
    rule(r"(?<=\w)/(?=\w)", _slash, "/"),
    rule(r"(?<=\w)_+(?=\w)", " ", "_"),
    rule(r"[*_#|\\^`~<>{}\[\]•™®]+", " ", "*_#|\\^`~<>{}[]•™®"),
    rule(r"\s*/\s*", " ", "/"),
    rule(r"[ \t]{2,}", " ", " "),
    rule(r" +(?=[.,;:!?](?!\w))", "", ".,;:!?"),
    rule(r"(?<=[(\[\"“]) +| +(?=[)\]”])", "", " "),
)  # fmt: skip
"""Signs nobody explained are named or dropped, white space is tidied."""

_FIX = str.maketrans(
    {
        "’": "'",
        "‘": "'",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
        "\u00ad": None,
        "\u200b": None,
        "\ufeff": None,
        "\u2011": "-",
        "\u2010": "-",
        "\x00": None,
    }
)


def tidy(text: str) -> str:
    """One form for quotes, spaces and digits of other scripts, so that the rules need to know only one."""
    text = text.translate(_FIX)
    if text.isascii():
        return text
    return "".join(_character(ch) for ch in text)


def _character(ch: str) -> str:
    category = unicodedata.category(ch) if ch > "\x7f" else ""
    if category == "Nd":
        return str(unicodedata.digit(ch))
    if category == "Cs":
        return ""
    return {"₀": "0", "₁": "1", "₂": "2", "₃": "3", "₄": "4", "₅": "5", "₆": "6", "₇": "7", "₈": "8", "₉": "9"}.get(
        ch, ch
    )
