"""Clause buffering: the answer's tokens in, pieces worth speaking out, as early as is safe.

The rules, in the order in which they are tried:

1. A sentence end (`.?!…`, a newline) ends a clause. What is certain from the text before it is given out at once
   (`!`, `?`, and in the first clause a full stop after an ordinary word); anything that could be an abbreviation, an
   initial, a number, an address or a file name waits for the next character (`No.` and numbers for two). The full
   stop of an abbreviation or initial never ends a clause.
2. `,;:—` end the *first* clause once it has `first_min` words, later ones once they have `later_min`.
3. From `soft` tokens on, a clause ends at the next word border that does not tear things apart (`Dr. Smith`, `5 km`,
   `the end`); at `hard` tokens at the last word border there is, or anywhere. `max_chars` is the same for text without
   end.
4. `idle_s` after the last token, what waits is given out up to a word border, if that is at least two tokens. A word,
   a number or an abbreviation that may still go on stays. `flush` gives out everything.

The border lies directly behind the mark; white space, closing quotes and further marks lead the next clause, so that
nothing has to be waited for. Joined, the clauses are exactly the text. Rules 1 and 2 and `max_chars` look at the text
alone, never at how it was cut into tokens.
"""

from __future__ import annotations

import re

from edgevoice.tts.text.borders import Border, good_cut, pause, sentence_end

_SENTENCE = ".?!…。！？"
_PAUSE = ",;:—，；：、"
_MARK = re.compile(f"[{re.escape(_SENTENCE + _PAUSE)}\n]")
_LOOK_AHEAD = 2
_WORDS = re.compile(r"\w+(?:['’.\-]\w+)*")


class ClauseBuffer:
    """Collects tokens into clauses. Times are monotonic seconds, given by the caller. Not thread-safe."""

    def __init__(
        self,
        first_min: int = 3,
        soft: int = 24,
        hard: int = 64,
        *,
        later_min: int = 8,
        idle_s: float = 0.25,
        max_chars: int = 600,
        eager: bool = True,
    ) -> None:
        """`first_min`, `later_min`: words; `soft`, `hard`: tokens; `idle_s`: seconds; `max_chars`: characters.

        `eager`: take the first clause's full stop after an ordinary word for an end at once. It saves one token's time;
        False waits for the next token every time.
        """
        self._first_min, self._later_min = first_min, later_min
        self._soft, self._hard = soft, hard
        self._idle_s, self._max_chars, self._eager = idle_s, max_chars, eager
        self._reset()

    def _reset(self) -> None:
        self._text = ""
        self._scanned = 0  # marks before this are decided
        self._starts: list[int] = []  # where the tokens of the waiting text begin
        self._first = True
        self._last_token = 0.0

    @property
    def waiting(self) -> str:
        """The text that was fed and not yet given out."""
        return self._text

    def feed(self, token_text: str, now: float) -> list[str]:
        """Take a token; returns the clauses it completes."""
        if not token_text:
            return []
        self._last_token = now
        self._starts.append(len(self._text))
        self._text += token_text
        clauses = self._punctuated(ended=False)
        return clauses + self._too_long()

    def tick(self, now: float) -> list[str]:
        """Call it while no token comes: after `idle_s` of silence the waiting clause is given out."""
        if not self._text or now - self._last_token < self._idle_s:
            return []
        end = self._idle_border()
        if not end or sum(start < end for start in self._starts) < 2 or not _WORDS.search(self._text[:end]):
            return []
        return [self._cut(end)]

    def flush(self) -> list[str]:
        """The answer has ended: returns what is left, a lone token too, and begins anew."""
        clauses = self._punctuated(ended=True)
        if self._text:
            clauses.append(self._text)
        self._reset()
        return clauses

    def _punctuated(self, ended: bool) -> list[str]:
        clauses = []
        while (end := self._next_end(ended)) is not None:
            clauses.append(self._cut(end))
        return clauses

    def _next_end(self, ended: bool) -> int | None:
        """The end of the waiting text's first clause by rules 1 and 2 and by length."""
        for found in _MARK.finditer(self._text, self._scanned, self._max_chars):
            at = found.start()
            border = self._border(at, ended)
            if border is Border.UNSURE:
                self._scanned = at
                return None
            self._scanned = at + 1
            if border is Border.END:
                return at + 1
        if len(self._text) < self._max_chars:
            self._scanned = len(self._text)
            return None
        return self._last_border(self._max_chars) or self._max_chars

    def _border(self, at: int, ended: bool) -> Border:
        before, mark = self._text[:at], self._text[at]
        after = self._text[at + 1 : at + 1 + _LOOK_AHEAD]
        ended = ended and at + 1 + _LOOK_AHEAD > len(self._text)
        if mark == "\n":
            return Border.END if _WORDS.search(before) else Border.NONE
        if not _WORDS.search(before):
            return Border.NONE
        if mark in _SENTENCE:
            return sentence_end(before, mark, after, ended, eager=self._eager and self._first)
        least = self._first_min if self._first else self._later_min
        return pause(before, mark, after, ended) if len(_WORDS.findall(before)) >= least else Border.NONE

    def _too_long(self) -> list[str]:
        if len(self._starts) < self._soft:
            return []
        begin = self._starts[self._soft - 1]
        for space in re.finditer(r"\s+", self._text[begin:]):
            end = begin + space.start()
            if end and not self._text[end - 1].isspace() and good_cut(self._text[:end]):
                return [self._cut(end)]
        if len(self._starts) < self._hard:
            return []
        return [self._cut(self._last_border(len(self._text)) or len(self._text))]

    def _last_border(self, limit: int) -> int:
        """The last word border before `limit`; 0 when there is none."""
        return max((space.start() for space in re.finditer(r"(?<=\S)\s", self._text[:limit])), default=0)

    def _idle_border(self) -> int:
        """How far the waiting text can be spoken without knowing what follows."""
        text = self._text.rstrip()
        if len(text) < len(self._text) and good_cut(text):
            return len(text)  # the last word is complete
        if text[-1:] in _PAUSE and not text[-2:-1].isdigit():
            return len(text)
        if text[-1:] in _SENTENCE and sentence_end(text[:-1], text[-1], "") is not Border.NONE:
            word = text[:-1].split()[-1:]
            if word and word[0].isalpha() and len(word[0]) > 1:
                return len(text)
        borders = [space.start() for space in re.finditer(r"(?<=\S)\s", text)]
        return next((end for end in reversed(borders) if good_cut(text[:end])), 0)

    def _cut(self, end: int) -> str:
        clause, self._text = self._text[:end], self._text[end:]
        self._scanned = max(0, self._scanned - end)
        inside = [start - end for start in self._starts if start >= end]
        torn = [0] if self._text and (not inside or inside[0] > 0) else []
        self._starts = torn + inside
        self._first = False
        return clause
