"""Web and e-mail addresses, file names and paths, versions, IP addresses."""

# ruff: noqa: E501 - tables of patterns, one entry a line

from __future__ import annotations

import re

from edgevoice.tts.text.markup import words
from edgevoice.tts.text.numbers import cardinal, digits, whole
from edgevoice.tts.text.rules import Match, rule

_TLDS = "com|org|net|edu|gov|mil|int|info|biz|io|ai|app|dev|tv|me|co|uk|us|de|fr|ca|au|jp|cn|in|eu|nl|ch|it|es|se|no|ru|br|xyz"
_FILES = (
    "py|js|ts|jsx|tsx|c|h|cpp|hpp|cc|rs|go|java|rb|php|sh|bat|ps1|html?|css|json|ya?ml|toml|ini|cfg|conf|xml|csv|tsv|txt|md"
    "|rst|log|pdf|docx?|xlsx?|pptx?|odt|png|jpe?g|gif|svg|bmp|webp|mp3|mp4|wav|flac|ogg|opus|avi|mkv|mov|zip|tar|gz|bz2|xz"
    "|7z|rar|exe|dll|so|apk|dmg|iso|deb|rpm|whl|ipynb|sql|db|bin|onnx|gguf|env|lock|bak|tmp|key|pem"
)
_SPOKEN_WORDS = words("com org net info app dev log bin zip tar lock key word index main test config")
_NAMES = {
    "json": "jason",
    "gif": "gif",
    "jpeg": "J peg",
    "jpg": "J peg",
    "yaml": "yammel",
    "yml": "yammel",
    "bat": "bat",
}
_SIGNS = {".": " dot ", "/": " slash ", "-": " dash ", "_": " underscore ", "@": " at ", "~": " tilde ", "+": " plus ",
          ":": " colon ", "\\": " backslash ", "%": " percent ", "&": " and ", "=": " equals ", "#": " hash ", "?": " "}  # fmt: skip
_PART = re.compile(r"\d+|[A-Za-z]+|[^A-Za-z\d]")


def _extension(name: str) -> str:
    """An ending as people say it: "com", "P D F", "jason"."""
    lower = name.lower()
    if lower in _NAMES:
        return _NAMES[lower]
    return lower if lower in _SPOKEN_WORDS or len(lower) > 4 else " ".join(name.upper())


def spell(text: str, ending: bool = True) -> str:
    """Read an address or name: signs as words, digits as numbers; the part behind the last dot as an ending."""
    stem, dot, last = text.rpartition(".")
    if ending and dot and last.isalnum() and last[-1:].isalpha():
        return f"{spell(stem, ending=False)} dot {_extension(last)}".strip()
    said = []
    for part in _PART.findall(text):
        if part[0].isdecimal():
            said.append(f" {whole(part) if len(part) < 5 else digits(part)} ")
        else:
            said.append(_SIGNS.get(part, part if part.isalpha() else " "))
    return " ".join("".join(said).split())


def _host(host: str) -> str:
    name, _, port = host.partition(":")
    name = re.sub(r"\Awww\.", "", name, flags=re.IGNORECASE)
    labels = name.split(".")
    said = " dot ".join(
        [spell(label, ending=False) for label in labels[:-1]]
        + [_extension(labels[-1]) if len(labels) > 1 and labels[-1].isalpha() else spell(labels[-1], ending=False)]
    )
    return said + (f" port {digits(port)}" if port else "")


def _url(match: Match) -> str:
    """Host and path; scheme, "www", query and fragment are not said."""
    host, path = match["host"], (match["path"] or "")
    end = ""
    while path and path[-1] in ".,;:!?)'\"":
        path, end = path[:-1], path[-1] + end
    path = re.split(r"[?#]", path, maxsplit=1)[0].strip("/")
    if _IP.fullmatch(host.partition(":")[0]):
        ip, _, port = host.partition(":")
        said = _ip_words(ip) + (f" port {digits(port)}" if port else "")
    else:
        said = _host(host)
    segments = [segment for segment in path.split("/") if segment]
    return said + "".join(f" slash {spell(segment)}" for segment in segments) + end


def _email(match: Match) -> str:
    return f"{spell(match['user'], ending=False)} at {_host(match['host'])}"


_IP = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}")


def _octet(text: str) -> str:
    value = int(text)
    if value < 100 or value % 100 == 0:
        return cardinal(value)
    head, tail = divmod(value, 100)
    return f"{cardinal(head)} {'oh ' if tail < 10 else ''}{cardinal(tail)}"


