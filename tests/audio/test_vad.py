"""Voice activity on real synthetic speech with known begin and end, in silence and in noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from edgevoice.audio.vad import WINDOW, SpeechDetector
from edgevoice.settings import VadSettings
from tests.audio.sound import noise, quiet

RATE = 16_000
MIN_SILENCE_S = 0.2
Spoken = Callable[[str], NDArray[np.float32]]
SENTENCES = (
    "Turn off the lights",
    "What is the capital of France",
    "Tell me about the moon",
    "Play some music",
    "No thanks",
)


@dataclass(frozen=True)
class Moment:
    """What the detector said after a block that ended at `time`."""

    time: float
    speech: bool
    silence_s: float


def listen(sound: NDArray[np.float32], block: int = 320) -> list[Moment]:
    detector = SpeechDetector(VadSettings())
    moments = []
    for start in range(0, len(sound) - block + 1, block):
        speech = detector.accept(sound[start : start + block])
        moments.append(Moment((start + block) / RATE, speech, detector.silence_s))
    return moments


def ended_at(moments: list[Moment], after: float, silence_s: float) -> float:
    """When the first endpoint with this much silence would have been decided, not before `after`."""
    return next(m.time for m in moments if m.time > after and not m.speech and m.silence_s >= silence_s)


def test_not_ready_is_not_a_probability() -> None:
    detector = SpeechDetector(VadSettings())
    assert not detector.accept(np.zeros(WINDOW - 1, np.float32))
    assert detector.probability is None
    detector.accept(np.zeros(1, np.float32))
    assert detector.probability is not None
    detector.reset()
    assert detector.probability is None


@pytest.mark.parametrize("word", ["Stop", "Yes"])
def test_b1_a_word_of_300_ms_right_at_the_start_ends_soon(spoken: Spoken, word: str) -> None:
    sound = spoken(word)[: round(0.3 * RATE)]
    moments = listen(np.concatenate([sound, quiet(2.0)]))
    assert any(moment.speech for moment in moments), "it is heard"
    end = ended_at(moments, 0.3, MIN_SILENCE_S)
    assert end - 0.3 <= MIN_SILENCE_S + 0.2


@pytest.mark.parametrize("kind", ["white", "fan"])
def test_b2_noise_after_speech_does_not_keep_the_turn_open(spoken: Spoken, kind: str) -> None:
    """Swelling music can pass for speech here; that it does not keep the turn open is shown in test_turn_end.py."""
    sound = spoken("Tell me about the moon")
    end = 0.3 + len(sound) / RATE
    moments = listen(np.concatenate([quiet(0.3), sound, noise(kind, 30.0, -35.0)]))
    assert ended_at(moments, 0.3 + 0.5, 0.8) <= end + 2.0
    assert not any(moment.speech for moment in moments if moment.time > end + 2.0), "nor is noise taken for speech"


def test_end_of_speech_is_known_to_a_few_hundredths(spoken: Spoken) -> None:
    errors = []
    for sentence in SENTENCES:
        sound = spoken(sentence)
        end = 0.5 + len(sound) / RATE
        last = listen(np.concatenate([quiet(0.5), sound, quiet(1.5)]))[-1]
        errors.append(last.time - last.silence_s - end)
    assert np.median(np.abs(errors)) < 0.02
    assert np.max(np.abs(errors)) < 0.1


def test_silence_grows_and_a_pause_is_seen_early(spoken: Spoken) -> None:
    late = []
    for sentence in SENTENCES:
        sound = spoken(sentence)
        end = 0.5 + len(sound) / RATE
        moments = listen(np.concatenate([quiet(0.5), sound, quiet(1.5)]))
        tail = [moment.silence_s for moment in moments if moment.time > end + 0.2]
        assert np.allclose(np.diff(tail), 0.02)
        late.append(ended_at(moments, end - 0.05, 0.08) - end)
    assert np.median(late) < 0.15


def test_speech_is_heard_within_the_preroll(spoken: Spoken) -> None:
    """D4: whatever comes before the detection must still be in the pre-roll of 400 ms."""
    for sentence in SENTENCES:
        moments = listen(np.concatenate([quiet(1.0), spoken(sentence), quiet(0.5)]))
        first = next(moment.time for moment in moments if moment.speech)
        assert first - 1.0 < VadSettings().preroll_ms / 1000 - 0.1


def test_d4_a_second_command_after_300_ms_is_heard(spoken: Spoken) -> None:
    one, two = spoken("Play some music"), spoken("Turn off the lights")
    begin = 0.5 + len(one) / RATE + 0.3
    moments = listen(np.concatenate([quiet(0.5), one, quiet(0.3), two, quiet(1.0)]))
    assert any(not m.speech and m.silence_s > 0.15 for m in moments if begin - 0.15 < m.time <= begin), (
        "the gap is seen"
    )
    assert any(m.speech for m in moments if begin < m.time < begin + 0.3), "the second command, too"


@pytest.mark.parametrize("block", [160, 512, 700, 4096])
def test_block_size_does_not_matter(spoken: Spoken, block: int) -> None:
    sound = np.concatenate([quiet(0.5), spoken("No thanks"), quiet(1.5)])
    sound = np.pad(sound, (0, -len(sound) % (block * 512)))[: len(sound) // 20480 * 20480]
    whole, parts = SpeechDetector(VadSettings()), SpeechDetector(VadSettings())
    whole.accept(sound)
    for start in range(0, len(sound), block):
        parts.accept(sound[start : start + block])
    assert parts.silence_s == pytest.approx(whole.silence_s, abs=block / RATE)
    assert parts.probability == pytest.approx(whole.probability, abs=1e-3)


@pytest.mark.parametrize("kind", ["white", "fan", "tv"])
def test_steady_noise_alone_is_no_speech(kind: str) -> None:
    assert not any(moment.speech for moment in listen(noise(kind, 10.0, -30.0)))


def test_speech_in_noise_is_still_heard_and_ends(spoken: Spoken) -> None:
    sound = np.concatenate([quiet(1.0), spoken("What is the capital of France"), quiet(2.0)])
    end = len(sound) / RATE - 2.0
    moments = listen(sound + noise("fan", len(sound) / RATE, -40.0)[: len(sound)])
    assert any(moment.speech for moment in moments if moment.time < 1.5)
    assert abs(ended_at(moments, end - 0.2, MIN_SILENCE_S) - end - MIN_SILENCE_S) < 0.2


def test_signal_to_noise_ratio_is_estimated(spoken: Spoken) -> None:
    sound = np.concatenate([quiet(1.0), spoken("What is the capital of France")])
    ratios = []
    for level in (-60.0, -40.0):
        detector = SpeechDetector(VadSettings())
        detector.accept(sound + noise("pink", len(sound) / RATE, level)[: len(sound)])
        ratios.append(detector.snr_db)
    assert ratios[0] - ratios[1] == pytest.approx(20, abs=4)
