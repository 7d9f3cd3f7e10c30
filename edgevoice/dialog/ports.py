"""The conversation's and the segmenter's ports, joined to the queues and the ledger."""

from __future__ import annotations

import logging

from edgevoice.dialog.endpoint import Endpointer, Silence
from edgevoice.dialog.ledger import TurnLedger
from edgevoice.dialog.rules.no_new_words import NoNewWords
from edgevoice.messages import Ask, Prefill, Request
from edgevoice.runtime.queues import BoundedQueue, Closed

log = logging.getLogger(__name__)


class Questions:
    """Where the conversation's questions go: the requests queue."""

    def __init__(self, requests: BoundedQueue[Request]) -> None:
        self._requests = requests

    def prefill(self, request: Prefill) -> None:
        """Prepare for these words; dropped when the model is busy."""
        self._put(request)

    def ask(self, request: Ask) -> None:
        """Answer these words."""
        self._put(request)

    def _put(self, request: Request) -> None:
        try:
            if not self._requests.put(request, timeout=0.0):
                log.warning("the requests queue is full: %s dropped", type(request).__name__)
        except Closed:
            log.debug("asked after the end")


class WordsAwareSilence:
    """What a silence means, given what the models think of the words and the sound so far."""

    def __init__(self, endpointer: Endpointer, ledger: TurnLedger, no_new_words: NoNewWords) -> None:
        self._endpointer, self._ledger, self._no_new_words = endpointer, ledger, no_new_words

    def pause(self, silence_s: float) -> bool:
        """The silence is long enough to try an answer."""
        return self._endpointer.judge(silence_s, None) is not Silence.NONE

    def end(self, silence_s: float, segment: int) -> bool:
        """The silence ends the segment."""
        return self._endpointer.judge(silence_s, self._ledger.end_evidence(segment).completeness) is Silence.END

    def stopped(self, segment: int) -> float | None:
        """Seconds into the segment at which its last words ended, if the sound that goes on has brought no others."""
        known = self._ledger.words_end(segment)
        return known[0] if known and self._no_new_words.over(*known) else None