def _ip_words(text: str) -> str:
    return " dot ".join(map(_octet, text.split(".")))


def _ip(match: Match) -> str:
    mask = f" slash {cardinal(int(match['mask']))}" if match["mask"] else ""
    return _ip_words(match["ip"]) + (f" port {digits(match['port'])}" if match["port"] else "") + mask


def version(text: str) -> str:
    """`3.11.4` → "three point eleven point four"."""
    return " point ".join(whole(part) for part in text.split("."))


def _version(match: Match) -> str:
    tail = match["tail"] or ""
    return "version " + version(match["number"]) + (" " + spell(tail, ending=False) if tail else "")


def _product(match: Match) -> str:
    return f"{match['name']} {version(match['number'])}"


_OTHER_DOTTED = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}|\d{3}\.\d{3}\.\d{4}")  # a date, a phone number: not ours
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")


def _dotted(match: Match) -> str:
    text = match.group()
    if _OTHER_DOTTED.fullmatch(text):
        return text
    return whole(text.replace(".", "")) if _THOUSANDS.fullmatch(text) else version(text)


def _file(match: Match) -> str:
    return spell(match.group())


def _path(match: Match) -> str:
    return spell(match.group())


_URL_PATH = r"(?P<path>[/?#][^\s<>\"]*)?"
_PRODUCTS = "[Vv]ersions?|[Vv]er\\.|[Rr]elease|Python|Node|Java|Ruby|PHP|Go|Rust|Ubuntu|Debian|Fedora|Android|iOS|macOS|Linux|[Kk]ernel|PyTorch|Firmware"

RULES = (
    rule(r"(?<=://)[^\s/@]{1,200}@(?=[A-Za-z\d])", "", "@"),
    rule(r"(?<![\w.+\-])(?P<user>[\w.+\-]{1,64})@(?P<host>(?:[A-Za-z\d\-]{1,63}\.){1,6}[A-Za-z]{2,24})\b", _email, "@"),
    rule(r"\b[Mm]ailto:", "", ":"),
    rule(r"\b(?:https?|ftp|wss?)://(?P<host>[A-Za-z\d.\-]{1,255}(?<![.\-])(?::\d{1,5})?)" + _URL_PATH, _url, "/"),
    rule(r"\b(?P<host>www\.(?:[A-Za-z\d\-]{1,63}\.){1,6}[A-Za-z]{2,24})" + _URL_PATH, _url, "."),
    rule(r"\b(?P<host>localhost:\d{2,5})" + _URL_PATH, _url, ":"),
    rule(r"(?<![\w.@/])(?P<host>(?:[A-Za-z\d][A-Za-z\d\-]{0,62}\.){1,6}(?:" + _TLDS + r")(?::\d{2,5})?)(?![\w\-]|\.\w)" + _URL_PATH, _url, "."),
    rule(r"(?<![\w.])(?P<ip>(?:\d{1,3}\.){3}\d{1,3})(?::(?P<port>\d{1,5}))?(?:/(?P<mask>\d{1,2}))?(?![\w]|\.\d)", _ip, "."),
    rule(r"(?<![\w/~.])(?:~|\.{1,2})?(?:/[\w.\-]{1,80}){2,12}/?(?<![.,\-])", _path, "/"),
    rule(r"(?<![\w/~.])(?:~|\.{1,2})(?:/[\w.\-]{1,80}){1,12}/?(?<![.,\-])", _path, "/"),
    rule(r"\b[A-Za-z]:(?:\\[\w.\- ]{1,80}){1,12}(?<![.,\- ])", _path, "\\"),
    rule(r"(?<![\w.])(?:[\w\-]{1,60}\.){1,3}(?:" + _FILES + r")(?![\w\-]|\.\w)", _file, "."),
    rule(r"(?<![\w.])[vV](?P<number>\d{1,6}(?:\.\d{1,6}){0,5})(?P<tail>-[A-Za-z\d.]{1,20}(?<!\.))?(?![\w])", _version, "vV"),
    rule(r"\b(?P<name>" + _PRODUCTS + r") (?P<number>\d{1,4}(?:\.\d{1,4}){1,3})(?![\w]|\.\d)", _product, "."),
    rule(r"(?<![\w.,$£€¥])\d{1,4}(?:\.\d{1,4}){2,5}(?![\w,]|\.\d| ?[€£])", _dotted, "."),
)  # fmt: skip
"""Addresses before everything else: their dots, slashes and digits mean nothing else."""
