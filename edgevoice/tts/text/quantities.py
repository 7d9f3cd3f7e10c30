"""Money, measures, percentages, fractions, ranges, arithmetic, ordinals: numbers that mean something together."""

# ruff: noqa: E501 - tables of patterns, one entry a line

from __future__ import annotations

import re

from edgevoice.tts.text.numbers import NUMBER, cardinal, digits, fraction, is_one, number, ordinal, pairs, whole
from edgevoice.tts.text.rules import Match, rule
from edgevoice.tts.text.units import CURRENCIES, PER, RATES, SCALES, UNITS

_DASH = r"\s?[-–—−]\s?"
_N = NUMBER.replace("(?<![\\w.])", "")  # rules below say for themselves what may stand before


def _alternatives(names: tuple[str, ...] | list[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))


# --- money -------------------------------------------------------------------------------------------------------

_AMOUNT = r"(?:\d{1,3}(?:\.\d{3})+,\d{1,2}(?![\d,])|\d{1,3}(?:\.\d{3}){2,}|\d+,\d{1,2}(?![\d,])|" + _N + ")"
"""An amount as written in English or, with points and comma the other way round, on the Continent."""
_EUROS = ("€", "EUR")
_SIGN = "(?P<sign>" + _alternatives([sign for sign in CURRENCIES if not sign.isalpha()]) + ")"
_CODE = (
    "(?P<sign>" + _alternatives([code for code in CURRENCIES if code.isalpha()] + ["€", "£", "¥", "₹", "₩", "₽"]) + ")"
)
_SCALE = r"(?:(?P<scale>k|K|mn|mm|bn|tn|[mMbBT]|[ -](?:thousand|million|billion|trillion)(?:s\b)?)(?![A-Za-z]))?"
_ADJECTIVE = r"(?P<noun>[ -](?:bill|note|gift|coin|budget|discount|fee|coupon|deposit|prize|fine|check|ticket|meal)\b)?"


def _english(text: str, sign: str) -> str:
    """`1.234,56` → "1234.56"; of euros also `1.234` → "1234"."""
    whole_part, comma, cents = text.partition(",")
    if comma and len(cents) < 3:
        return whole_part.replace(".", "") + "." + cents
    thousands = r"\d{1,3}(?:\.\d{3})+" if sign in _EUROS else r"\d{1,3}(?:\.\d{3}){2,}"
    return text.replace(".", "") if re.fullmatch(thousands, text) else text


def _amount(text: str, sign: str, adjective: bool = False) -> str:
    one, many, cent, cents = CURRENCIES[sign]
    before, point, after = text.replace(",", "").partition(".")
    if point and len(after) == 2 and cent:
        big, small = int(before or "0"), int(after)
        said = [f"{whole(before)} {one if big == 1 or adjective else many}"] if big or not small else []
        said += [f"{cardinal(small)} {cent if small == 1 or adjective else cents}"] if small else []
        return " and ".join(said)
    return f"{number(text)} {one if is_one(text) or adjective else many}"


def _money(match: Match) -> str:
    minus = "minus " if match["minus"] else ""
    sign, high = match["sign"], match["high"]
    amount = _english(match["amount"], "" if match["per"] else sign)  # €1.459/l: a tenth of a cent
    one, many = CURRENCIES[sign][:2]
    noun = (match["noun"] or "").replace("-", " ")
    per = f" per {PER.get(match['per'], match['per'])}" if match["per"] else ""
    scale = (match["scale"] or "").strip(" -").removesuffix("s")
    unit = one if noun else many
    if high:
        scale_words = f" {SCALES[scale]}" if scale else ""
        return f"{minus}{number(amount)} to {number(_english(high, sign))}{scale_words} {unit}{per}"
    if scale:
        return f"{minus}{number(amount)} {SCALES[scale]} {unit}{noun}{per}"
    return minus + _amount(amount, sign, adjective=bool(noun)) + noun + per


def _money_after(match: Match) -> str:
    amount = _english(match["amount"], match["sign"])
    scale = (match["scale"] or "").strip(" -").removesuffix("s")
    if scale:
        return f"{number(amount)} {SCALES[scale]} {CURRENCIES[match['sign']][1]}"
    return _amount(amount, match["sign"])


def _cents(match: Match) -> str:
    return f"{number(match['n'])} cent{'' if is_one(match['n']) else 's'}"


