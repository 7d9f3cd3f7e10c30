"""Titles, abbreviations, initials, roman numerals."""

# ruff: noqa: E501 - tables of patterns, one entry a line

from __future__ import annotations

import re

from edgevoice.tts.text.markup import words
from edgevoice.tts.text.numbers import cardinal, ordinal
from edgevoice.tts.text.rules import Match, closing_stop, rule

# --- roman numerals ----------------------------------------------------------------------------------------------

_ROMAN = r"(?P<roman>(?=[MDCLXVI])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))"
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_REGNAL = words(
    "Henry Louis Charles George Edward James William Richard Elizabeth Mary Philip Philippe Francis Frederick Ferdinand Leopold"
    " Alexander Nicholas Peter Paul Catherine Ivan Napoleon Pius Benedict Gregory Innocent Clement Leo Urban Sixtus Boniface"
    " Ramesses Rameses Ramses Thutmose Amenhotep Ptolemy Cleopatra Darius Xerxes Cyrus Otto Gustav Christian Harald Haakon Olav Carl"
    " Karl Wilhelm Friedrich Juan Carlos Felipe Alfonso Pedro Manuel Victor Emmanuel Umberto Margaret Anne Robert David Malcolm"
    " John Stephen Constantine Justinian Theodosius Mehmed Selim Suleiman Murad Franz Joseph Maximilian Albert Baudouin Beatrix"
    " Juliana Wilhelmina Margrethe Christina Isabella Alphonse Henri Hassan Mohammed Abdullah Rama Seti Artaxerxes Sancho"
)
_TITLED = r"(?P<title>King|Queen|Pope|Emperor|Empress|Tsar|Czar|Kaiser|Prince|Saint|Pharaoh|Sultan|Shah)"
_NUMBERED = (
    r"(?P<noun>World War|WW|Chapter|Part|Volume|Vol\.|Book|Act|Scene|Section|Article|Phase|Stage|Type|Class|Level|Grade|Title|Appendix"
    r"|Figure|Table|Super Bowl|Episode|Season|Version|Vatican|Mark|Mk|Category|Group|Amendment|Apollo|Rocky|Rambo|Star Wars|Final Fantasy"
    r"|Division|Factor|Schedule|Unit|Lesson|Canto|Psalm|Symphony|Olympiad|Corps|Legion|Titan|Saturn|Generation|Gen)"
)
_TENTH = words(
    "Chapter Part Volume Vol. Book Act Scene Section Article Phase Stage Title Episode Season Mark Mk Amendment Apollo Rocky Rambo"
    " Canto Psalm Symphony Olympiad Corps Legion Factor"
) | {"Super Bowl", "Star Wars", "Final Fantasy"}
"""Nouns whose numerals go far: "X" behind them is ten. Behind others ("Generation X") it is a letter."""
_VERB = re.compile(
    r" (?:am|was|have|had|will|would|think|like|love|want|need|read|wrote|can|could|did|do|said|saw|find|found|know|mean|play|use)\b"
    r"|['’]"
)
"""Behind "I": then it is the pronoun."""
_NOT_ROMAN = words("I MIX DIM CIVIL LIV MD CD DC MC XL CV DI LI MI DL CC MM MV DVD CL ML MCI IX XXX")


def _value(roman: str) -> int:
    values = [_VALUES[ch] for ch in roman]
    return sum(-v if v < next_ else v for v, next_ in zip(values, [*values[1:], 0], strict=True))


def _is_letters(roman: str, noun: str) -> bool:
    """`Type C`, `Class D`, `Generation X`, `Class CD`: letters, though they could be a numeral."""
    return roman in tuple("CDLM") or (noun not in _TENTH and set("IV").isdisjoint(roman) and len(roman) < 3)


def _numbered(match: Match) -> str:
    if _is_letters(match["roman"], match["noun"]) or (match["roman"] == "I" and _VERB.match(match.string, match.end())):
        return match.group()
    noun = {"WW": "World War", "Mk": "Mark"}.get(match["noun"], match["noun"])
    return f"{noun} {cardinal(_value(match['roman']))}"


def _king(match: Match) -> str:
    name, roman = match["name"], match["roman"]
    if name.split()[-1] not in _REGNAL and not match["title"]:
        return (
            match.group()
            if len(roman) < 2 or roman in _NOT_ROMAN or set(roman) - set("IVX")
            else f"{name} {cardinal(_value(roman))}"
        )
    if len(roman) == 1 and roman not in "IV":
        return match.group()
    if roman == "I" and _VERB.match(match.string, match.end()):
        return match.group()
    if roman == "I" and not match["title"] and name.split()[-1] not in ("Elizabeth", "Napoleon", "Nicholas", "Wilhelm"):
        return match.group()
    return f"{match['title'] or ''}{name} the {ordinal(_value(roman))}"


