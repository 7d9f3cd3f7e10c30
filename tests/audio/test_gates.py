"""The gates before the segmenter, with the real speech detector on recorded speech."""

from __future__ import annotations

import numpy as np
import pytest

from edgevoice.asr.recognizer import Samples
from edgevoice.audio.files import read_all
from edgevoice.audio.gates import TalkKeyGate, WakeGate
from edgevoice.audio.listen import Gate
from edgevoice.audio.ptt import PushToTalk
from edgevoice.audio.segmenter import Segmenter
from edgevoice.audio.vad import WINDOW, SpeechDetector
from edgevoice.audio.wake import Detection, WakeWord
from edgevoice.messages import Frame, Speech, SpeechAudio, SpeechEnded, SpeechStarted
from edgevoice.settings import EndpointSettings, VadSettings
from tests.conftest import DATA

RATE, BLOCK = 16_000, 320
PHASES = range(0, WINDOW, WINDOW // 4)
"""Samples of a window that the detector already holds when the recordings begin."""


class Patient:
    """Silence ends a segment after 0.8 s, whatever the words."""

    def pause(self, silence_s: float) -> bool:
        return False

    def end(self, silence_s: float, segment: int) -> bool:
        return silence_s >= 0.8

    def stopped(self, segment: int) -> float | None:
        return None


class WakesAt(WakeWord):
    """Hears the wake word, which ended 0.25 s ago, at these samples of the sound."""

    def __init__(self, moments: list[int]) -> None:
        self._moments, self._at = moments, 0

    def accept(self, samples: Samples) -> Detection | None:
        self._at += len(samples)
        if not self._moments or self._at < self._moments[0]:
            return None
        self._moments.pop(0)
        return Detection("word", 1.0, RATE // 4)


def make_segmenter() -> Segmenter:
    return Segmenter(VadSettings(), EndpointSettings(), SpeechDetector(VadSettings()), Patient())


def listen(sound: Samples, gate: Gate, segmenter: Segmenter, start: int = 0) -> list[Speech]:
    """What the listening stage would send; the first frame ends BLOCK samples after `start`."""
    sent: list[Speech] = []
    for at in range(start, start + len(sound) - BLOCK, BLOCK):
        frame = Frame(sound[at - start : at - start + BLOCK], (at + BLOCK) / RATE)
        messages = gate.accept(frame, segmenter)
        for message in segmenter.accept(frame) if messages is None else messages:
            sent.append(message)
            if isinstance(message, SpeechEnded) and message.reason != "wake_word":
                gate.close(message.time, message.speech_end)
    return sent


@pytest.mark.parametrize("phase", PHASES)
def test_each_command_in_one_breath_with_the_wake_word_is_one_whole_segment(phase: int) -> None:
    command = read_all(DATA / "question.flac")
    loud = int(np.flatnonzero(np.abs(command) > 0.1)[0])
    quiet = np.zeros(3 * RATE, np.float32)
    once = np.concatenate([quiet, command, quiet])
    wakes = [loud + len(quiet) + RATE // 4 + n * len(once) for n in range(3)]
    segmenter = make_segmenter()
    segmenter.accept(Frame(np.zeros(phase, np.float32), 0.0))
    sent = listen(np.concatenate([once] * 3), WakeGate(WakesAt(list(wakes))), segmenter)
    starts = [m.time for m in sent if isinstance(m, SpeechStarted)]
    ends = [m for m in sent if isinstance(m, SpeechEnded)]
    assert starts == pytest.approx([wake / RATE - 0.25 for wake in wakes], abs=BLOCK / RATE)
    assert [end.reason for end in ends] == ["silence"] * 3
    lengths = [end.speech_end - start for start, end in zip(starts, ends, strict=True)]
    assert min(lengths) > 1.0 and max(lengths) - min(lengths) < 0.05, "each time as long as the first time"
    heard = sum(len(m.samples) for m in sent if isinstance(m, SpeechAudio) and m.segment == 2) / RATE
    assert heard == pytest.approx(ends[1].time - starts[1], abs=BLOCK / RATE), "nothing is missing from it"


@pytest.mark.parametrize("phase", PHASES)
def test_a_press_of_the_talk_key_opens_one_segment_that_lasts_until_the_release(phase: int) -> None:
    ptt, segmenter = PushToTalk(), make_segmenter()
    gate, command = TalkKeyGate(ptt), read_all(DATA / "question.flac")
    segmenter.accept(Frame(np.zeros(phase, np.float32), 0.0))
    sent: list[Speech] = []
    for press in range(3):
        ptt.press()
        sent += listen(command, gate, segmenter, start=2 * press * len(command))
        ptt.release()
        sent += listen(np.zeros(len(command), np.float32), gate, segmenter, start=(2 * press + 1) * len(command))
    assert [m.segment for m in sent if isinstance(m, SpeechStarted)] == [1, 2, 3]
    assert [m.reason for m in sent if isinstance(m, SpeechEnded)] == ["push_to_talk"] * 3
