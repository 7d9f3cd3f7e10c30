"""Capture and listening stage when the next stage is slow: what is lost, what waits, and what is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from edgevoice.audio.capture import Capture
from edgevoice.audio.listen import ListenStage
from edgevoice.audio.segmenter import Segmenter
from edgevoice.errors import EdgeVoiceError, InternalError
from edgevoice.messages import Captured, Frame, SourceEnded, Speech, SpeechAudio, SpeechEnded, SpeechStarted
from edgevoice.runtime.queues import BoundedQueue, Overflow
from edgevoice.settings import EndpointSettings, VadSettings
from tests.audio.test_segmenter import BLOCK_S, Rule

BLOCK = np.zeros(round(BLOCK_S * 16_000), np.float32)


def frame(n: int) -> Frame:
    return Frame(BLOCK, (n + 1) * BLOCK_S)


class Talks:
    """Someone speaks all the time."""

    silence_s = 0.0

    def accept(self, samples: np.ndarray) -> bool:
        return True

    def reset(self) -> None:
        pass


class Frames:
    """A source of so many frames."""

    waiting_for = ""

    def __init__(self, count: int, live: bool = False) -> None:
        self.live, self._count = live, count

    def open(self, wait_s: float = 0.0) -> None:
        pass

    def close(self) -> None:
        pass

    def frames(self) -> Iterator[Frame]:
        yield from map(frame, range(self._count))


class Impatient(BoundedQueue):
    """A queue that blocks, whose producers run out of patience a hundred times sooner."""

    def put(self, item: object, timeout: float = 5.0) -> bool:
        return super().put(item, timeout / 100)


def make_listen(speech: BoundedQueue[Speech], **options: Any) -> ListenStage:
    segmenter = Segmenter(VadSettings(), EndpointSettings(), Talks(), Rule())
    return ListenStage(BoundedQueue("frames", 1000, Overflow.BLOCK), speech, segmenter, **options)


def test_a_file_waits_for_a_listener_however_slow() -> None:
    frames: BoundedQueue[Captured] = Impatient("frames", 2, Overflow.BLOCK)
    ended = threading.Event()
    capture = Capture(Frames(10), frames, lambda error: ended.set())
    capture.start()
    time.sleep(0.1)
    taken = [frames.get(1.0) for _ in range(11)]
    assert [item.time for item in taken if isinstance(item, Frame)] == [frame(n).time for n in range(10)]
    assert taken[10] == SourceEnded()
    assert ended.wait(1.0) and capture.join(1.0)


def test_a_capture_that_waits_for_the_listener_can_be_stopped() -> None:
    capture = Capture(Frames(10), Impatient("frames", 2, Overflow.BLOCK), lambda error: None)
    capture.start()
    time.sleep(0.05)
    capture.stop()
    assert capture.join(0.5)


def test_the_speech_of_a_file_waits_for_a_recogniser_however_slow() -> None:
    speech: BoundedQueue[Speech] = Impatient("speech", 3, Overflow.BLOCK)
    listen = make_listen(speech)
    worker = threading.Thread(target=lambda: [listen.work(frame(n)) for n in range(10)], name="listen")
    worker.start()
    time.sleep(0.1)
    taken = [speech.get(1.0) for _ in range(11)]
    worker.join(1.0)
    assert sum(isinstance(item, SpeechAudio) for item in taken) == 10


def test_lost_sound_is_told_once_a_second_while_it_goes_on_and_then_once() -> None:
    told: list[int] = []
    now = 0
    speech: BoundedQueue[Speech] = BoundedQueue("speech", 5, Overflow.DROP_NEWEST)
    listen = make_listen(speech, on_missed=lambda: told.append(now))
    for now in range(120):
        listen.work(frame(now))
    lost = speech.dropped
    assert lost > 100 and told[0] < 6 and np.diff(told).tolist() == [50, 50]
    while speech.get(0.0):
        pass
    speech.bound = 1000
    for now in range(120, 300):
        listen.work(frame(now))
    assert speech.dropped == lost and len(told) == 4, "what was lost since the last report"


def test_the_source_has_ended_when_its_last_frame_was_listened_to_by_the_frames_clock() -> None:
    speech: BoundedQueue[Speech] = BoundedQueue("speech", 1000, Overflow.BLOCK)
    ended = threading.Event()
    listen = make_listen(speech, on_ended=ended.set)
    capture = Capture(Frames(10), listen.inbox, lambda error: None)
    capture.start()
    assert capture.join(1.0) and not ended.is_set(), "nothing was listened to yet"
    listen.start()
    assert ended.wait(1.0)
    listen.stop()
    assert listen.join(1.0)
    sent = [speech.get(0.0) for _ in range(len(speech))]
    assert sum(isinstance(message, SpeechAudio) for message in sent) == 10
    assert sent[-1] == SpeechEnded(1, 0, frame(9).time, frame(9).time, "source_ended")


def test_sound_lost_before_the_queue_is_told_like_any_other() -> None:
    told, lost = [], [0, 0, 2, 2]
    listen = make_listen(
        BoundedQueue("speech", 1000, Overflow.BLOCK),
        on_missed=lambda: told.append(True),
        missed_before=lambda: lost.pop(0),
    )
    for n in range(4):
        listen.work(frame(n))
    assert told == [True]


def test_whatever_a_source_dies_of_is_logged_and_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Frames):
        def frames(self) -> Iterator[Frame]:
            yield frame(0)
            raise ZeroDivisionError

    frames: BoundedQueue[Captured] = BoundedQueue("frames", 10, Overflow.BLOCK)
    errors: list[EdgeVoiceError | None] = []
    capture = Capture(Broken(1), frames, errors.append)
    capture.start()
    assert capture.join(1.0)
    (error,) = errors
    assert isinstance(error, InternalError) and "ZeroDivisionError" in str(error)
    assert "ZeroDivisionError" in caplog.text, "with its trace"
    assert [type(frames.get(0.0)) for _ in range(2)] == [Frame, SourceEnded]


class Closed:
    """A gate that lets the frames of the first 0.2 s and those after 0.6 s through."""

    def accept(self, frame: Frame, segmenter: Segmenter) -> list[Speech] | None:
        return [] if 0.2 < frame.time <= 0.6 else None

    def close(self, time: float, speech_end: float) -> None:
        pass


class TalksLate(Talks):
    """Somebody speaks from the 25th block that it gets to hear on."""

    def __init__(self) -> None:
        self.blocks = 0

    def accept(self, samples: np.ndarray) -> bool:
        self.blocks += 1
        return self.blocks > 25


def test_sound_from_before_a_closed_gate_is_not_joined_with_what_comes_after_it() -> None:
    speech: BoundedQueue[Speech] = BoundedQueue("speech", 100.0, Overflow.BLOCK)
    segmenter = Segmenter(VadSettings(preroll_ms=400), EndpointSettings(), TalksLate(), Rule())
    stage = ListenStage(BoundedQueue("frames", 10.0, Overflow.BLOCK), speech, segmenter, gate=Closed())
    for n in range(round(1.0 / BLOCK_S)):
        stage.work(frame(n))
    begun = next(message for message in iter(lambda: speech.get(0.1), None) if isinstance(message, SpeechStarted))
    assert begun.time >= 0.6 - BLOCK_S / 2
