"""Back-channels: "mm-hmm" and "yeah" say *go on*, not *stop* (Yngve, "On getting a word in edgewise", 1970)."""

from __future__ import annotations

import re
from collections.abc import Iterable

BACKCHANNELS: dict[str, tuple[str, ...]] = {
    "en": (
        "m", "mm", "mmm", "hm", "hmm", "mhm", "mm hm", "mm hmm", "mmhmm", "uh", "uh huh", "um", "huh", "uh uh", "huh uh", "ah", "aha", "a ha", "ha", "oh",  # noqa: E501
        "oh okay", "oh yeah", "oh i see", "yeah", "yep", "yup", "yes", "okay", "ok", "right", "sure", "i see", "got it",
        "good", "great", "nice", "cool", "wow", "really", "all right", "alright", "exactly", "of course", "fine",
    ),
    "de": (
        "mm", "hm", "mhm", "äh", "ähm", "aha", "ach", "ach so", "ja", "ja ja", "jo", "genau", "okay", "ok", "gut",
        "stimmt", "klar", "verstehe", "so", "na ja", "richtig", "sicher",
    ),
    "fr": ("mm", "hm", "euh", "ah", "oui", "ouais", "d'accord", "okay", "ok", "bien", "très bien", "je vois", "voilà"),
    "es": ("mm", "hm", "eh", "ah", "ajá", "sí", "vale", "claro", "okay", "ok", "bueno", "bien", "ya", "entiendo"),
}  # fmt: skip
"""Language -> utterances, lower case without punctuation."""

_NOT_A_WORD = re.compile(r"[^\w' ]+")


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text: lower case, hyphens and punctuation gone."""
    return tuple(_NOT_A_WORD.sub(" ", text.lower().replace("’", "'")).split())


class BackchannelFilter:
    """Tells whether an utterance is nothing but back-channels. `phrases` replaces the list of `language`."""

    def __init__(self, language: str = "en", phrases: Iterable[str] = ()) -> None:
        chosen = tuple(phrases) or BACKCHANNELS.get(language, BACKCHANNELS["en"])
        self._phrases = {words_of(phrase) for phrase in chosen} - {()}
        self._longest = max((len(phrase) for phrase in self._phrases), default=0)

    def content(self, text: str) -> tuple[str, ...]:
        """The words that are left when the back-channels at the beginning are taken away.

        Only leading ones: "yeah stop" means stop; "is that okay" is a question.
        """
        words = words_of(text)
        while words:
            longest = min(self._longest, len(words))
            step = next((n for n in range(longest, 0, -1) if words[:n] in self._phrases), 0)
            if not step:
                break
            words = words[step:]
        return words

    def only(self, text: str) -> bool:
        """True if the text holds words and all of them are back-channels ("yeah, uh-huh")."""
        return bool(words_of(text)) and not self.content(text)
