"""Prompts: how a conversation is laid out as text for a model, so that each turn only adds to the last one.

A prompt is a list of pieces that are turned into tokens one by one. That keeps the tokens of what was said earlier
independent of what follows, which is what makes the KV cache usable while the user is still speaking.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Protocol

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from edgevoice.errors import ModelDataError
from edgevoice.llm.generator import Exchange

INSTRUCTION = (
    "You are a voice assistant. Answer in one short sentence, the way people speak: no lists, no symbols, no markdown."
)

_QUESTION = re.compile(
    r"(what|who|whose|whom|which|when|where|why|how|is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|"
    r"has|have|had|isn't|aren't|don't|doesn't|didn't|can't|won't)('s|'re|'ll|'d)?\b"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt in pieces."""

    fixed: str
    """The part that is the same in every turn."""
    pairs: tuple[str, ...]
    """One text for each exchange of the history, oldest first."""
    opening: str
    """What comes before the user's words."""
    words: tuple[str, ...]
    """The user's words, each with the space before it."""
    closing: str
    """What comes after them, up to where the answer begins."""


class Prompt(Protocol):
    """Lays a conversation out for one kind of model."""

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts that end the answer."""

    @property
    def special(self) -> bool:
        """Whether the layout's own texts hold control tokens."""

    def layout(self, history: Sequence[Exchange], words: str) -> Layout:
        """The prompt for `words` after `history`."""


class FewShotPrompt:
    """For base models, which continue texts: a transcript of short, good answers that the model goes on with."""

    stops = ("\n", "User:", "Assistant:")
    special = False

    def __init__(self) -> None:
        self._examples = ""

    def layout(self, history: Sequence[Exchange], words: str) -> Layout:
        """See `Prompt`."""
        if not self._examples:
            self._examples = files("edgevoice.llm").joinpath("examples.txt").read_text("utf-8")
        said = written(words)
        return Layout(
            fixed=self._examples,
            pairs=tuple(f"User: {' '.join(written(e.user))}{mark(e.user)}\nAssistant: {_heard(e)}\n" for e in history),
            opening="User:",
            words=tuple(f" {w}" for w in said),
            closing=f"{mark(words)}\nAssistant:",
        )


class ChatPrompt:
    """For models that bring a chat template of their own. `template` is the Jinja text from the model file."""

    special = True
    _PLACE = "\N{OBJECT REPLACEMENT CHARACTER}"

    def __init__(self, template: str, bos: str = "", eos: str = "") -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        try:
            self._template = environment.from_string(template)
        except jinja2.TemplateError as error:
            raise ModelDataError("chat template", f"the model's template is not usable ({error})") from error
        # The begin-of-text token is put in front when the text is tokenised; a second one would harm the answer.
        self._names: dict[str, Any] = {"bos_token": "", "eos_token": eos, "add_generation_prompt": True, "tools": None}
        self._bos = bos
        self.stops = tuple(s for s in (eos,) if s)

    def layout(self, history: Sequence[Exchange], words: str) -> Layout:
        """See `Prompt`."""
        # Rendered once per exchange count: the texts of earlier exchanges are a prefix of those of later ones.
        steps = [self._before([]), *(self._before(history[: i + 1]) for i in range(len(history)))]
        pairs = tuple(b.removeprefix(a) for a, b in itertools.pairwise(steps))
        whole = self._render(history, self._PLACE)
        opening, _, closing = whole.removeprefix(steps[-1]).partition(self._PLACE)
        said = written(words)
        return Layout(
            fixed=steps[0],
            pairs=pairs,
            opening=opening,
            words=tuple(w if i == 0 else f" {w}" for i, w in enumerate(said)),
            closing=f"{mark(words)}{closing}",
        )

    def _before(self, history: Sequence[Exchange]) -> str:
        """The rendered text up to where the next user message would begin its own markup."""
        one, two = self._render(history, self._PLACE), self._render(history, self._PLACE * 2)
        return one[: next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))].partition(
            self._PLACE
        )[0]

    def _render(self, history: Sequence[Exchange], last: str) -> str:
        messages = [{"role": "system", "content": INSTRUCTION}]
        for exchange in history:
            user = " ".join(written(exchange.user)) + mark(exchange.user)
            messages += [{"role": "user", "content": user}, {"role": "assistant", "content": _heard(exchange)}]
        messages.append({"role": "user", "content": last})
        try:
            return self._template.render(messages=messages, **self._names)
        except jinja2.TemplateError:
            # Some templates refuse a system message: it goes in front of the first thing the user said.
            first = {"role": "user", "content": f"{INSTRUCTION}\n\n{messages[1]['content']}"}
            try:
                return self._template.render(messages=[first, *messages[2:]], **self._names)
            except jinja2.TemplateError as error:
                raise ModelDataError("chat template", f"the model's template is not usable ({error})") from error


def _refuse(message: str) -> None:
    raise jinja2.TemplateError(message)


def _heard(exchange: Exchange) -> str:
    """The answer as the user heard it. An answer that was cut off ends in a dash, so that the model knows."""
    text = " ".join(exchange.assistant.split())
    return f"{text} -" if exchange.interrupted and text else text


def written(words: str) -> list[str]:
    """Spoken words as they are written: first letter and "I" in capitals. Each word depends on nothing after it."""
    said = words.split()
    fixed = ["I" + w[1:] if w == "i" or w.startswith("i'") else w for w in said]
    return [w[:1].upper() + w[1:] if i == 0 else w for i, w in enumerate(fixed)]


def mark(words: str) -> str:
    """The punctuation mark that the words lack: `?` after a question, else `.`; nothing if they have one."""
    text = words.strip()
    if not text or text[-1] in ".?!":
        return ""
    return "?" if _QUESTION.match(text.lower()) else "."
