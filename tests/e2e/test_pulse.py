"""`edgevoice run` on a real sound server: a question into the microphone, an answer out of the speaker, and the end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import platformdirs
import pytest
import soundfile
from numpy.typing import NDArray

from edgevoice.asr.normalize import plain_words
from edgevoice.errors import EXIT_OK, EXIT_UNAVAILABLE
from tests.audio.pulse import PulseServer, Recording, pulse_server
from tests.audio.sound import until
from tests.conftest import DATA, ROOT, needs_espeak
from tests.e2e.conftest import PATIENT, RECORDINGS, set_flags

pytestmark = [pytest.mark.audio, pytest.mark.timeout(240)]

LIGHT = ("llm.backend=template", "asr.second_pass=off", "tts.backend=espeak", "echo.mode=off")
QUESTIONS = {"question.flac": "statue", "when_back.flac": "back"}
"""Bundled recording -> a word that its answer is likely to take up."""
AUDIBLE = 0.01
"""Peak above which a recording holds sound."""


@pytest.fixture(scope="module")
def server() -> Iterator[PulseServer]:
    with pulse_server() as running:
        yield running


def environment_of(server: PulseServer) -> dict[str, str]:
    """The server's, with the caches of the models where they always are."""
    places = {"XDG_CACHE_HOME": platformdirs.user_cache_dir(), "XDG_DATA_HOME": platformdirs.user_data_dir()}
    return server.environment | places


class Daemon:
    """`edgevoice run` as a process, with its log."""

    def __init__(self, env: dict[str, str], *settings: str) -> None:
        command = [sys.executable, "-m", "edgevoice", "run", *set_flags(*settings)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.log: list[str] = []
        assert self.process.stderr is not None
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr or ()), name="test-log")
        self.reader.start()

    @property
    def listening(self) -> bool:
        return any(line.strip() == "edgevoice: listening" for line in self.log)

    def end(self, number: signal.Signals) -> tuple[int, float]:
        """Send a signal; the exit code, and after how many seconds."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(20)
        seconds = time.monotonic() - began
        self.reader.join(5)
        return code, seconds


@contextmanager
def daemon(server: PulseServer, *settings: str) -> Iterator[Daemon]:
    running = Daemon(environment_of(server), *settings)
    try:
        assert until(lambda: running.listening or running.process.poll() is not None, 120), running.log
        assert running.process.poll() is None, running.log
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait(10)


def sounds(recording: Recording) -> bool:
    return bool(np.abs(recording.samples()).max(initial=0) > AUDIBLE)


def quiet_again(recording: Recording, seconds: float = 1.5) -> bool:
    """Whether something was heard, and nothing any more for this long."""
    samples = recording.samples()
    loud = np.flatnonzero(np.abs(samples) > AUDIBLE)
    return bool(len(loud)) and len(samples) - loud[-1] > seconds * recording.rate


def without_silence(samples: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    loud = np.flatnonzero(np.abs(samples) > AUDIBLE)
    return samples[max(0, loud[0] - rate // 4) : loud[-1] + rate // 2]


@pytest.fixture(scope="module")
def conversation(
    server: PulseServer, tmp_path_factory: pytest.TempPathFactory, listener: Callable[[Path], str]
) -> Iterator[tuple[Daemon, list[str], tuple[int, float]]]:
    """Two questions are asked and answered; in the middle of a third answer the daemon is told to end."""
    folder = Path(tmp_path_factory.mktemp("pulse"))
    answers = []
    with daemon(server, *PATIENT) as running:
        for name in QUESTIONS:
            with server.recording() as recording:
                server.say(DATA / name)
                assert until(lambda r=recording: quiet_again(r), 40), f"no answer to {name}: {running.log}"
            answer = folder / f"{name}.wav"
            soundfile.write(answer, without_silence(recording.samples(), recording.rate), recording.rate)
            answers.append(listener(answer))
        with server.recording() as recording:
            server.say(DATA / "question.flac")
            assert until(lambda: sounds(recording), 40), running.log
            ended = running.end(signal.SIGTERM)
        yield running, answers, ended


def test_each_question_is_answered_aloud(conversation: tuple[Daemon, list[str], tuple[int, float]]) -> None:
    _, answers, _ = conversation
    assert all(len(plain_words(answer).split()) >= 3 for answer in answers), answers
    taken_up = [word in plain_words(answer).split() for answer, word in zip(answers, QUESTIONS.values(), strict=True)]
    assert any(taken_up), f"answers to something else: {answers}"


def test_f8_nothing_that_was_said_is_in_the_log(
    conversation: tuple[Daemon, list[str], tuple[int, float]],
) -> None:
    running, answers, _ = conversation
    log = plain_words(" ".join(running.log))
    assert "listening" in log
    answered = [
        line for line in running.log if re.search(r"\[turn \d+\] turn complete: first sound after \d+ ms", line)
    ]
    assert len(answered) >= len(QUESTIONS), "each turn leaves its number and its delay, and no more"
    for text in (*(RECORDINGS[name] for name in QUESTIONS), *answers):
        words = plain_words(text).split()
        for first in range(len(words) - 2):
            assert not re.search(rf"\b{' '.join(words[first : first + 3])}\b", log), text


def test_a15_sigterm_in_the_middle_of_an_answer(conversation: tuple[Daemon, list[str], tuple[int, float]]) -> None:
    running, _, (code, seconds) = conversation
    # Exit code 0 means that every thread ended within `runtime.stop_deadline_s` (2 s); the rest is the interpreter's.
    assert code == EXIT_OK, running.log
    assert seconds < 6
    assert not any("did not end" in line or "Traceback" in line for line in running.log), running.log


@needs_espeak
def test_a15_sigint_while_listening(server: PulseServer) -> None:
    with daemon(server, *LIGHT) as running:
        code, seconds = running.end(signal.SIGINT)
    assert code == EXIT_OK and seconds < 6, running.log
    assert not any("Traceback" in line for line in running.log)


@needs_espeak
def test_a3_no_sound_server_is_one_clear_line(tmp_path: Path) -> None:
    with pulse_server(start=False) as absent:
        (absent.home / ".asoundrc").unlink()
        running = Daemon(environment_of(absent) | {"HOME": str(tmp_path)}, *LIGHT)
        code = running.process.wait(60)
        running.reader.join(5)
    assert code == EXIT_UNAVAILABLE, running.log
    mends = [line for line in running.log if " — " in line]
    assert len(mends) == 1 and running.log[-1] == mends[0] and "edgevoice devices" in mends[0], running.log
    assert not any("Traceback" in line for line in running.log)