def _century(match: Match) -> str:
    return f"{ordinal(_value(match['roman']))} {match['noun']}"


# --- abbreviations -----------------------------------------------------------------------------------------------

_BEFORE_NAME = {
    "Dr": "Doctor", "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Prof": "Professor", "Gen": "General", "Sen": "Senator",
    "Rep": "Representative", "Gov": "Governor", "Lt": "Lieutenant", "Col": "Colonel", "Capt": "Captain", "Maj": "Major",
    "Sgt": "Sergeant", "Cmdr": "Commander", "Adm": "Admiral", "Rev": "Reverend", "Hon": "Honorable", "Fr": "Father",
    "Pres": "President", "Mt": "Mount", "Ft": "Fort", "Pvt": "Private", "Cpl": "Corporal", "Supt": "Superintendent", "Mx": "Mix",
}  # fmt: skip
_ANYWHERE = {
    "Jr": "Junior", "Sr": "Senior", "vs": "versus", "etc": "et cetera", "approx": "approximately", "dept": "department",
    "Dept": "Department", "est": "established", "Inc": "Incorporated", "Ltd": "Limited", "Corp": "Corporation", "Co": "Company",
    "Bros": "Brothers", "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road", "Hwy": "Highway", "Apt": "Apartment", "Ste": "Suite",
    "Univ": "University", "govt": "government", "Govt": "Government", "misc": "miscellaneous", "incl": "including", "excl": "excluding",
    "ca": "circa", "viz": "namely", "cf": "compare", "max": "maximum", "avg": "average", "tel": "telephone",
    "Tel": "Telephone", "ext": "extension", "Ext": "Extension", "Assn": "Association", "intl": "international", "Intl": "International",
    "resp": "respectively", "Bldg": "Building", "Pkwy": "Parkway", "Ln": "Lane", "Ct": "Court", "Sq": "Square", "temp": "temperature",
}  # fmt: skip
_BEFORE_NUMBER = {
    "no": "number", "nos": "numbers", "nr": "number", "fig": "figure", "figs": "figures", "eq": "equation", "vol": "volume", "vols": "volumes",
    "ch": "chapter", "sec": "section", "p": "page", "pp": "pages", "pg": "page", "pt": "part", "art": "article", "ed": "edition", "c": "circa",
    "ca": "circa", "v": "verse", "vv": "verses", "para": "paragraph", "approx": "approximately", "min": "minimum", "ex": "example",
}  # fmt: skip
_LATIN = {"e.g": "for example", "i.e": "that is", "a.k.a": "also known as", "et al": "and others", "w.r.t": "with respect to",
          "n.b": "note", "q.v": "which see", "a.s.a.p": "as soon as possible", "p.s": "P S"}  # fmt: skip


def _saint_or_street(match: Match) -> str:
    """`St.` before a name is a saint, behind a name or number a street; between two names the one before decides."""
    before, after = match.string[: match.start()].rstrip(), match.string[match.end() :].lstrip()
    previous = before.rsplit(None, 1)[-1] if before else ""
    street = bool(
        previous[:1].isupper()
        and previous.isalpha()
        and previous not in ("In", "At", "The", "Of", "From", "Near", "Visit", "On", "To", "And")
    )
    street = street or (
        previous[-2:] in ("st", "nd", "rd", "th")
        and (previous[:1].isdecimal() or previous.endswith(("first", "third", "th")))
    )
    if street and not re.search(r"\b(?:Saint|Mount|Father|San)\Z", before):
        return "Street" + closing_stop(match)
    return "Saint" if after[:1].isupper() else "Street" + closing_stop(match)


def _doctor_or_drive(match: Match) -> str:
    before, after = match.string[: match.start()].rstrip(), match.string[match.end() :].lstrip()
    if not after[:1].isupper() and re.search(r"[A-Z][a-z]+\Z", before):
        return "Drive" + closing_stop(match)
    return "Doctor"


def _numbered_thing(match: Match) -> str:
    short = match["short"]
    long = _BEFORE_NUMBER[short.lower()]
    return (long.capitalize() if short[0].isupper() and short.lower() not in ("no", "nos") else long) + " "


