"""Intents: requests that have one right answer on this device, recognised exactly and answered at once.

The built-in ones are in `intents.toml`, which also explains the format. A person adds more in a file of their own
(setting `llm.intents`). Replies are fixed texts with a few blanks: nothing that was said reaches a shell or a format.
"""

from __future__ import annotations

import datetime
import random
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgevoice.errors import InputMissingError, SettingsError
from edgevoice.llm import arithmetic
from edgevoice.llm.generator import Exchange
from edgevoice.llm.phrases import phrase

_POLITE = re.compile(
    r"^(please|hey|okay|ok|so|well|um|uh|(can|could|would) you( please)?|please tell me) | (please|now please)$"
)
_SPELL = re.compile(r"(?:how do you |how is )?spell(?:ed)? (?:the word )?([a-z']{1,30})")
_BLANK = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Intent:
    """One intent: what is said, and what is answered."""

    name: str
    pattern: re.Pattern[str]
    replies: tuple[str, ...]


class Intents:
    """Answers plain words, or says that they are none of its business. Not thread-safe.

    `now` gives the local time; `own` is a person's file, read at once: InputMissingError, SettingsError.
    """

    def __init__(
        self,
        language: str = "en",
        own: Path | None = None,
        now: Callable[[], datetime.datetime] = datetime.datetime.now,
        chance: random.Random | None = None,
    ) -> None:
        self._now, self._chance, self._language = now, chance or random.Random(), language
        self._turn: dict[str, int] = {}
        builtin = tomllib.loads(files("edgevoice.llm").joinpath("intents.toml").read_text("utf-8"))
        self._intents = (read(own) if own else ()) + (parse(builtin) if language.startswith("en") else ())

    def reply(self, words: str, history: Sequence[Exchange] = ()) -> str | None:
        """The answer to `words` (case and punctuation do not matter), or None: ask the language model."""
        text = plain(words)
        for candidate in dict.fromkeys((text, _strip_polite(text))):
            for intent in self._intents:
                if intent.pattern.fullmatch(candidate):
                    return self._fill(intent, history)
            if self._language.startswith("en"):
                if found := arithmetic.answer(candidate):
                    return found
                if spelled := _SPELL.fullmatch(candidate):
                    return ", ".join(spelled[1].replace("'", "").upper()) + "."
        return None

    def fixed_replies(self) -> list[str]:
        """All replies without blanks, for the voice's phrase cache."""
        return [r for intent in self._intents for r in intent.replies if not _BLANK.search(r)]

    def _fill(self, intent: Intent, history: Sequence[Exchange]) -> str:
        turn = self._turn.get(intent.name, 0)
        self._turn[intent.name] = turn + 1
        reply = intent.replies[turn % len(intent.replies)]
        # "9 p.m." brings its own full stop.
        return _BLANK.sub(lambda m: self._blank(m[1], history), reply).replace("m..", "m.")

    def _blank(self, name: str, history: Sequence[Exchange]) -> str:
        now = self._now()
        match name:
            case "time":
                return f"{now.hour % 12 or 12}:{now.minute:02} {'a.m.' if now.hour < 12 else 'p.m.'}".replace(":00", "")
            case "date":
                return f"{now:%A}, {now:%B} {now.day}"
            case "weekday":
                return f"{now:%A}"
            case "year":
                return str(now.year)
            case "coin":
                return self._chance.choice(("Heads", "Tails"))
            case "die":
                return str(self._chance.randint(1, 6))
            case _:
                said = [e.assistant for e in history if e.assistant]
                return said[-1] if said else phrase("again", self._language)


_BLANKS = {"time", "date", "weekday", "year", "coin", "die", "last"}


def plain(words: str) -> str:
    """Lower case, no punctuation, single spaces."""
    text = re.sub(r"[^\w\s'.]|\.(?!\d)", " ", words.lower().replace("’", "'"))
    return " ".join(text.split())


def _strip_polite(text: str) -> str:
    while (shorter := _POLITE.sub("", text)) != text:
        text = shorter
    return text


def parse(table: dict[str, Any]) -> tuple[Intent, ...]:
    """Intents from a TOML document. Raises ValueError naming the intent."""
    return tuple(_intent(name, entry) for name, entry in table.items())


def _intent(name: str, entry: Any) -> Intent:
    say, reply = (entry.get("say"), entry.get("reply")) if isinstance(entry, dict) else (None, None)
    replies = _sentences([reply] if isinstance(reply, str) else reply)
    if not (sayings := _sentences(say)) or not replies:
        raise ValueError(f"intent {name!r} needs `say` (a list of phrases) and `reply` (a sentence or a list)")
    unknown = {b for r in replies for b in _BLANK.findall(r)} - _BLANKS
    if unknown:
        raise ValueError(f"intent {name!r}: unknown blank {{{min(unknown)}}}; known: {', '.join(sorted(_BLANKS))}")
    return Intent(name, re.compile("|".join(_pattern(s) for s in sayings)), replies)


def _sentences(value: Any) -> tuple[str, ...]:
    """A list of texts as it is; nothing for anything else."""
    return tuple(value) if isinstance(value, list) and all(isinstance(text, str) for text in value) else ()


def _pattern(phrase_text: str) -> str:
    """`[a|b]` optional, `(a|b)` one of them; everything else literally."""
    if not re.fullmatch(r"[^\[\]()]*(?:[\[(][^\[\]()]+[\])][^\[\]()]*)*", phrase_text):
        raise ValueError(f"phrase {phrase_text!r}: brackets do not match")
    out = ""
    for part in re.split(r"( ?\[[^]]+\]|\([^)]+\))", phrase_text.lower()):
        inner = "|".join(re.escape(p) for p in part.strip(" []()").split("|"))
        if part.endswith("]"):
            out += f"(?:{' ' if part.startswith(' ') else ''}(?:{inner}))?"
        elif part.startswith("("):
            out += f"(?:{inner})"
        else:
            out += re.escape(part)
    return out


def read(path: Path) -> tuple[Intent, ...]:
    """A person's own intents. Raises InputMissingError or SettingsError naming the file."""
    try:
        text = path.expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputMissingError(str(path), str(error), "check the setting llm.intents") from error
    try:
        return parse(tomllib.loads(text))
    except ValueError as error:
        raise SettingsError(str(path), str(error), "see edgevoice/llm/intents.toml for the format") from error
