"""Dates, years, decades, times of day, durations, phone numbers."""

# ruff: noqa: E501 - tables of patterns, one entry a line

from __future__ import annotations

import re

from edgevoice.tts.text.numbers import cardinal, digits, number, ordinal, pairs, plural, whole, year
from edgevoice.tts.text.rules import Match, closing_stop, rule

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
_SHORT = {month[:3].lower(): month for month in MONTHS}
_MONTH = (
    r"(?P<month>January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_DAYS = {"mon": "Monday", "tue": "Tuesday", "wed": "Wednesday", "thu": "Thursday", "fri": "Friday", "sat": "Saturday",
         "sun": "Sunday"}  # fmt: skip
_YEAR = r"(?P<year>[12]\d{3})"
_DASH = r"\s?[-–—−]\s?"


def _month(name: str) -> str:
    return _SHORT[name[:3].lower()]


def _named(month: str, day: str, year_: str | None) -> str | None:
    """Day and month as words, or None when there is no such day."""
    if not 1 <= int(day) <= 31:
        return None
    return f"{month} {ordinal(int(day))}" + (f", {year(int(year_))}" if year_ else "")


def _iso(match: Match) -> str:
    month = int(match["month"])
    said = _named(MONTHS[month - 1], match["day"], match["year"]) if 1 <= month <= 12 else None
    time = _clock(match["h"], match["m"], "") if match["h"] else None
    if not said or (match["h"] and not time):
        return match.group()
    return said + (f" at {time}{_seconds(match['s'])}{_zone(match['zone'])}" if time else "")


def _seconds(text: str | None) -> str:
    """Seconds of a time of day; zero seconds are not said."""
    value = int(text or 0)
    return f" and {cardinal(value)} second{'s' * (value != 1)}" if value else ""


def _zone(text: str | None) -> str:
    """`+05:30` → " UTC plus five thirty"; `Z` is not said."""
    if not text or text == "Z":
        return ""
    hours, minutes = int(text[1:3]), int(text[-2:])
    return f" UTC {'plus' if text[0] == '+' else 'minus'} {cardinal(hours)}" + (
        f" {cardinal(minutes)}" if minutes else ""
    )


def _slashed_year(match: Match) -> str:
    return f"{MONTHS[int(match['month']) - 1]} {year(int(match['year']))}"


def _numeric(match: Match) -> str:
    """`5/3/2024`: month first, unless that cannot be."""
    first, second = int(match["first"]), int(match["second"])
    if match["sep"] == "." or first > 12:
        first, second = second, first
    if not 1 <= first <= 12:
        return match.group()
    text = match["year"]
    if len(text) == 2:
        text = ("19" if int(text) > 50 else "20") + text
    return _named(MONTHS[first - 1], str(second), text) or match.group()


def _slashed(match: Match) -> str:
    month = int(match["month"])
    said = _named(MONTHS[month - 1], match["day"], None) if 1 <= month <= 12 else None
    return f"{match['cue']} {said}" if said else match.group()


def _month_first(match: Match) -> str:
    alone = match.group()[-1].isdecimal() and not match["year"] and not match["to"]
    if alone and _IN.search(match.string, 0, match.start()) and _COUNTING.match(match.string, match.end()):
        return f"{_month(match['month'])} {cardinal(int(match['day']))}"  # In May 20 people came
    said = _named(_month(match["month"]), match["day"], match["year"])
    if not said:
        return match.group()
    if match["to"]:
        said = f"{_named(_month(match['month']), match['day'], None)} to {ordinal(int(match['to']))}"
        said += f", {year(int(match['year']))}" if match["year"] else ""
    return said


def _day_first(match: Match) -> str:
    if not 1 <= int(match["day"]) <= 31:
        return match.group()
    span = f" to the {ordinal(int(match['to']))}" if match["to"] else ""
    end = f", {year(int(match['year']))}" if match["year"] else ""
    the = "" if match["the"] else "the "
    return f"{match['the'] or ''}{the}{ordinal(int(match['day']))}{span} of {_month(match['month'])}{end}"


def _month_year(match: Match) -> str:
    return f"{_month(match['month'])} {year(int(match['year']))}"


def _short_month(match: Match) -> str:
    return _month(match["month"])


def _decade(match: Match) -> str:
    text = match["year"]
    value = int(text)
    if len(text) == 2:
        return plural(cardinal(value)) if value % 10 == 0 and value >= 20 else match.group()
    if text.endswith("000"):
        return plural(cardinal(value))
    return plural(pairs(value)) if text.endswith("0") else year(value) + "s"