# --- measures ----------------------------------------------------------------------------------------------------

_SPAN = r"(?P<low>(?:(?<![\w.,)])[-−–])?" + _N + r")(?:" + _DASH + r"(?P<high>" + _N + r"))?"
_TEMPERATURES = {
    "C": " Celsius",
    "F": " Fahrenheit",
    "K": " Kelvin",
    "": "",
    "N": " north",
    "S": " south",
    "E": " east",
    "W": " west",
}


def _span(match: Match) -> str:
    low = number(match["low"])
    return f"{low} to {number(match['high'])}" if match["high"] else low


def _one(match: Match) -> bool:
    return is_one(match["low"]) and not match["high"]


def _degrees(match: Match) -> str:
    scale = (match["scale"] or "").upper()
    return f"{_span(match)} degree{'' if _one(match) else 's'}{_TEMPERATURES[scale]}"


def _angle(match: Match) -> str:
    """`40°26′46″N` → "forty degrees twenty-six minutes forty-six seconds north"."""
    parts = ((match["d"], "degree"), (match["m"], "minute"), (match["s"], "second"))
    said = " ".join(f"{number(n.lstrip('0') or '0')} {unit}{'' if is_one(n) else 's'}" for n, unit in parts if n)
    return said + _TEMPERATURES[match["side"] or ""]


def _percent(match: Match) -> str:
    return f"{_span(match)} percent"


def _measure(match: Match) -> str:
    unit = match["unit"]
    joined = bool(match["hyphen"])
    one, many = UNITS[unit]
    return f"{_span(match)} {one if joined or _one(match) else many}"


def _rate(match: Match) -> str:
    one, many = UNITS[match["unit"]]
    return f"{_span(match)} {one if _one(match) else many} per {PER[match['per']]}"


def _bare_rate(match: Match) -> str:
    return f"{UNITS[match['unit']][1]} per {PER[match['per']]}"


def _feet_inches(match: Match) -> str:
    inches = f" {number(match['inches'])}" if match["inches"] else ""
    feet = "foot" if inches or is_one(match["feet"]) else "feet"
    return f"{number(match['feet'])} {feet}{inches}"


def _inches(match: Match) -> str:
    return f"{number(match['n'])} inch{'' if is_one(match['n']) else 'es'}"


def _thousands(match: Match) -> str:
    return f"{number(match['n'])} {SCALES[match['scale']]}"


# --- fractions, ranges, arithmetic -------------------------------------------------------------------------------

_VULGAR = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
           "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8), "⅐": (1, 7),
           "⅑": (1, 9), "⅒": (1, 10)}  # fmt: skip


def _mixed(whole_part: str | None, above: int, below: int) -> str:
    said = fraction(above, below)
    if not whole_part:
        return said
    return f"{cardinal(int(whole_part))} and {'a' + said[3:] if above == 1 and below != 8 else said}"


def _vulgar(match: Match) -> str:
    return _mixed(match["whole"], *_VULGAR[match["sign"]]) + (" " if match["tail"] else "")


def _fraction(match: Match) -> str:
    above, below = int(match["above"]), int(match["below"])
    if above == below and below >= 20:
        return f"{cardinal(above)} {cardinal(below)}"  # 20/20 vision
    if below < 2 or above > below >= 20 or below > 100 or match["above"][0] == "0":
        return f"{match['whole'] or ''} {whole(match['above'])} over {whole(match['below'])}".strip()
    return _mixed(match["whole"], above, below)


def _part_of_unit(match: Match) -> str:
    """`3/4 tsp` → "three quarters of a teaspoon", `1/2 mi` → "half a mile", `1½ kg` → "one and a half kilograms"."""
    above, below = _VULGAR[match["sign"]] if match["sign"] else (int(match["above"]), int(match["below"]))
    one, many = UNITS[match["unit"]]
    if not 1 < below <= 100:
        return match.group()
    if match["whole"]:
        return f"{_mixed(match['whole'], above, below)} {many}"
    said = "half" if (above, below) == (1, 2) else fraction(above, below) + " of"
    return f"{said} {'an' if (one[0] in 'aeiou' and one != 'unit') or one == 'hour' else 'a'} {one}"


def _out_of(match: Match) -> str:
    if match["n"] == match["m"] == "50":
        return "fifty fifty"
    return f"{number(match['n'])} out of {number(match['m'])}"


