from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.asr.segments import LONGEST_SECONDS, speech_segments
from edgevoice.settings import VadSettings


def silence(seconds: float) -> Samples:
    return np.zeros(int(seconds * SAMPLE_RATE), np.float32)


def test_two_sentences_with_a_pause_are_two_segments(help_you_pack: Samples, when_back: Samples) -> None:
    blocks = [silence(1), help_you_pack, silence(1.5), when_back, silence(1)]
    first, second = speech_segments(blocks, VadSettings())
    assert 1.0 < first.start < 2.5
    assert first.start + len(first.samples) / SAMPLE_RATE < second.start
    assert second.start > 5


def test_silence_has_no_segment() -> None:
    assert list(speech_segments([silence(5)], VadSettings())) == []
    assert list(speech_segments([], VadSettings())) == []


def test_speech_to_the_last_sample_is_kept(when_back: Samples) -> None:
    (segment,) = speech_segments([when_back[: int(3.9 * SAMPLE_RATE)]], VadSettings())
    assert segment.start + len(segment.samples) / SAMPLE_RATE >= 3.8


def test_endless_speech_is_cut(when_back: Samples) -> None:
    spoken = when_back[int(1.2 * SAMPLE_RATE) : int(2.8 * SAMPLE_RATE)]
    segments = list(speech_segments([spoken] * 40, VadSettings()))
    assert len(segments) > 1
    assert max(len(s.samples) for s in segments) <= (LONGEST_SECONDS + 0.1) * SAMPLE_RATE


def test_segments_come_while_the_recording_still_streams(help_you_pack: Samples) -> None:
    taken: list[int] = []

    def blocks() -> Iterator[Samples]:
        for number in range(20):
            taken.append(number)
            yield np.concatenate([help_you_pack, silence(1)])

    next(speech_segments(blocks(), VadSettings()))
    assert len(taken) <= 2
