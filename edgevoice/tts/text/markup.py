"""What counts as markup: tables for the sanitiser."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The set of the text's words."""
    return frozenset(text.split())


ROLES = ("assistant", "user", "system", "model", "chatbot", "human", "bot", "ai")
"""Speakers of a transcript prompt: `System:` at the start of an answer or of a turn is not spoken."""

ALWAYS_ROLES = ("assistant", "user")
"""Speakers whose label is not spoken on any line: the others are words of ordinary lists, too."""

HIDDEN_TAGS = frozenset(
    ("think", "thinking", "thought", "reasoning", "scratchpad", "tool_call", "tool_response", "script", "style")
)
"""Elements whose whole content is dropped, unclosed too."""

STOP_TAGS = frozenset(
    ("end_of_turn", "start_of_turn", "eos", "bos", "pad", "unk", "s", "sep", "cls", "mask", "eot", "eod", "answer")
)
"""Markers of chat templates written as tags."""

STARTS_TURN = frozenset(("start_of_turn", "<|im_start|>", "<|start_header_id|>", "<|start|>"))
"""Markers that a role name follows."""

BLOCK_TAGS = words(
    "address article aside blockquote body br center dd details div dl dt fieldset figcaption figure footer form"
    " h1 h2 h3 h4 h5 h6 head header hr html li main nav ol option p pre section select summary table tbody td"
    " tfoot th thead title tr ul"
)
"""HTML elements that begin a new line."""

HTML_TAGS = BLOCK_TAGS | words(
    "a abbr audio b bdi bdo big button canvas caption cite code col colgroup data del dfn em font i iframe img"
    " input ins kbd label link mark meta object picture q rp rt ruby s samp small source span strike strong sub"
    " sup svg template textarea time tt u var video wbr"
)
"""HTML elements; `<int>` or `<name>` are none and stay."""

KNOWN_TAGS = HIDDEN_TAGS | STOP_TAGS | HTML_TAGS

PLAIN_FENCES = frozenset(("text", "txt", "plain", "plaintext", "markdown", "md"))
"""Fences with these names hold text for people, not code."""

EMOJI = re.compile(
    "[\u2190-\u21ff\u231a-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff\U000e0000-\U000e0fff]"
)
"""Pictures: emoji, dingbats, boxes and arrows (arrows that mean something are rewritten before, see `KEPT_SYMBOLS`)."""

KEPT_SYMBOLS = frozenset("→←↔⇒×÷✕✖")
"""Symbols of the ranges above that are read aloud."""

PIPE_TOKEN = re.compile(r"<\|[A-Za-z0-9_\-]{1,40}\|>")
PIPE_TOKEN_BEGUN = re.compile(r"<(?:\|(?:[A-Za-z0-9_\-]{1,40}\|?)?)?\Z")
ENTITY = re.compile(r"&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
ENTITY_BEGUN = re.compile(r"&(?:#|#\d{1,7}|#[xX][0-9a-fA-F]{0,6}|[A-Za-z][A-Za-z0-9]{0,30})?\Z")
AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^<>\s]+)>")
AUTOLINK_BEGUN = re.compile(r"<(?:h|ht|htt|https?|https?:|https?:/|(?:https?://|mailto:)[^<>\s]*)\Z")
TAG = re.compile(
    r"<(/?)([A-Za-z][A-Za-z0-9_\-]{0,19})"
    r"""(?:\s+[A-Za-z_:@][\w:.\-]*\s*=\s*(?:"[^"<>\n]*"|'[^'<>\n]*'|[^\s"'<>=]+))*\s*/?>"""
)
TAG_BEGUN = re.compile(
    r"<(?:/?|/?([A-Za-z][A-Za-z0-9_\-]{0,19})"
    r"""(?:\s+[A-Za-z_:@][\w:.\-]*\s*=\s*(?:"[^"<>\n]*"|'[^'<>\n]*'|[^\s"'<>=]+))*"""
    r"""(?:\s+(?:[A-Za-z_:@][\w:.\-]*\s*(?:=\s*(?:"[^"<>\n]*|'[^'<>\n]*)?)?)?|\s*/)?)\Z"""
)
LETTER_TAG = re.compile(r"<([abipqu])>", re.IGNORECASE)
DEFINITION = re.compile(r" *<?(?:https?:|ftp:|www\.|mailto:|\.{0,2}/|#)", re.IGNORECASE)
"""What follows `[id]:` when it defines a reference."""
TABLE_RULE = re.compile(r"[-:|+= \t]{1,300}")


def after_role_label(text: str, at: int, final: bool, roles: tuple[str, ...]) -> int | None:
    """Where the text goes on behind a label at `at`; `at` itself when there is none, None while it may be one."""
    start = text[at : at + 14].lower()
    for role in roles:
        for label in (role + ":", role + " :", role + "**:"):
            if start.startswith(label):
                return at + len(label)
            if not final and label.startswith(start):
                return None
    return at


def is_literal(mark: str, left: str, right: str, is_open: bool, line_start: bool) -> bool:
    """Is the mark text (`2*3`, `snake_case`, `~5`) and not emphasis?"""
    if mark[0] == "~":
        return len(mark) == 1
    if left.isspace() and right.isspace():
        return not (is_open and line_start)
    operand_left, operand_right = left.isalnum() or left in ")]", right.isalnum() or right in "(["
    if mark[0] == "_":
        return (left.isalnum() and (right.isalnum() or not is_open)) or (not operand_right and not is_open)
    if operand_left and operand_right:
        return not is_open or (left.isdigit() and right.isdigit())
    return left.isdigit() and not is_open