def _scaled(match: Match) -> str:
    return f"{match['scale']} {UNITS[match['unit']][1]}"


def _range(match: Match) -> str:
    return f"{number(match['low'])} to {number(match['high'])}"


_POWERS = {"2": "squared", "3": "cubed"}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


def _power(match: Match) -> str:
    exponent = (match["caret"] or match["raised"] or "").translate(_SUPERSCRIPTS).strip("(){}")
    said = _POWERS.get(exponent)
    base = match["base"]
    base = base if base.isalpha() or base == ")" else number(base)
    if said:
        return f"{base} {said}"
    sign, exponent = ("minus " if exponent[:1] in ("-", "−") else ""), exponent.lstrip("-+−")
    return f"{base} to the power of {sign}{number(exponent) if exponent[:1].isdecimal() else exponent}"


def _power_of_ten(match: Match) -> str:
    """`3x10^8 m` → "three times ten to the power of eight meters"."""
    unit = f" {UNITS[match['unit']][1]}" if match["unit"] else ""
    return f"{number(match['n'])} times {_power(match)}{unit}"


def _scientific(match: Match) -> str:
    exponent = match["exponent"].lstrip("+")
    return f"{number(match['n'])} times ten to the power of {number(exponent)}"


_OPERATORS = {"*": "times", "×": "times", "·": "times", "+": "plus", "=": "equals", "/": "divided by", "÷": "divided by",
              "-": "minus", "−": "minus", "–": "minus", "<": "is less than", ">": "is greater than", "≤": "is less than or equal to",
              "≥": "is greater than or equal to", "≠": "is not equal to", "≈": "is about", "<=": "is less than or equal to",
              ">=": "is greater than or equal to", "!=": "is not equal to", "==": "equals", "±": "plus or minus", "**": "to the power of",
              "x": "times", "→": "to", "%": "modulo"}  # fmt: skip


def _operator(match: Match) -> str:
    return f" {_OPERATORS[match['operator']]} "


def _times(match: Match) -> str:
    """`3x faster` is "three times faster"; in an equation `3x` is "three x"."""
    algebra = match.group()[-1] == "x" and re.search(r"\b(?:equals|plus|minus|x)\b|=", match.string)
    return f"{number(match['n'])} {'x' if algebra else 'times'}"


def _by(match: Match) -> str:
    """`1920x1080` → "nineteen twenty by ten eighty", `4x4` → "four by four"."""
    return " by ".join(
        pairs(int(n)) if len(n) == 4 and n[:1] != "0" else number(n) for n in re.split(r"\s?[x×]\s?", match.group())
    )


def _ordinal(match: Match) -> str:
    text = match["n"].replace(",", "")
    return ordinal(int(text)) if len(text) < 16 else digits(text)


_LEFT = r"(?<![\w.,/^])"
_RIGHT = r"(?![\w]|[.,]\d)"
_UNIT = "(?P<unit>" + _alternatives([unit for unit in UNITS if not unit.endswith(".") and unit not in "ABJN"]) + ")"
_DOTTED_UNIT = "(?P<unit>" + _alternatives([unit for unit in UNITS if unit.endswith(".")]) + ")"
_RATE = "(?P<unit>" + _alternatives(list(RATES)) + ")/(?P<per>" + _alternatives(list(PER)) + r")(?![\w])"
_PER = "(?:/(?P<per>" + _alternatives(list(PER)) + r")(?![\w]))?"
_TERM = r"(?<=[\w)²³\]])"

MONEY = (
    rule(r"(?P<minus>(?<![\w)])[-−])?(?<![A-Z])" + _SIGN + r" ?(?P<amount>" + _AMOUNT + r")(?:" + _DASH + r"(?:(?P=sign))?(?P<high>" + _AMOUNT + r"))?" + _SCALE + _ADJECTIVE + _PER,
         _money, "".join({sign[-1] for sign in CURRENCIES if not sign.isalpha()})),
    rule(_LEFT + r"(?P<amount>" + _AMOUNT + ")" + _SCALE + r" ?" + _CODE + r"(?!\w)", _money_after, "€£¥₹₩₽USDEURGBPJPYCHFCADAUDINR"),
    rule(r"\b" + _CODE + r" ?(?P<amount>" + _AMOUNT + r")" + _SCALE + r"(?!\w)", _money_after, "DRPYFSs"),
    rule(_LEFT + r"(?P<n>" + _N + r") ?¢", _cents, "¢"),
)  # fmt: skip

