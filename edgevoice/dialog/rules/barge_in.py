"""Barge-in: which words, heard over the answer, are meant to stop it?"""

from __future__ import annotations

from collections.abc import Iterable

from edgevoice.dialog.rules.backchannel import BackchannelFilter, words_of

STOP_WORDS: dict[str, tuple[str, ...]] = {
    "en": (
        "stop",
        "wait",
        "no",
        "nope",
        "cancel",
        "quiet",
        "silence",
        "enough",
        "pause",
        "shush",
        "hold on",
        "shut up",
        "why",
        "off",
    ),
    "de": ("stopp", "stop", "halt", "warte", "nein", "abbrechen", "ruhe", "schluss", "genug", "moment", "pause"),
    "fr": ("stop", "arrête", "attends", "non", "annule", "silence", "assez", "pause"),
    "es": ("para", "alto", "espera", "no", "cancela", "silencio", "basta", "pausa"),
}
"""Language -> utterances that interrupt at once."""
CONFIDENT = 0.8
"""Confidence from which a single word may interrupt."""
DOUBTFUL = 0.4
"""Confidence below which a few words do not: interrupting questions over the cancelled voice have 0.6 and more."""
WEIGHTY = 8
"""Letters that words must have together to interrupt: a hum is read as "in" or "a her"."""
UNREAD_WORDS, UNREAD_WEIGHTY = 4, 16
"""Words, and letters, that interrupt before they have been read as a whole: "hm, hm" comes as "chan a chen" first."""
WEIGHTY_AT_END = 4
"""Letters that are enough once the utterance is over and was recognised with confidence."""

SURE = 0.9
"""Confidence from which words that a hum may be read as count ("no" for "mm-hmm")."""
HUMMED = frozenset("mnhaeiouyäöü")
"""Letters of nasals, of breath and of vowels: a recogniser reads a hum, which its lexicon lacks, as words of these alone."""

MANY_PHONES = 2
"""Phones without a word of content that silence the voice for a moment (docs/room.md)."""
MANY_WITHIN_S = 1.6
"""Seconds of a segment (0.4 s before its detection included) within which they count: music collects some, too."""


class BargeInRule:
    """Words interrupt, sounds do not.

    The voice *falls silent* at the first word that is no back-channel (`pauses`): nobody has to wait for the decision. The
    answer is *lost* when what is heard holds at least `min_words` words of some weight besides leading back-channels and
    has been read as a whole (at the first short silence), or twice as many while they are still coming; or a stop word at
    its beginning; or, once the utterance is over, a single longer word that was recognised with confidence. Words that may
    be a hum count only if they are surely words.
    """

    def __init__(
        self,
        backchannels: BackchannelFilter,
        min_words: int = 2,
        language: str = "en",
        stop_words: Iterable[str] = (),
    ) -> None:
        chosen = tuple(stop_words) or STOP_WORDS.get(language, STOP_WORDS["en"])
        self._stops = {words_of(word) for word in chosen} - {()}
        self._backchannels = backchannels
        self.min_words = min_words

    def interrupts(
        self, text: str, final: bool = False, confidence: float = 0.0, first_pass: str = "", read: bool = True
    ) -> bool:
        """True if `text` (all that was heard so far over the answer, echo removed) is meant to stop it.

        `confidence` in [0, 1] of the first pass, 0 while the words are still coming; `first_pass`: its words, if a second
        pass made `text` of them; `read`: these are the words of all that was said so far, confirmed as far as they can be.
        """
        words = self._backchannels.content(text)
        if not words or (confidence < SURE and (_hummed(words) or _hummed(words_of(first_pass)))):
            return False
        if any(words[: len(stop)] == stop for stop in self._stops):
            return True
        letters = sum(map(len, words))
        if final and confidence >= CONFIDENT:
            return letters >= WEIGHTY_AT_END
        # How sure each of many words is does not matter: no sound in a room makes four of them.
        many = len(words) >= max(UNREAD_WORDS, self.min_words) and letters >= UNREAD_WEIGHTY
        if many or not read or 0 < confidence < DOUBTFUL:
            return many
        return len(words) >= self.min_words and letters >= WEIGHTY

    def pauses(self, text: str, phones: int = 0, heard_s: float = 0.0) -> bool:
        """True if the voice should fall silent until it is clear: a first word that is no back-channel, or, within the
        `heard_s` seconds heard so far, so many sounds of speech that there will be one."""
        many = phones >= MANY_PHONES and heard_s <= MANY_WITHIN_S
        return bool(self._backchannels.content(text)) or (not text and many)


def _hummed(words: tuple[str, ...]) -> bool:
    return bool(words) and HUMMED.issuperset("".join(words))