def _initials(match: Match) -> str:
    return " ".join(match.group().replace(".", " ").split()) + (
        " " if match.group()[-1:] == " " else closing_stop(match)
    )


def _keys(table: dict[str, str]) -> str:
    return "|".join(sorted(table, key=lambda name: (-len(name), name)))


RULES = (
    rule(r"\bPh\.?D\.?(?P<s>s)?(?!\w)", lambda m: "P H D" + ("s" if m["s"] else "") + ("" if m["s"] or m.group()[-1] != "." else closing_stop(m)), "P"),
    rule(r"\b(?P<latin>[Ee]\.g|[Ii]\.e|[Aa]\.k\.a|[Ww]\.r\.t|[Qq]\.v|a\.s\.a\.p)\.?(?!\w)(?P<comma>,)?",
         lambda m: _LATIN[m["latin"].lower()] + ("," if m["comma"] else ""), "."),
    rule(r"\b(?P<latin>eg|ie)\.(?= )", lambda m: {"eg": "for example", "ie": "that is"}[m["latin"]], "."),
    rule(r"\bet al\.", lambda m: "and others" + closing_stop(m), "."),
    rule(r"\b(?P<short>[Nn]os?|[Nn]r|[Ff]igs?|[Ee]q|[Vv]ols?|[Cc]h|[Ss]ec|pp?|pg|[Pp]t|[Aa]rt|c|ca|vv?|[Pp]ara|[Aa]pprox|min|[Ee]x)\. ?(?=[#~]?\d|[IVXLC]{2,}\b)", _numbered_thing, "."),
    rule(r"(?<=\d)(?:st|nd|rd|th) [Ee]d\.", lambda m: m.group()[:2] + " edition", "."),
    rule(r"\bDr\b\.?", _doctor_or_drive, "D"),
    rule(r"\bSt\.", _saint_or_street, "."),
    rule(r"\bSt(?= [A-Z][a-z])", "Saint", "S"),
    rule(r"\b(?P<short>" + _keys(_BEFORE_NAME) + r")\. ?(?=[A-Z]|(?:and|&) (?:Mrs?|Ms|Dr|Prof)\b)", lambda m: _BEFORE_NAME[m["short"]] + " ", "."),
    rule(r"\b(?P<short>Mr|Mrs|Ms|Prof)(?= (?:[A-Z]|(?:and|&) (?:Mrs?|Ms|Dr|Prof)\b))", lambda m: _BEFORE_NAME[m["short"]], "MP"),
    rule(r"\b(?P<short>" + _keys(_ANYWHERE) + r")\.(?!\w)", lambda m: _ANYWHERE[m["short"]] + closing_stop(m), "."),
    rule(r"\bvs?\b(?=\.? [A-Za-z])\.?(?<=[s.])", "versus", "v"),
    rule(r"\bCtrl\b", "control", "C"),
    rule(r"\bw/o\b", "without", "/"),
    rule(r"\bw/ ?(?=\w)", "with ", "/"),
    rule(r"\b[Nn]/[Aa]\b", "not applicable", "/"),
    rule(r"\b(?P<a>he|she|him|his|her|hers|yes|true|male|either|and|s|on|pass)/(?P<b>he|she|him|her|his|hers|no|or|false|female|off|fail)\b",
         lambda m: f"{'she' if m['a'] == 's' else m['a']} or {m['b']}" if m["a"] != "and" else "and or", "/", re.IGNORECASE),
)  # fmt: skip

INITIALS = (
    rule(r"(?<![\w.])(?:[A-Za-z]\.){2,}(?:[A-Za-z]\b(?!\.))?(?!\w)", _initials, "."),
    rule(r"(?<![\w.'’])(?:[A-Z]\. ?)+(?=[A-Z][a-z'’])", _initials, "."),
)

ROMAN = (
    rule(r"\b" + _NUMBERED + r"[ -]?(?<=[ .\-W])" + _ROMAN + r"(?![\w'’])", _numbered, "IVXLC"),
    rule(r"(?P<title>\b(?:King|Queen|Pope|Emperor|Empress|Tsar|Czar|Kaiser|Pharaoh|Sultan|Prince) )?\b(?P<name>[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?) " + _ROMAN + r"(?!\w|['’](?!s\b)|\.\w)",
         _king, "IVX"),
    rule(r"\b" + _ROMAN + r" (?P<noun>century|dynasty|Century|Dynasty|Olympiad)", _century, "cdCDO"),
)  # fmt: skip
"""Roman numerals where they are one: behind a ruler's name or a numbered thing, never alone."""
