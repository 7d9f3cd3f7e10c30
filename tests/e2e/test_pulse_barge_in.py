"""Interrupting over a real sound server: the speaker comes back into the microphone, as on a table in a room.

PulseAudio's loopback brings the speaker's sound to the microphone 12 dB softer and at least 80 ms late, through its own
resampler; the daemon cancels it, hears the question that is asked over its voice, falls silent and answers it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from edgevoice.asr.ctc import StreamingCtc
from edgevoice.asr.normalize import plain_words
from edgevoice.audio.files import read_all
from edgevoice.bench.room_session import LONG_ANSWER
from edgevoice.settings import AsrSettings
from tests.audio.pulse import PulseServer, pulse_server
from tests.audio.sound import until
from tests.conftest import DATA
from tests.e2e.conftest import PATIENT, observed
from tests.e2e.test_pulse import AUDIBLE, daemon, quiet_again, sounds, without_silence

pytestmark = [pytest.mark.audio, pytest.mark.timeout(300)]

INTENT = f"""
[story]
say = ["what do [you] think (of|about) my (statue|stature|statute|status)"]
reply = {LONG_ANSWER!r}
"""
INTERRUPTION = "when_back.flac"
SETTLE_S = 4.0
"""Seconds of the answer before somebody interrupts: the canceller has to learn the path first."""


@dataclass
class Scene:
    """What was played, what was said over it, and what was heard."""

    voice: NDArray[np.float32]
    rate: int
    said_at: float
    """Seconds into the recording of the voice at which the interruption's first sample was heard."""
    second_word_s: float
    answer_after: str
    log: list[str]

    @property
    def silent_after_s(self) -> float:
        """Seconds from the begin of the second word to the last audible sample before half a second of silence."""
        loud = np.flatnonzero(np.abs(self.voice) > AUDIBLE) / self.rate
        after = loud[loud > self.said_at]
        gaps = np.flatnonzero(np.diff(after) > 0.5)
        last = float(after[gaps[0]] if len(gaps) else after[-1]) if len(after) else self.said_at
        return last - self.said_at - self.second_word_s


def loop_back(server: PulseServer) -> None:
    """The speaker's sound into the microphone, -12 dB and 80 ms late."""
    where = ("source=speaker.monitor", "sink=mic_feed", "latency_msec=80", "adjust_time=0", "source_dont_move=true")
    server.pactl("load-module", "module-loopback", *where)
    streams = server.pactl("list", "short", "sink-inputs").splitlines()
    server.pactl("set-sink-input-volume", streams[-1].split("\t")[0], "-12dB")


@pytest.fixture
def scene(request: pytest.FixtureRequest, tmp_path: Path, listener: Callable[[Path], str]) -> Scene:
    return observed(request, lambda: _scene(tmp_path, listener))


def _scene(folder: Path, listener: Callable[[Path], str]) -> Scene:
    (folder / "intents.toml").write_text(INTENT)
    sound = read_all(DATA / INTERRUPTION)
    recognizer = StreamingCtc(AsrSettings())
    recognizer.load()
    recognizer.accept(sound)
    second_word = recognizer.finish().words[1].start
    recognizer.close()
    settings = (*PATIENT, "echo.mode=cancel", f"llm.intents={folder / 'intents.toml'}")
    with pulse_server() as server, daemon(server, *settings) as running:
        loop_back(server)
        with server.recording() as voice, server.recording("mic_feed.monitor") as microphone:
            apart = (voice.raw.stat().st_size - microphone.raw.stat().st_size) / 2 / voice.rate
            server.say(DATA / "question.flac")
            assert until(lambda: sounds(voice), 40), running.log
            time.sleep(SETTLE_S)
            before = microphone.samples().size / microphone.rate
            server.say(DATA / INTERRUPTION)
            assert until(lambda: quiet_again(voice, 5.0), 60), running.log
        heard = microphone.samples()
        begin = before + _first_match(heard[round(before * microphone.rate) :], sound, microphone.rate)
        played = voice.samples()
        said_at = begin + apart
        rest = without_silence(played[round((said_at + len(sound) / 16_000) * voice.rate) :], voice.rate)
        soundfile.write(folder / "after.wav", rest, voice.rate)
        return Scene(played, voice.rate, said_at, second_word, listener(folder / "after.wav"), list(running.log))


def _first_match(heard: NDArray[np.float32], sound: NDArray[np.float32], rate: int) -> float:
    """Seconds into `heard` at which `sound` (16 kHz) begins, by correlation."""
    from scipy.signal import correlate, resample_poly

    low = resample_poly(heard, 16_000, rate).astype(np.float32)
    return float(np.argmax(correlate(low, sound, "valid", "fft"))) / 16_000


def test_b6_words_over_the_voice_silence_it(scene: Scene, record_property: Callable[[str, object], None]) -> None:
    record_property("silent_after_s", scene.silent_after_s)
    print(f"silent {1000 * scene.silent_after_s:.0f} ms after the second word began")
    assert scene.silent_after_s < 1.5, scene.log
    assert any("barge_in" in line for line in scene.log)


def test_b9_the_interrupting_question_is_answered_and_nothing_of_the_old_answer_follows(scene: Scene) -> None:
    words = plain_words(scene.answer_after).split()
    assert words
    assert not {"harbour", "harbor", "herring", "baker", "gulls", "shutters"} & set(words), scene.answer_after


def test_c1_it_does_not_take_its_own_voice_for_a_question(scene: Scene) -> None:
    assert sum("barge_in" in line for line in scene.log) == 1