def _years(match: Match) -> str:
    first, second = match["first"], match["second"]
    return f"{year(int(first))} to {year(int(second)) if len(second) == 4 else whole(second)}"


def _single_year(match: Match) -> str:
    return match["cue"] + year(int(match["year"]))


def _era(match: Match) -> str:
    value = int(match["year"])
    return (year(value) if value > 99 else cardinal(value)) + " " + " ".join(match["era"].replace(".", "").upper())


# --- times -------------------------------------------------------------------------------------------------------


def _half(text: str | None) -> str:
    """`a.m.` → " A M"."""
    return f" {text[0].upper()} M" if text else ""


def _clock(hour: str, minute: str, half: str) -> str | None:
    h, m = int(hour), int(minute)
    if h > 24 or m > 59:
        return None
    if m:
        return f"{cardinal(h)} {'oh ' if m < 10 else ''}{cardinal(m)}{half}"
    if half:
        return cardinal(h) + half
    if h in (0, 24):
        return "midnight"
    return f"{cardinal(h)} o'clock" if h <= 12 else f"{cardinal(h)} hundred"


def _time(match: Match) -> str:
    half = _half(match["half"])
    said = _clock(match["hour"], match["minute"], half)
    if said is None:
        return f"{whole(match['hour'])} to {whole(match['minute'])}{half}"
    return said.removesuffix(" o'clock") + " o'clock" if match["oclock"] else said + closing_stop(match)


def _hour(match: Match) -> str:
    return f"{cardinal(int(match['hour']))}{_half(match['half'])}{closing_stop(match)}"


def _time_span(match: Match) -> str:
    half = _half(match["half"])
    first = _clock(match["h1"], match["m1"] or "0", _half(match["half1"]) or half)
    second = _clock(match["h2"], match["m2"] or "0", half)
    if not first or not second:
        return match.group()
    if half and not match["half1"]:
        first = first.removesuffix(half)
    return f"{first} to {second}{closing_stop(match)}"


def _time_with_seconds(match: Match) -> str:
    half = _half(match["half"])
    said = _clock(match["h"], match["m"], half)
    return (
        match["cue"] + said.removesuffix(half) + _seconds(match["s"]) + half + closing_stop(match)
        if said
        else match.group()
    )


def _stopwatch(match: Match) -> str:
    hours, minutes, seconds = int(match["h"]), int(match["m"]), match["s"]
    parts = [f"{cardinal(hours)} hour{'s' * (hours != 1)}"] if hours else []
    parts.append(f"{cardinal(minutes)} minute{'s' * (minutes != 1)}")
    parts.append(f"{number(str(float(seconds)).removesuffix('.0'))} second{'s' * (float(seconds) != 1)}")
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def _hours_minutes(match: Match) -> str:
    hours, minutes = int(match["h"]), int(match["m"])
    return f"{cardinal(hours)} hour{'s' * (hours != 1)} {cardinal(minutes)} minute{'s' * (minutes != 1)}"


# --- phone numbers -----------------------------------------------------------------------------------------------


def _phone(match: Match) -> str:
    """Digit by digit, in groups; 1-800 as "one eight hundred"."""
    groups = [group for group in match.group().replace("+", "").replace("(", " ").replace(")", " ").replace(".", " ")
              .replace("-", " ").replace("/", " ").split() if group]  # fmt: skip
    said = [
        f"{digits(g[0])} hundred" if len(g) == 3 and g.endswith("00") and g[0] != "0" else digits(g) for g in groups
    ]
    return ("plus " if match.group().startswith("+") else "") + ", ".join(said)


_HALF = r"(?P<half>[AaPp]\.?[Mm](?:\.(?=\W|$)|\b))"
_HALF1 = r"(?P<half1>[AaPp]\.?[Mm]\.?)"

_DAY = r"Mon|Tues?|Wed|Thurs?|Fri|Sat|Sun"
_COUNTED = r" (?!is\b|was\b|has\b|its\b|this\b|as\b|us\b|Olympics|elections\b|(?:[a-z]+(?:ss|us|is)\b))(?:[a-z]{2,}s|people|children|men|women|feet|sheep|fish|percent|of)\b"
_NOT_COUNTED = f"(?!{_COUNTED})"
_IN = re.compile(r"\b(?:[Ii]n|[Ll]ast|[Tt]his|[Nn]ext|[Dd]uring) \Z")
_COUNTING = re.compile(_COUNTED)
_SHORT_MONTH = r"Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec"

