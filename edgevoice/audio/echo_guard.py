"""Text guard: words that the assistant is just saying do not count as the user's, unless the user's outlast them.

Pure logic on words and times; the last line of defence behind echo cancelling or muting. Recognised echo is garbled
("twin brothers" comes back as "twain brother's"): words are compared by sound-alike spelling and across word borders.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

LATE_S = 1.2
"""An echo may be recognised this long after the word was played: device latency, room, recogniser."""
EARLY_S = 0.3
"""Time stamps of played words may be this much too late."""
KEPT_S = 60.0
"""Seconds of spoken words that are remembered."""
COVERED = 0.6
"""Share of a word's letters that must be found in what was played."""
BLOCK = 3
"""Shortest run of letters (word borders included) that counts as found; single letters match anywhere."""

_LETTERS = re.compile(r"[^\w ]+")
_SOUND_ALIKE = (
    ("ph", "f"), ("ck", "k"), ("qu", "kw"), ("wh", "w"), ("gh", "g"), ("kn", "n"), ("x", "ks"), ("c", "k"), ("q", "k"),
    ("z", "s"), ("v", "f"), ("y", "i"), ("ea", "e"), ("ee", "e"), ("oo", "u"), ("ou", "u"), ("ai", "e"), ("ei", "e"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Played:
    text: str
    start: float
    end: float


class EchoGuard:
    """Remembers what was played when. Times are monotonic seconds. Thread-safe, bounded."""

    def __init__(self, late_s: float = LATE_S, early_s: float = EARLY_S) -> None:
        self.late_s, self.early_s = late_s, early_s
        self._played: deque[_Played] = deque(maxlen=2000)
        self._lock = threading.Lock()

    def said(self, text: str, start: float, end: float) -> None:
        """`text` is (or will be) audible from `start` to `end`. One word at a time is best; words of a longer text are
        spread evenly over its letters."""
        words = _plain(text).split()
        letters = sum(map(len, words)) or 1
        with self._lock:
            at = start
            for word in words:
                until = at + (end - start) * len(word) / letters
                self._played.append(_Played(word, at, until))
                at = until
            while self._played and self._played[0].end < end - KEPT_S:
                self._played.popleft()

    def cut(self, time: float) -> None:
        """The voice was cut off: words announced for later than `time` were never played."""
        with self._lock:
            self._played = deque((word for word in self._played if word.start < time), maxlen=self._played.maxlen)

    def delay(self, time: float, by: float) -> None:
        """The voice paused at `time` for `by` seconds: words announced for after it come that much later."""
        with self._lock:
            moved = (
                word if word.end <= time else _Played(word.text, max(word.start, time) + by, word.end + by)
                for word in self._played
            )
            self._played = deque(moved, maxlen=self._played.maxlen)

    def is_echo(self, words: str | Iterable[str], start: float, end: float) -> bool:
        """True if `words`, heard from `start` to `end`, are the assistant's own and nothing of the user's remains."""
        text = words if isinstance(words, str) else " ".join(words)
        return bool(_plain(text)) and not self.remove(text, end, start)

    def remove(self, text: str, end: float, start: float | None = None) -> str:
        """The user's share of `text`, heard from `start` to `end` (`start` unknown: within the last few seconds).

        Echo is taken away before and after the user's words. Inside an echo a single strange word is a garbled one and
        goes as well; two in a row, or a last one that outlasts the echo, are the user's.
        """
        heard, own = self._judged(text, end, start)
        kept = [i for i in range(len(own)) if own[i] and (_neighbour(own, i) or i == len(own) - 1)]
        return " ".join(heard[kept[0] : kept[-1] + 1]) if kept else ""

    def strange(self, text: str, end: float) -> bool:
        """True if `text` holds a word that was not played, if only a single one: perhaps garbled, perhaps the user's."""
        return any(self._judged(text, end, None)[1])

    def _judged(self, text: str, end: float, start: float | None) -> tuple[list[str], list[bool]]:
        """The words of `text`, and for each whether it is not the assistant's."""
        heard = _plain(text).split()
        begin = end - 0.5 * len(heard) - 1.0 if start is None else start
        with self._lock:
            near = [w.text for w in self._played if w.end > begin - self.late_s and w.start < end + self.early_s]
        if not heard or not near:
            return heard, [True] * len(heard)
        return heard, [not covered for covered in _covered(heard, near)]


def _neighbour(own: list[bool], i: int) -> bool:
    return (i > 0 and own[i - 1]) or (i + 1 < len(own) and own[i + 1])


def _plain(text: str) -> str:
    return " ".join(_LETTERS.sub("", text.lower().replace("-", " ")).split())


def _folded(word: str) -> str:
    """Sound-alike spelling: different spellings of the same sound become equal."""
    for pattern, sound in _SOUND_ALIKE:
        word = word.replace(pattern, sound)
    return re.sub(r"(.)\1+", r"\1", word)


def _covered(heard: list[str], played: list[str]) -> list[bool]:
    """Which of the heard words are found, in order, in the played ones."""
    folded = [_folded(word) for word in heard]
    text = " " + " ".join(folded) + " "
    matcher = SequenceMatcher(None, text, " " + " ".join(map(_folded, played)) + " ", autojunk=False)
    found = [False] * len(text)
    for block in matcher.get_matching_blocks():
        if block.size >= BLOCK:
            found[block.a : block.a + block.size] = [True] * block.size
    covered, at = [], 1
    for word in folded:
        letters = found[at : at + len(word)]
        # Short words match by chance: they must be found whole, with a word border on either side.
        border = found[at - 1] and found[at + len(word)]
        covered.append(sum(letters) >= COVERED * len(word) if len(word) > 3 else all(letters) and border)
        at += len(word) + 1
    return covered
