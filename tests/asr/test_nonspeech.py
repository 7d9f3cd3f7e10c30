"""Nothing that is not speech becomes words (acceptance rows D1, D2)."""

from __future__ import annotations

import pytest

from edgevoice.asr.ctc import StreamingCtc
from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.asr.two_pass import SecondPass
from edgevoice.asr.whisper import WhisperRecognizer
from edgevoice.settings import AsrSettings
from tests.asr.nonspeech import sounds

SOUNDS = sounds(8)
MINUTES = sounds(60)


@pytest.mark.parametrize("name", SOUNDS)
def test_d1_no_words_out_of(name: str, ctc: StreamingCtc, loaded_whisper: WhisperRecognizer) -> None:
    sound = SOUNDS[name]
    second = SecondPass(AsrSettings(second_pass_budget_ms=60_000), loaded_whisper)
    partials = [p for start in range(0, len(sound), 1600) for p in ctc.accept(sound[start : start + 1600])]
    first = ctc.finish()
    assert {p.text for p in partials} == {""}
    assert second.refine(sound, first).text == first.text == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", MINUTES)
def test_d1_no_words_out_of_a_minute_of(name: str, ctc: StreamingCtc) -> None:
    sound = MINUTES[name]
    for start in range(0, len(sound), 25 * SAMPLE_RATE):
        ctc.reset()
        ctc.accept(sound[start : start + 25 * SAMPLE_RATE])
        assert ctc.finish().text == ""


def test_d1_quiet_speech_is_kept_as_quiet_as_it_is(ctc: StreamingCtc, help_you_pack: Samples) -> None:
    ctc.accept(help_you_pack * 0.03)  # about 30 dB less
    assert "help you" in ctc.finish().text