RULES = (
    rule(r"\b(?P<a>" + _DAY + r")\.?[-–](?P<b>" + _DAY + r")\b", lambda m: f"{_DAYS[m['a'][:3].lower()]} to {_DAYS[m['b'][:3].lower()]}", "-–"),
    rule(r"\b(?P<a>" + _SHORT_MONTH + r")\.?[-–](?P<b>" + _SHORT_MONTH + r")\b", lambda m: f"{_month(m['a'])} to {_month(m['b'])}", "-–"),
    rule(r"(?<![\w.+\-])\+\d{1,3}[ \-.]?(?:\(\d{1,4}\)[ \-.]?)?\d{1,4}(?:[ \-./]\d{2,8}){1,4}(?![\w\-])", _phone, "+"),
    rule(r"(?<![\w.+\-])\+\d{8,15}(?![\w\-])", _phone, "+"),
    rule(r"(?<![\w.,/\-])(?=\(?0\d(?:[ /\-)]{0,2}\d){7,13}(?!\d))\(?0\d{1,4}\)?(?:[ /\-]\d{3,8}){1,3}(?![\w\-])", _phone, "0"),
    rule(r"(?<![\w.\-])(?:1[\-. ])?(?:\(\d{3}\) ?|\d{3}[\-.])\d{3}[\-.]\d{4}(?![\w\-])", _phone, "-."),
    rule(r"(?<![\w.\-])\d{3}-\d{4}(?![\w\-])", _phone, "-"),
    rule(r"(?<![\w.\-])\d{3}-\d{2}-\d{4}(?![\w\-])", _phone, "-"),
    rule(r"(?<![\w.\-])\d{1,6}(?:-\d{1,7}){3,6}(?![\w\-])", _phone, "-"),
    rule(r"(?<![\w.\-/])\d{1,2}(?:-\d{1,2}){2,6}(?![\w\-/])", lambda m: ", ".join(map(whole, m.group().split("-"))), "-"),
    rule(r"\b(?P<cue>[Cc]all|[Dd]ial|[Rr]ing|[Tt]ext)(?P<gap> )(?P<n>911|999|112|988|311|411|211)\b",
         lambda m: f"{m['cue']} {digits(m['n'])}"),
    rule(r"(?<![\w.\-/])(?P<year>\d{4})(?P<sep>[\-/])(?P<month>\d{2})(?P=sep)(?P<day>\d{2})"
         r"(?:T(?P<h>\d\d):(?P<m>\d\d)(?::(?P<s>\d\d)(?:[.,]\d{1,9})?)?(?P<zone>Z|[+\-]\d\d:?\d\d)?(?![\w:])|(?![\dT\-]))", _iso, "-/"),
    rule(r"(?<![\w./,\-])(?P<month>0[1-9]|1[0-2])/(?P<year>(?:19|20)\d\d)(?![\w/]|[.,]\d)", _slashed_year, "/"),
    rule(r"(?<![\w./\-])(?P<first>\d{1,2})(?P<sep>[/.\-])(?P<second>\d{1,2})(?P=sep)(?P<year>\d{4}|\d{2})(?![\w/\-]|\.\d)",
         _numeric, "/.-"),
    rule(r"\b(?P<cue>[Oo]n|[Bb]y|[Uu]ntil|[Ss]ince|[Dd]ate:|[Dd]ue|[Bb]efore|[Aa]fter) (?P<month>\d{1,2})/(?P<day>\d{1,2})(?![\w/.]\d)", _slashed, "/"),
    rule(r"\b" + _MONTH + r" (?P<day>\d{1,2})(?:st|nd|rd|th)?(?:" + _DASH + r"(?P<to>[0123]?\d)(?:st|nd|rd|th)?)?(?:,? " + _YEAR + r")?(?![\w:%]|[.,]\d)",
         _month_first),
    rule(r"\b(?P<the>[Tt]he )?(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:" + _DASH + r"(?P<to>[0123]?\d)(?:st|nd|rd|th)?)? (?:of )?" + _MONTH + r"(?:,? " + _YEAR + r")?(?![\w:])",
         _day_first),
    rule(r"\b" + _MONTH + r",? (?:of )?" + _YEAR + r"(?![\w,.:]\d|\w)", _month_year),
    rule(r"\b(?P<month>Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.(?= )", _short_month),
    rule(r"\b(?P<day>Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:[rs]{1,2}|nes)?(?:\.(?=[ ,])|(?=,? (?:the \d|\d|[JFMASOND][a-z]{2})))",
         lambda m: _DAYS[m["day"].lower()]),
    rule(r"(?<![\w.$£€])['’]?(?P<year>[12]\d{2}0|\d0|\d{4})['’]?s\b", _decade, "s"),
    rule(r"(?<!\w)['’](?P<year>\d\d)(?!\w)", lambda m: cardinal(int(m["year"])) if m["year"][0] != "0" else "oh " + m["year"][1], "'’"),
    rule(r"(?<![\w.,$£€#\-/])(?P<year>\d{1,4}) ?(?P<era>B\.?C\.?E\.?|B\.?C\.?|A\.?D\.?|C\.?E\.?)(?!\w)", _era, "BAC"),
    rule(r"(?<![\w.,$£€¥#\-–/])(?P<first>1[1-9]\d\d|20\d\d)" + _DASH + r"(?P<second>(?:1[1-9]|20)\d\d|\d\d)(?![\w%°\-–]|[.,:]\d)", _years, "-–—−"),
    rule(r"(?P<cue>\b(?:[Aa]t|[Uu]ntil|[Tt]ill|[Ss]ince) )(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)(?: ?" + _HALF + r")?(?![\w:]|\.\d)", _time_with_seconds, ":"),
    rule(r"(?P<cue>(?<![\w.,:]))(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-5]\d) ?" + _HALF, _time_with_seconds, ":"),
    rule(r"(?<![\w.,:])(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-5]\d(?:\.\d{1,3})?)(?![\w:])", _stopwatch, ":"),
    rule(r"(?<![\w.:])(?P<h>\d{1,3}) ?(?:h|hr|hrs|hours?) ?(?P<m>\d{1,2}) ?(?:m|min|mins|minutes?)\b(?:\.(?=\s*[a-z,]))?", _hours_minutes, "h"),
    rule(r"(?<![\w.:$£€])(?P<h1>\d{1,2})(?::(?P<m1>[0-5]\d))? ?" + _HALF1 + "?" + _DASH + r"(?P<h2>\d{1,2})(?::(?P<m2>[0-5]\d))? ?" + _HALF, _time_span, "-–—−"),
    rule(r"(?<![\w.:$£€])(?P<h1>\d{1,2}):(?P<m1>[0-5]\d)" + _DASH + r"(?P<h2>\d{1,2}):(?P<m2>[0-5]\d)(?P<half1>(?!))?(?P<half>(?!))?(?![\w:])", _time_span, ":"),
    rule(r"(?<![\w.:,])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?: ?" + _HALF + r")?(?P<oclock> o['’]clock)?(?![\w:])", _time, ":"),
    rule(r"(?<![\w.:,])(?P<hour>\d{1,2}) ?" + _HALF, _hour, "mM"),
    rule(r"\b(?P<half>[ap])\.m\.?(?!\w)", lambda m: f"{m['half'].upper()} M", "."),
)  # fmt: skip
"""Longer forms first: a date holds a year, a phone number holds a range."""

_CUE = (
    r"(?P<cue>\b(?:[Ii]n|[Ss]ince|[Bb]y|[Oo]f|[Ff]rom|[Uu]ntil|[Tt]ill|[Bb]efore|[Aa]fter|[Dd]uring|[Aa]round|[Cc]irca|[Yy]ear|[Ee]arly|[Ll]ate|[Mm]id"
    r"|[Ss]pring|[Ss]ummer|[Aa]utumn|[Ff]all|[Ww]inter|[Ee]lection|[Oo]lympics|©)[ -])"
)

YEARS = (
    rule(_CUE + r"(?P<year>1\d{3}|20\d\d)(?![\w%°]|[.,:/]\d|-\d)", _single_year),
    rule(r"(?P<cue>(?<![$£€¥#\-–/*+=^<>×] )(?<![\w.,$£€¥#\-–/*+=^<>×]))(?P<year>1[1-9]\d\d|20\d\d)(?![\w%°]|[.,:/*^+]\d|-\d| ?[=+*/×<>^]| - )" + _NOT_COUNTED,
         _single_year),
)  # fmt: skip
"""Four digits that are a year: after a cue, or alone and not counting things. Tried after money and units."""
