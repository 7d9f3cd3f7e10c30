"""From raw bytes of a model to an answer fit to be spoken: stop texts, loops, half sentences, role labels."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence

from edgevoice.llm.thoughts import ThoughtFilter, partial_match
from edgevoice.tts.text.borders import Border, sentence_end

_SENTENCE_END = re.compile(r"""([.!?…])["')\]]*(?=\s|$)""")
_ROLE = re.compile(r"^(assistant|user)\s*:\s*", re.IGNORECASE)


def _ends(text: str) -> Iterator[tuple[int, Border]]:
    """Position after each mark that may end a sentence, and what it is: a stop after `Dr.` or `1.` is no end."""
    start = 0
    for found in _SENTENCE_END.finditer(text):
        before, after = text[start : found.start()].rpartition("\n")[2], text[found.end(1) : found.end(1) + 2]
        border = sentence_end(before, found[1], after or " ", eager=False)
        if border is not Border.NONE:
            start = found.end()
            yield start, border


def sentences_end(text: str) -> int:
    """Position after the last sentence end of `text`, 0 if there is none."""
    return max((end for end, _ in _ends(text)), default=0)


def trim_to_sentence(text: str) -> str:
    """`text` up to its last whole sentence; all of it if it has none."""
    return text[: sentences_end(text)] or text


def loops(tokens: Sequence[int], longest: int = 12, times: int = 3) -> bool:
    """Whether the last tokens are one run of up to `longest` tokens, said `times` times over."""
    for period in range(1, longest + 1):
        tail = tokens[-period * times :]
        if len(tail) == period * times and all(tail[i] == tail[i - period] for i in range(period, len(tail))):
            return True
    return False


class ReplyText:
    """Turns the stream of bytes of one answer into the stream of text that may be spoken.

    The first sentence is passed on piece by piece, because somebody waits for it. Later sentences are passed on whole,
    so that an answer cut off by its token limit never ends in half a sentence: they are ready long before the voice
    needs them. What is passed on, joined, does not depend on how the bytes were cut.
    """

    def __init__(self, stops: Sequence[str] = (), thinking: bool = False) -> None:
        """`thinking`: the prompt has opened a thought, which the answer goes on with."""
        self._stops = tuple(stops)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._thoughts = ThoughtFilter(thinking)
        self._raw = ""
        self._given = 0
        """Characters of `_body` passed on."""
        self.done = False
        """A stop text was met: nothing more is taken."""

    def add(self, piece: bytes) -> str:
        """Take the next bytes; the text that may be passed on now (possibly that of earlier pieces, or none)."""
        if self.done:
            return ""
        self._raw += self._thoughts.add(self._decoder.decode(piece))
        if _label_may_follow(self._raw):
            return ""
        body = self._body()
        return self._give(body.rstrip() if self.done else body[: self._safe(body)])

    def finish(self, cut: bool = False) -> str:
        """The rest. With `cut` (token limit, loop) half a sentence is dropped, unless it is all there is."""
        if self.done:
            return ""
        self._raw += self._thoughts.add(self._decoder.decode(b"", final=True)) + self._thoughts.finish()
        body = self._body().rstrip()
        text = trim_to_sentence(body) if cut and not self.done else body
        self.done = True
        return self._give(text)

    @property
    def sentence_over(self) -> bool:
        """Whether the answer could stop here without half a sentence having been passed on."""
        body = self._body().rstrip()
        return sentences_end(body) >= max(self._given, 1)

    def _body(self) -> str:
        """The answer so far: no blank lines or role label before it, and up to the first stop text."""
        body = _ROLE.sub("", self._raw.lstrip(), count=1)
        found = [p for s in self._stops if (p := body.find(s)) >= 0]
        self.done = self.done or bool(found)
        return body[: min(found)] if found else body

    def _safe(self, body: str) -> int:
        """How much of `body` is right however it goes on: no part of a stop text, no space at its end."""
        text = body[: len(body) - partial_match(body, self._stops)]
        # A mark at the very end may be that of "3.5" or "Dr.": only a space after it shows that a sentence has ended.
        ends = [end for end, border in _ends(text) if end < len(text) and border is Border.END]
        return ends[-1] if ends else len(text.rstrip())

    def _give(self, text: str) -> str:
        new = text[self._given :]
        self._given = max(self._given, len(text))
        return new


def _label_may_follow(raw: str) -> bool:
    """Whether `raw` may be the beginning of a role label, or is one and nothing else."""
    begun = "".join(raw.lower().split())
    return any(label.startswith(begun) for label in ("assistant:", "user:"))
