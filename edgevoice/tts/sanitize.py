"""Streaming sanitiser: what a language model writes, without what nobody would read aloud.

Every decision depends on the text before a character and on a bounded piece after it, never on how the text was cut
into tokens. What cannot be decided yet is held back (at most `HOLD` characters) and settled by `flush`.

How a person would read it, and so do we:

* emphasis, headings, list bullets, block quotes, rules, HTML tags, emoji, role labels, stop strings: dropped;
* links and images: their text, never the address; footnote marks and `[1]` after a space: dropped;
* the brackets around formulas, `\\(…\\)` and `\\[…\\]`: dropped;
* code spans, also in three backticks: the code itself; fenced code blocks (nothing but a name on the line of the
  opening fence): the one word "code"; fences marked as plain text: their text;
* table rows: the cells with commas between them; the line of dashes is dropped;
* `<think>…</think>` and the like: dropped, up to the end if it is never closed.

Runs of white space become one space, one newline or both; a newline stays, because it ends a clause.
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5

from edgevoice.tts.text import markup
from edgevoice.tts.text.characters import BREAK, clean

HOLD = 300
"""Most characters held back while a tag or a link may still be closing."""

_PIECE = 512  # long input is taken in pieces: rewriting the held text then costs little
_LINK_END = "\ufdd1"  # stands for `](`: the address follows
_REFERENCE = "\ufdd2"  # stands for `][`: the name of a reference follows
_PLAIN = re.compile(r"[^\s\\`*_~\[!<&|\ufdd0-\ufdd2]+")
_CODE = re.compile(r"[^\s`\ufdd0]+")
_SPACES = re.compile(r"\s+")
_BRACKETED = re.compile(r"[^\[\]\n]*")
_REFERENCE_END = re.compile(r"\]|(?=\n)")
_FENCE = re.compile(r"`{3,}(?P<info>[^\n]*?)(?P<end>\n|```|\Z)")
_LINE_END = re.compile(r"(?=\n)")
_DEFINITION_LENGTH = 40
_RUN = {mark: re.compile(re.escape(mark) + "+") for mark in "*_~`#-="}
_ESCAPABLE = frozenset("\\`*_{}[]()#+-.!|<>~$&")
_BULLETS = frozenset("-*+•◦‣▪●○·")


class Sanitizer:
    """Clean one answer as it is written: `feed` each piece, then `flush`. One instance serves one answer after another.

    `"".join(feed(piece) for piece in pieces) + flush()` is the same for every way of cutting the text into pieces.
    Memory is bounded by the longest piece; time is linear in the text.
    """

    def __init__(self) -> None:
        self._held = ""
        self._out: list[str] = []
        self._reset()

    def _reset(self) -> None:
        self._held = ""
        self._last = "\n"  # last character written
        self._line_start = True  # nothing written on this line yet
        self._turn_start = True  # nothing written in this answer, or since a marker of a turn
        self._item = False  # behind a list bullet
        self._gap = ""  # what goes before the next word: "" or " " or ", "; an emoji leaves "?"
        self._until: re.Pattern[str] | None = None  # dropping everything up to here
        self._until_length = 0
        self._dropping = ""  # dropping further repeats of this character
        self._role_next = False  # a turn marker was dropped: a role name may follow
        self._code = 0  # inside a code span: the number of backticks that opened it, at most 3
        self._plain_fence = False  # inside a fence marked as plain text
        self._table = False  # on a table row
        self._address_depth = 0  # inside a link's address
        self._open: set[str] = set()  # emphasis marks open on this line

    def feed(self, text: str) -> str:
        """Take the next piece; returns what is certain to be spoken."""
        for begin in range(0, len(text), _PIECE):
            self._held += clean(text[begin : begin + _PIECE])
            self._scan(final=False)
        return self._written()

    def flush(self) -> str:
        """The answer has ended: returns the rest and forgets everything."""
        self._scan(final=True)
        rest = self._written()
        self._reset()
        return rest

    def _written(self) -> str:
        written = "".join(self._out)
        self._out.clear()
        return written

    def _scan(self, final: bool) -> None:
        at = 0
        while at < len(self._held):
            after = self._step(at, final)
            if after is None:
                if not final:
                    break
                after = self._word(self._held[at], at + 1)  # nothing more comes: the character stands for itself
            at = after
        self._held = self._held[at:]

    # --- steps: each returns the position after what it took, or None when it must see more text ------------------

    def _step(self, at: int, final: bool) -> int | None:
        text, ch = self._held, self._held[at]
        if self._until is not None:
            return self._skip(self._until, at, final)
        if self._address_depth:
            return self._skip_address(at)
        if ch == self._dropping:
            return at + 1
        self._dropping = ""
        if self._role_next and (role := self._role_name(at, final)) != at:
            return role
        if ch.isspace():
            return self._space(at)
        if ch == BREAK:
            self._gap = self._gap or "?"
            return at + 1
        if self._code and ch != "`":
            code = _CODE.match(text, at)
            return self._word(code.group(), code.end()) if code else at + 1
        if self._line_start and (marker := self._line_marker(at, final)) != at:
            return marker
        if ch in "*_~`":
            return self._mark(at, final)
        if ch == "\\":
            return self._escape(at)
        if ch == "[" or (ch == "!" and self._before().isspace()):
            return self._bracket(at, final)
        if ch == "<":
            return self._angle(at, final)
        if ch == "&":
            return self._entity(at, final)
        if ch == "|" and self._table:
            self._gap = ", "
            return at + 1
        if ch == _LINK_END:
            self._address_depth = 1
            return at + 1
        if ch == _REFERENCE:
            self._until, self._until_length = _REFERENCE_END, 1
            return at + 1
        plain = _PLAIN.match(text, at)
        end = plain.end() if plain else at + 1
        return self._word(text[at:end], end)

    def _before(self) -> str:
        """The character that stands before the next one: a space if one is waiting to be written."""
        return " " if self._gap in (" ", ", ") else self._last

    def _word(self, text: str, after: int) -> int:
        gap, self._gap = self._gap, ""
        if gap == "?":
            gap = " " if self._last.isalnum() and text[:1].isalnum() else ""
        if gap and not self._line_start:
            self._out.append(gap)
        self._out.append(text)
        self._last = text[-1]
        self._line_start = self._turn_start = self._role_next = False
        return after

    def _newline(self) -> None:
        if self._last != "\n":
            self._out.append("\n")
            self._last = "\n"
        self._line_start = True
        self._table = self._item = False
        self._code = 0
        self._gap = ""
        self._open.clear()

    def _space(self, at: int) -> int:
        """A run of white space is written as a space at once, and as a newline when there is one in it."""
        run = _SPACES.match(self._held, at)
        end = run.end() if run else at + 1
        if self._held[at] != "\n":
            if self._table:
                self._gap = ", " if self._gap == ", " else " "
            elif not self._last.isspace():
                self._out.append(" ")
                self._last = " "
        if "\n" in self._held[at:end]:
            self._newline()
        return end

    def _skip(self, until: re.Pattern[str], at: int, final: bool) -> int | None:
        """Inside something dropped: look for its end, and keep only what may be the beginning of that end."""
        found = until.search(self._held, at)
        if found:
            self._until = None
            if found.group().endswith("`"):
                self._dropping = "`"  # a fence of more than three
            return found.end()
        keep = len(self._held) if final else max(at, len(self._held) - self._until_length + 1)
        return keep if keep > at else None

    def _drop_until(self, end: str) -> None:
        self._until, self._until_length = re.compile(re.escape(end), re.IGNORECASE | re.ASCII), len(end)

    def _skip_address(self, at: int) -> int:
        ch = self._held[at]
        if ch == "\n":
            self._address_depth = 0  # never closed: the address ends with its line
            return at
        self._address_depth += {"(": 1, ")": -1}.get(ch, 0)
        return at + 1

    def _role_name(self, at: int, final: bool) -> int | None:
        """`<|im_start|>assistant`: the role after the marker is dropped too."""
        word = self._held[at : at + 10].lower()
        for role in markup.ROLES:
            if word.startswith(role):
                self._role_next = False
                return at + len(role)
        if not final and any(role.startswith(word) for role in markup.ROLES):
            return None
        self._role_next = False
        return at

    def _line_marker(self, at: int, final: bool) -> int | None:
        """Bullets, headings, quotes, rules, table borders and role labels; `at` itself when there is none."""
        text, ch = self._held, self._held[at]
        following = text[at + 1 : at + 2] or ("\n" if final else "")
        if self._table:
            return self._table_rule(at, final)
        if ch == "|":
            self._table = True
            return at + 1
        if ch == ">":
            return None if not following else at if following == "=" else at + 1
        if ch in "-=*_~#":
            run = _RUN[ch].match(text, at)
            end = run.end() if run else at + 1
            length, most = end - at, 7 if ch == "#" else 3
            if length >= most:
                self._dropping = ch  # a line drawn with characters
                self._open.add(ch * 3)
                return end
            if end == len(text) and not final:
                return None
            blank = text[end : end + 1].isspace() or end == len(text)
            bullet = blank and length == 1 and ch in _BULLETS
            self._item = self._item or bullet
            return end if bullet or (blank and ch == "#") else at
        if ch in _BULLETS:
            if not following:
                return None
            self._item = following.isspace() or ch not in "+·"
            return at + 1 if self._item else at
        if ch.isalpha() and not self._item:
            roles = markup.ROLES if self._turn_start else markup.ALWAYS_ROLES
            return markup.after_role_label(text, at, final, roles)
        return at

    def _table_rule(self, at: int, final: bool) -> int | None:
        """Between a row's start and its first text: borders and dashes are dropped, the sign of a number is kept."""
        run = markup.TABLE_RULE.match(self._held, at)
        if not run:
            return at
        end = run.end()
        if end - at < HOLD and end == len(self._held) and not final:
            return None
        sign = run.group().rsplit("|", 1)[-1].strip(" \t:")
        following = self._held[end : end + 1]
        if end - at < HOLD and following and following != "\n" and sign in ("-", "+", "="):
            return self._word(sign, end)
        return end

    def _mark(self, at: int, final: bool) -> int | None:
        """Emphasis, code spans and fences, told from maths and names by what stands on both sides."""
        text, ch = self._held, self._held[at]
        run = _RUN[ch].match(text, at)
        end = run.end() if run else at + 1
        length = end - at
        if ch == "`" and length >= 3:
            return self._fence(at, final)
        if length >= 4:
            self._dropping = ch
            return end
        if end == len(text) and not final:
            return None
        if ch == "`":
            if self._code in (0, length):
                self._code = length - self._code
            return end
        mark, following = text[at:end], text[end : end + 1] or "\n"
        if markup.is_literal(mark, self._before(), following, mark in self._open, self._line_start):
            return self._word(mark, end)
        if mark in self._open:
            self._open.discard(mark)
        else:
            self._open.add(mark)
        return end

    def _fence(self, at: int, final: bool) -> int | None:
        """Three backticks or more: a fence, or a code span if three more or the end of the text come on its line."""
        if self._plain_fence or self._code:
            self._plain_fence, self._code, self._dropping = False, 0, "`"
            return at + 3
        fence = _FENCE.match(self._held, at, at + HOLD)
        assert fence
        line_end, cut = fence["end"] == "\n", fence.end() == at + HOLD
        if not (fence["end"] or cut or final):
            return None
        if fence["end"] == "```" or not (line_end or cut):
            self._code = 3
        elif line_end and fence["info"].strip().lower() in markup.PLAIN_FENCES:
            self._plain_fence = True
            return fence.end("info")
        else:
            self._word("code.", at)
            self._newline()
            self._drop_until("```")
        return fence.start("info")

    def _escape(self, at: int) -> int | None:
        following = self._held[at + 1 : at + 2]
        if not following:
            return None
        if following in "()[]":
            self._gap = self._gap or "?"  # begins or ends a formula
            return at + 2
        return self._word(following, at + 2) if following in _ESCAPABLE else self._word("\\", at + 1)

    def _bracket(self, at: int, final: bool) -> int | None:
        """Links, images, footnote marks, task boxes; anything else in brackets stays."""
        text = self._held
        start = at + (text[at] == "!")
        if start == len(text):
            return None
        if text[start] != "[":
            return self._word("!", start)
        inside = _BRACKETED.match(text, start + 1)
        close = inside.end() if inside else start + 1
        if close - start <= HOLD and close == len(text) and not final:
            return None
        literal = text[at : start + 1]
        if close - start > HOLD or text[close : close + 1] != "]":
            return self._word(literal, start + 1)
        inner, following = text[start + 1 : close], text[close + 1 : close + 2]
        if not following and not final:
            return None
        if following == "(":
            self._held = text[:at] + inner + _LINK_END + text[close + 2 :]
            return at
        spaced = not self._before().isalnum()
        note = inner.startswith("^") or (inner.isdigit() and spaced)
        if following == ":" and self._line_start and inner:
            definition = self._definition(close + 2, final)
            if definition is None:
                return None
            if definition:
                self._until, self._until_length = _LINE_END, 1
            if definition or note:
                return close + 2
        if following == "[" and spaced and inner and not note:
            self._held = text[:at] + inner + _REFERENCE + text[close + 2 :]
            return at
        mark = note or inner.upper() in ("INST", "/INST")
        box = self._line_start and inner in (" ", "x", "X")
        return close + 1 if mark or box else self._word(literal, start + 1)

    def _definition(self, at: int, final: bool) -> bool | None:
        """Does an address follow, as in `[id]: https://example.com`? None while that is open."""
        rest, newline, _ = self._held[at : at + _DEFINITION_LENGTH].partition("\n")
        known = final or newline or len(rest) == _DEFINITION_LENGTH or len(rest.lstrip(" <")) >= len("https://")
        return bool(markup.DEFINITION.match(rest)) if known else None

    def _angle(self, at: int, final: bool) -> int | None:
        text = self._held
        start = text[at : at + HOLD]
        waits = not final and len(start) < HOLD
        if start.startswith("<!--"):
            self._drop_until("-->")
            return at + 4
        if token := markup.PIPE_TOKEN.match(start):
            self._role_next = token.group() in markup.STARTS_TURN
            self._turn_start = True
            return at + token.end()
        if link := markup.AUTOLINK.match(start):
            return self._word(link.group(1), at + link.end())
        letter = markup.LETTER_TAG.match(start) if self._before().isalnum() else None
        if letter:  # `a<b>c`, unless it is closed on its line
            line, newline, _ = start.partition("\n")
            if f"</{letter.group(1)}>" not in line:
                return None if waits and not newline else self._word(letter.group(), at + letter.end())
        if tag := markup.TAG.match(start):
            return self._tag(tag.group(2).lower(), bool(tag.group(1)), at, at + tag.end())
        if waits and ("<!--".startswith(start) or markup.PIPE_TOKEN_BEGUN.match(start)):
            return None
        if waits and markup.AUTOLINK_BEGUN.match(start):
            return None
        begun = markup.TAG_BEGUN.match(start)
        if begun and (name := (begun.group(1) or "").lower()) is not None:
            if waits and any(known.startswith(name) for known in markup.KNOWN_TAGS):
                return None
            if final and name in markup.HIDDEN_TAGS:
                return len(text)
        return self._word("<", at + 1)

    def _tag(self, name: str, closing: bool, at: int, after: int) -> int:
        if name not in markup.KNOWN_TAGS:
            return self._word("<", at + 1)
        if name in markup.HIDDEN_TAGS:
            if closing:
                self._newline()  # it was opened in the prompt: the answer begins here
            else:
                self._gap = self._gap or "?"
                self._drop_until(f"</{name}>")
        elif name in markup.BLOCK_TAGS:
            self._newline()
        self._role_next = name in markup.STARTS_TURN
        self._turn_start = self._turn_start or name in markup.STOP_TAGS
        return after

    def _entity(self, at: int, final: bool) -> int | None:
        entity = markup.ENTITY.match(self._held, at)
        if entity and (entity.group(1)[0] == "#" or entity.group(1) + ";" in html5):
            meant = clean(unescape(entity.group())).replace(BREAK, " ")
            if not meant.isspace():
                return self._word(meant, entity.end()) if meant else entity.end()
            self._held = self._held[:at] + " " + self._held[entity.end() :]
            return at
        if not entity and not final and markup.ENTITY_BEGUN.match(self._held, at):
            return None
        return self._word("&", at + 1)
