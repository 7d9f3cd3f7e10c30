"""The real daemon in a simulated room: its voice comes back into its microphone, people cough, agree and interrupt."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import jiwer
import numpy as np
import pytest
import soundfile

from edgevoice.asr.normalize import scoring_form
from edgevoice.assembly import Models
from edgevoice.audio.earcons import TONES, earcon
from edgevoice.audio.files import read_all
from edgevoice.bench.room import QUESTION, own_voice, spoken
from edgevoice.bench.room_session import LONG_ANSWER, RoomSession
from edgevoice.bench.room_sounds import HUM, cough
from edgevoice.llm.generator import Exchange
from tests.conftest import DATA
from tests.e2e.conftest import observed, patient, word_error_rate

INTERRUPTION = "what do you think of my statue"
SHORT = "I like it very much."
BLOCK_S = 0.02


@dataclass
class Scene:
    """What was observed."""

    history: tuple[Exchange, ...] = ()
    asked_by_itself: list[str] = field(default_factory=list)
    stopped_by_noise: int = 0
    barge_ins: int = 0
    silent_after_s: float = 9.0
    """Seconds from the decision to stop to the last audible sample of the old answer."""
    played: list[tuple[float, np.ndarray]] = field(default_factory=list)
    """(time, samples) of all that went to the speaker."""
    stopped_at: float = 0.0
    rate: int = 0
    transcripts: list[str] = field(default_factory=list)
    mode: str = ""


@pytest.fixture
def scene(request: pytest.FixtureRequest) -> Scene:
    return observed(request, _scene)


def _scene() -> Scene:
    seen = Scene()

    def tap(samples: np.ndarray, moment: float, rate: int) -> None:
        seen.rate = rate
        seen.played.append((moment, samples.copy()))

    with RoomSession(patient()) as session:
        session.assistant.taps.append(tap)
        session.say(spoken(session.assistant, QUESTION))
        assert session.wait(lambda: session.speaking, 30), "the question was not answered"
        asked = len(session.script.asked)
        session.wait(lambda: False, 6.0)
        seen.asked_by_itself = [words for _, words in session.script.asked[asked:]]
        for sound in (cough(1), cough(2)):
            session.say(sound)
            session.wait(lambda: False, 2.5)
        seen.stopped_by_noise = session.count("barge_in")
        seen.mode = session.assistant.hearing.echo.mode
        session.script.text = SHORT
        session.say(read_all(DATA / "question.flac"))
        if session.wait(lambda: session.count("barge_in") > 0, 8):
            seen.stopped_at = next(event.time for event in session.events if event.name == "barge_in")
            session.wait(lambda: False, 0.15)
            seen.silent_after_s = session.last_audible - seen.stopped_at
            session.wait(lambda: len(session.turns) >= 2, 30)
        session.wait_idle(10)
        seen.barge_ins = session.count("barge_in")
        seen.history = session.assistant.conversation.history
        seen.transcripts = [turn.transcript for turn in session.turns]
    return seen


def test_c1_it_does_not_answer_itself_in_the_default_mode(scene: Scene) -> None:
    assert scene.asked_by_itself == []
    assert scene.mode == "cancel", "auto has found the open speaker"


def test_b4_coughs_do_not_stop_the_answer(scene: Scene) -> None:
    assert scene.stopped_by_noise == 0


def test_b5_agreement_does_not_stop_the_answer() -> None:
    with RoomSession(patient()) as session:
        session.say(spoken(session.assistant, QUESTION))
        assert session.wait(lambda: session.speaking, 30), "the question was not answered"
        session.wait(lambda: False, 6.0)
        session.say(spoken(session.assistant, HUM))
        session.wait(lambda: False, 3.0)
        assert session.count("barge_in") == 0


def test_b6_words_stop_it_and_no_old_sound_follows(scene: Scene) -> None:
    assert scene.barge_ins == 1
    assert scene.silent_after_s <= 2 * BLOCK_S + 0.005, "more than two blocks after the decision"


def test_b9_the_interrupting_question_is_answered(scene: Scene) -> None:
    assert word_error_rate(INTERRUPTION, scene.transcripts[-1]) <= 0.35
    assert scene.history[-1].assistant == SHORT and not scene.history[-1].interrupted


def test_b7_b8_history_is_what_was_heard(scene: Scene, tmp_path: Path, listener: Callable[[Path], str]) -> None:
    """Another recogniser listens to what was played until the interruption."""
    first = scene.history[0]
    assert first.interrupted and len(scene.history) == 2
    sound = np.concatenate([samples for moment, samples in scene.played if moment < scene.stopped_at])
    soundfile.write(tmp_path / "heard.wav", sound, scene.rate)
    heard = scoring_form(listener(tmp_path / "heard.wav")).split()
    answer = scoring_form(LONG_ANSWER).split()
    errors = [jiwer.process_words(" ".join(answer[:n]), " ".join(heard)) for n in range(1, len(heard) + 4)]
    costs = [e.substitutions + e.deletions + e.insertions for e in errors]
    # A misheard last word costs the same as one that is missing: of equals, the one with as many words as were heard.
    audible = 1 + min(range(len(costs)), key=lambda n: (costs[n], abs(n + 1 - len(heard))))
    assert abs(audible - len(scoring_form(first.assistant).split())) <= 1, (heard[-4:], first.assistant[-40:])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "cancel", "half_duplex"])
def test_c1_a_minute_of_its_own_voice_makes_no_turn(mode: str) -> None:
    from edgevoice.audio.room_loop import RoomSpec

    result = own_voice(patient(), mode, 60.0, RoomSpec())
    assert result["seconds"] > 40 and result["self_turns"] == 0, result


def test_b7_after_an_interruption_the_next_turn_reuses_the_prompt() -> None:
    """With the real language model: the cache is cut back to what was heard, not thrown away."""
    with RoomSession(patient(echo={"mode": "cancel"}), text=None) as session:
        session.say(spoken(session.assistant, "Please tell me a long story about the sea."))
        assert session.wait(lambda: session.speaking, 60)
        session.wait(lambda: False, 2.0)
        begun = time.monotonic()
        session.say(read_all(DATA / "when_back.flac"))
        session.wait(lambda: session.audible_since > begun and len(session.turns) >= 2, 60)
        session.wait_idle(20)
        turn, history = session.turns[-1], session.assistant.conversation.history
    assert len(history) == len(session.turns)
    evaluated, reused = int(turn.facts["tokens_evaluated"]), int(turn.facts["tokens_reused"])
    assert reused > 3 * evaluated, (evaluated, reused)


def test_b10_wake_word_and_command_in_one_breath() -> None:
    """A real engine, a synthesised voice: one activation, the whole command, nothing of the wake word.

    The second time the speaker pauses after the wake word.
    """
    settings = patient(wake={"engine": "microwakeword", "word": "okay_nabu"}, echo={"mode": "off"})
    with RoomSession(settings, text="It is late.") as session:
        assistant = session.assistant
        pause = np.zeros(24_000, np.float32)
        for said in (
            spoken(assistant, "Okay Nabu, what do you know about whales?"),
            np.concatenate([spoken(assistant, "Okay Nabu."), pause, spoken(assistant, "How far away is the moon?")]),
        ):
            turns = len(session.turns)
            session.say(said, 1.0)
            assert session.wait(lambda turns=turns: len(session.turns) > turns, 30), "not answered"
            session.wait(lambda: False, 2.0)  # past the refractory time
            assistant.follow_up.close()
    assert session.count("wake") == 2
    wanted = ["what do you know about whales", "how far away is the moon"]
    for turn, words in zip(session.turns, wanted, strict=True):
        assert word_error_rate(words, turn.transcript) <= 0.34
        assert turn.transcript.lower().split()[0].strip(",.") == words.split()[0]


def test_c4_the_recogniser_reads_nothing_in_the_tones() -> None:
    recognizer = Models.build(patient()).recognizer
    recognizer.load()
    heard = {}
    for name in TONES:
        tone = earcon(name, 16_000).astype(np.float32) / 32768
        recognizer.reset()
        recognizer.accept(np.concatenate([np.zeros(8000, np.float32), tone, np.zeros(8000, np.float32)]))
        heard[name] = recognizer.finish().text
    recognizer.close()
    assert heard == dict.fromkeys(TONES, "")