_PARTS = (
    r"(?<![\w.,/])(?:(?P<whole>\d{1,4}) ?)?(?:(?P<sign>["
    + "".join(_VULGAR)
    + r"])|(?<![\d])(?P<above>\d{1,3})[/⁄](?P<below>\d{1,3}))[ -]?"
)

_MILLIONS = (
    "people|users|subscribers|followers|views|viewers|downloads|customers|copies|jobs|voters|votes|visitors|passengers|tourists|residents"
    "|inhabitants|refugees|members|workers|employees|households|homes|tonnes|tons|barrels|dollars|euros|pounds|children|players|[A-Z][a-z]+(?:ans|ish)"
)
_EXPONENT = r"(?:\^(?P<caret>[-+−]?\d{1,4}(?!\w)|[-+]?[a-z]\b|\{[-\w]{1,4}\}|\([-\w]{1,4}\))|(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ]{1,4}))"

MEASURES = (
    rule(_LEFT + r"(?P<n>[-−]?" + _N + r") ?[xX×*·] ?(?P<base>10)" + _EXPONENT + "(?: ?" + _UNIT + r"(?![\w/²³^’'°]))?", _power_of_ten, "^⁰¹²³⁴⁵⁶⁷⁸⁹"),
    rule(r"(?<=\d)[ -]?pt(?=[ -](?:fonts?|type|text|size|bold|italic|letters)\b)|(?<=\bsize \d\d) ?pt\b", " point", "p"),
    rule(_LEFT + r"(?P<n>" + _N + r") ?m(?= (?:" + _MILLIONS + r")\b)", lambda m: f"{number(m['n'])} million", "m"),
    rule(r"(?<![\w.])(?P<d>\d{1,3})° ?(?P<m>[0-5]?\d)['’′] ?(?:(?P<s>[0-5]?\d(?:\.\d{1,4})?) ?(?:[\"”″]|''))? ?(?P<side>[NSEW]\b)?", _angle, "°"),
    rule(r"(?<![\w.,])(?P<n>\d{1,3}),(?P<m>\d{1,2})(?= ?(?:" + _UNIT + r"(?![\w’'])|[%°℃]))", r"\g<n>.\g<m>", ","),
    rule(r"(?<=\d)(?P<first> ?(?:%|°[CF]?|℃|" + _UNIT + r"))\s?[-–—]\s?(?=\d+(?:\.\d+)?(?P=first)(?!\w))", "–", "-–—"),
    rule(_PARTS + "(?:" + _UNIT + r")(?![\w/²³^])(?:(?<=sp|oz|lb|in|mi|ft|hr)\.(?=[ ,]))?", _part_of_unit, "/⁄" + "".join(_VULGAR)),
    rule(_LEFT + r"(?P<n>\d+(?:\.\d+)?)/(?P<m>\d+)(?= stars\b)", _out_of, "/"),
    rule(_LEFT + r"(?P<n>\d+\.\d+|(?P<same>10|100|50|5)(?=/(?P=same)\b))/(?P<m>\d+)(?![\w/]|\.\d)", _out_of, "/"),
    rule(r"\b(?P<scale>thousand|million|billion|trillion) " + _UNIT + r"(?![\w/²³^’'°])", _scaled, "aiou"),
    rule(_LEFT + r"(?P<n>" + _N + r") in(?=\.\Z)", _inches, "."),
    rule(_LEFT + _SPAN + r" ?(?:°|º|˚)(?: ?(?P<scale>[CFKNSEW])(?!\w))?", _degrees, "°º˚"),
    rule(_LEFT + _SPAN + r" ?(?P<scale>℃|℉)", lambda m: f"{_span(m)} degrees {'Celsius' if m['scale'] == '℃' else 'Fahrenheit'}", "℃℉"),
    rule(_LEFT + r"(?P<low>[-−]?" + _N + r")%?(?:" + _DASH + r"(?P<high>" + _N + r"))? ?%", _percent, "%"),
    rule(_LEFT + _SPAN + r" ?" + _RATE, _rate, "/"),
    rule(r"(?<![\w/])" + _RATE, _bare_rate, "/"),
    rule(_LEFT + _SPAN + r"(?P<hyphen>-)?(?: |(?<=-))?" + _DOTTED_UNIT + r"(?=[ ,;:)]|$)(?!\s*\Z)", _measure, "."),
    rule(_LEFT + _SPAN + r"(?:(?P<hyphen>-)| )?" + _UNIT + r"(?![\w/²³^’'°]|-\d)", _measure),
    rule(_LEFT + r"(?P<feet>\d{1,3})['’′] ?(?:(?P<inches>\d{1,2}(?:\.\d)?) ?(?:[\"”″]|'')?)?(?!\w)", _feet_inches, "'’′"),
    rule(_LEFT + r"(?P<n>" + _N + r") ?(?:[\"″])(?!\w)", _inches, '"″'),
    rule(_LEFT + r"(?P<n>" + _N + r")(?P<scale>k|M|bn|mn)(?!\w)", _thousands, "kMbm"),
)  # fmt: skip

