"""Push-to-talk."""

from __future__ import annotations

import signal

import numpy as np

from edgevoice.assistant import Assistant
from edgevoice.audio.files import FileSource
from edgevoice.audio.gates import TalkKeyGate
from edgevoice.audio.ptt import PushToTalk
from edgevoice.audio.segmenter import Segmenter
from edgevoice.audio.speaker import FileSpeaker
from edgevoice.config import replace
from edgevoice.messages import Frame
from edgevoice.service import Service
from edgevoice.settings import Settings


def test_press_release_toggle_and_stuck_key() -> None:
    now = 0.0
    ptt = PushToTalk(longest_s=30.0, now=lambda: now)
    assert not ptt.held
    ptt.press()
    now = 29.0
    ptt.press()
    assert ptt.held
    now = 30.5
    assert not ptt.held
    ptt.toggle()
    assert ptt.held
    ptt.toggle()
    assert not ptt.held


class Recorder(Segmenter):
    """Notes what the gate asks for; needs no models."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def begin_now(self, frame: Frame, preroll: np.ndarray) -> list:
        self.calls.append("begin")
        return []

    def end_now(self, time: float, reason: str) -> list:
        self.calls.append(reason)
        return []


def test_the_key_opens_and_closes_the_segment() -> None:
    ptt, segmenter = PushToTalk(), Recorder()
    gate = TalkKeyGate(ptt)
    frame = Frame(np.zeros(320, np.float32), 0.0)
    assert gate.accept(frame, segmenter) == []
    ptt.press()
    gate.accept(frame, segmenter)
    assert gate.accept(frame, segmenter) is None
    ptt.release()
    gate.accept(frame, segmenter)
    assert gate.accept(frame, segmenter) == []
    assert segmenter.calls == ["begin", "push_to_talk"]


def test_sigusr1_of_the_service_is_the_talk_key() -> None:
    """What `edgevoice run` does with the signal, without its models and devices."""
    settings = replace(Settings(), wake={"push_to_talk": True})
    assistant = Assistant(settings, FileSource([]), FileSpeaker(settings.audio))
    service = Service(lambda: settings)
    service._on_talk = assistant.push_to_talk
    assert assistant.hearing.talk_key is not None and isinstance(assistant.hearing.gate, TalkKeyGate)
    service._signalled(signal.SIGUSR1, None)
    assert assistant.hearing.talk_key.held
    service._signalled(signal.SIGUSR1, None)
    assert not assistant.hearing.talk_key.held
