"""The recognise stage when the conversation is slow."""

from __future__ import annotations

import threading
import time

import pytest

from edgevoice.asr.recognizer import Partial, Samples, Transcript, Word
from edgevoice.asr.stage import RecogniseStage
from edgevoice.messages import Feedback, SegmentHeard, SpeechEnded, SpeechStarted, Words
from edgevoice.runtime.queues import BoundedQueue, Overflow


class Says:
    """A recogniser that hears the same word in everything."""

    def accept(self, samples: Samples) -> list[Partial]:
        return []

    def finish(self) -> Transcript:
        return Transcript("yes")

    def reset(self) -> None:
        pass


def test_a_final_transcript_waits_for_a_conversation_however_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    words: BoundedQueue[Words | Feedback] = BoundedQueue("words", 1, Overflow.REPLACE)
    put = words.put
    monkeypatch.setattr(words, "put", lambda item, timeout=5.0: put(item, timeout / 100))
    stage = RecogniseStage(BoundedQueue("speech", 10, Overflow.BLOCK), words, Says(), None)

    def segment() -> None:
        stage.work(SpeechStarted(1, 0.0))
        stage.work(SpeechEnded(1, 0, 0.5, 1.0))

    worker = threading.Thread(target=segment, name="recognise")
    worker.start()
    time.sleep(0.1)
    assert words.get(1.0) is not None
    final = words.get(1.0)
    worker.join(1.0)
    assert isinstance(final, SegmentHeard) and final.final and final.transcript.text == "yes"


class HearsOneWord(Says):
    """A recogniser that is as sure of its one word as it is told."""

    def __init__(self, confidence: float) -> None:
        self.heard = Transcript("when", (Word("when", 0.5, 0.7, confidence),), confidence, 1.0)

    def finish(self) -> Transcript:
        return self.heard


class Confirms:
    """A second pass that reads the word, or can make nothing of it."""

    doubted = False

    def __init__(self, reads: bool) -> None:
        self._reads = reads

    def refine(self, samples: Samples, first: Transcript) -> Transcript:
        return Transcript("When?", (), 0.5, first.heard) if self._reads else first


@pytest.mark.parametrize(
    ("confidence", "second", "believed"),
    [(0.9, None, "when"), (0.6, None, ""), (0.6, Confirms(False), ""), (0.6, Confirms(True), "When?")],
)
def test_d2_a_doubtful_word_alone_needs_a_second_opinion(
    confidence: float, second: Confirms | None, believed: str
) -> None:
    words: BoundedQueue[Words | Feedback] = BoundedQueue("words", 10, Overflow.REPLACE)
    recognizer = HearsOneWord(confidence)
    stage = RecogniseStage(BoundedQueue("speech", 10, Overflow.BLOCK), words, recognizer, second)  # type: ignore[arg-type]
    stage.work(SpeechStarted(1, 0.0))
    stage.work(SpeechEnded(1, 0, 0.5, 1.0))
    final = [message for message in iter(lambda: words.get(0.0), None) if isinstance(message, SegmentHeard)][-1]
    assert final.final and final.transcript.text == believed
    assert final.first_pass.text == "when", "the ledger keeps what was heard"
