"""The speaker that writes a file."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from edgevoice.audio.playout import PlayoutEvent, SoundEnded
from edgevoice.audio.sink import FileSink
from edgevoice.audio.speaker import FileSpeaker
from edgevoice.errors import OutputError, StorageError, UsageError
from edgevoice.settings import AudioSettings
from tests.audio.sound import until

VOICE = 22_050
FADE = 111


def answer(speaker: FileSpeaker, generation: int, samples: np.ndarray, piece: int = 3000) -> None:
    for start in range(0, len(samples), piece):
        speaker.playout.play(generation, samples[start : start + piece], VOICE)
    speaker.playout.finish(generation)


@pytest.mark.parametrize("pace", ["fast", "real"])
def test_file_holds_the_answers_exactly_at_the_voices_rate(tmp_path: Path, pace: str) -> None:
    speaker = FileSpeaker(AudioSettings(), tmp_path / "reply.wav", pace)
    events: list[PlayoutEvent] = []
    speaker.playout.listener = events.append
    speaker.open()
    said = (1000 + np.arange(9000)).astype(np.int16)
    for generation in (1, 2):
        answer(speaker, generation, said)
        assert until(lambda n=generation: sum(isinstance(e, SoundEnded) for e in events) == n, 8)  # type: ignore[misc]
        time.sleep(0.1)
    speaker.close()
    samples, rate = soundfile.read(tmp_path / "reply.wav", dtype="int16")
    assert rate == VOICE
    starts = np.flatnonzero(samples == 1000 + FADE) - FADE
    assert len(starts) == 2
    for start in starts:
        assert np.array_equal(samples[start + FADE : start + 9000], said[FADE:])
    assert len(samples) < 2 * 9000 + VOICE // 5, "the wait between the answers is left out"
    assert speaker.playout.underruns == 0


def test_fast_pace_does_not_wait_for_the_clock(tmp_path: Path) -> None:
    speaker = FileSpeaker(AudioSettings(), tmp_path / "reply.wav", "fast")
    speaker.open()
    began = time.monotonic()
    answer(speaker, 1, np.full(30 * VOICE, 500, np.int16), VOICE)
    assert until(lambda: not speaker.playout.sounding, 10)
    speaker.close()
    assert time.monotonic() - began < 10
    assert soundfile.info(tmp_path / "reply.wav").duration == pytest.approx(30, abs=0.1)


def test_nothing_said_gives_an_empty_file(tmp_path: Path) -> None:
    speaker = FileSpeaker(AudioSettings(), tmp_path / "reply.wav")
    speaker.open()
    speaker.close()
    assert soundfile.info(tmp_path / "reply.wav").frames == 0


def test_without_a_file_it_is_a_null_speaker() -> None:
    speaker = FileSpeaker(AudioSettings(), None, "fast")
    speaker.open()
    answer(speaker, 1, np.full(VOICE, 500, np.int16))
    assert until(lambda: not speaker.playout.sounding, 8)
    speaker.close()
    assert speaker.playout.report(1).samples == VOICE  # type: ignore[union-attr]


def test_unwritable_place_is_said_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        FileSpeaker(AudioSettings(), tmp_path / "absent" / "reply.wav").open()


def test_full_disk_is_told_at_the_end_and_the_conversation_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: FileSink, samples: np.ndarray) -> None:
        self.abort()
        raise StorageError(str(self.path), "no space left on device")

    speaker = FileSpeaker(AudioSettings(), tmp_path / "reply.wav", "fast")
    speaker.open()
    monkeypatch.setattr(FileSink, "write", full)
    answer(speaker, 1, np.full(20 * VOICE, 500, np.int16), VOICE)
    assert until(lambda: not speaker.playout.sounding, 10)
    with pytest.raises(StorageError):
        speaker.close()
    assert speaker.playout.report(1).samples == 20 * VOICE  # type: ignore[union-attr]


def test_unknown_pace() -> None:
    with pytest.raises(UsageError, match="pace"):
        FileSpeaker(AudioSettings(), None, "slow")