ARITHMETIC = (
    rule(_LEFT + r"(?P<n>[-−]?\d+(?:\.\d+)?)[eE](?P<exponent>[-+]?\d{1,3})(?!\w)", _scientific, "eE"),
    rule(r"(?<![\w.\-])(?P<letter>[i-np-z])[-−](?=\d)(?!(?<=k.)12\b)", r"\g<letter> minus ", "-−"),
    rule(r"(?<=[A-Za-z])(?:-(?<![^\W\d_]..)(?=\d+(?:\.\d+)? ?[=<>≤≥≠≈])|−(?=\d))", " minus ", "-−"),
    rule(r"(?:(?P<whole>\d{1,4}) ?)?(?P<sign>[" + "".join(_VULGAR) + r"])(?P<tail>(?=\w))?", _vulgar, "".join(_VULGAR)),
    rule(r"(?<![\w.,/])(?:(?P<whole>\d{1,4}) )?(?P<above>\d{1,4})[/⁄](?P<below>\d{1,4})(?![\w/]|\.\d)", _fraction, "/⁄"),
    rule(_LEFT + r"\d{1,5}(?:\.\d+)?(?: ?[x×] ?\d{1,5}(?:\.\d+)?)(?: ?[x×] ?\d{1,5}(?:\.\d+)?)?(?=[^\^\w]|$)(?! ?[=^⁰¹²³])", _by, "x×"),
    rule(r"(?P<base>(?<![\w.])[A-Za-zα-ω]{1,4}|(?<![\w.])\d+(?:\.\d+)?|\))" + _EXPONENT,
         _power, "^⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ⁻"),
    rule(_LEFT + r"(?P<low>" + _N + r")(?:[-–—−]| [–—] )(?P<high>" + _N + r")(?![\w]|[.,]\d|[-–]\d| ?=)", _range, "-–—−"),
    rule(_TERM + r" ?(?P<operator>\*\*|<=|>=|!=|==|[×÷±≤≥≠≈=]) ?(?=[\w(√.\-−])", _operator, "*<>!=×÷±≤≥≠≈"),
    rule(_TERM + r" (?P<operator>[-−–+*/<>→%]) (?=[\w(√])(?=(?:[\d(√]|[a-z]\b|[A-Z]\b))", _operator, "-−–+*/<>→%"),
    rule(r"(?<=[=(*/+] )[-−](?=[A-Za-z]\b)|(?<=equals )[-−](?=[A-Za-z]\b)", "minus ", "-−"),
    rule(r"(?<=[\d)])(?P<operator>[*+/<>·])(?=[\w(])", _operator, "*+/<>·"),
    rule(r"(?<=\b[A-Za-z])(?P<operator>[*+<>])(?=(?:\d|[A-Za-z]\b|\())", _operator, "*+<>"),
    rule(r"(?<=\b[a-z]) (?P<operator>[<>]) (?=\w)", _operator, "<>"),
    rule(r"(?<=\d) (?P<operator>x) (?=\d)", _operator, "x"),
    rule(_LEFT + r"(?P<n>\d+) ?: ?(?P<m>\d+)(?![\w:])", lambda m: f"{whole(m['n'])} to {whole(m['m'])}", ":"),
    rule(r"(?<![\w.])(?P<n>\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)\b", _ordinal, "snrt"),
    rule(r">=", " at least ", "="),
    rule(r"<=", " at most ", "="),
    rule(r"√ ?", "square root of ", "√"),
    rule(_LEFT + r"(?P<n>" + _N + r")[xX×](?![\w])", _times, "xX×"),
)  # fmt: skip
