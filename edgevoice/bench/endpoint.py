"""`edgevoice bench endpoint`: how many utterances with inner pauses are cut off, and how late the endpoint comes.

Each recording gets a pause of 0.3 to 0.7 s of its own room tone at a word border that the recogniser finds, and is then
listened to with fixed silences of 200, 500 and 800 ms and with the rule that asks the models: of the words, of the sound, of
both. What the models think is known at once here; how long they need is what `bench latency` measures.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgevoice.asr.factory import build_recognizer, build_second_pass
from edgevoice.asr.normalize import plain_words
from edgevoice.asr.recognizer import SAMPLE_RATE, Recognizer, Samples
from edgevoice.asr.two_pass import SecondPass
from edgevoice.audio.files import read_all
from edgevoice.audio.segmenter import Segmenter
from edgevoice.audio.vad import SpeechDetector
from edgevoice.bench import recordings
from edgevoice.config import replace
from edgevoice.dialog.endpoint import UNKNOWN_END, EndEvidence, Endpointer, Silence
from edgevoice.errors import UsageError
from edgevoice.llm.factory import build_generator
from edgevoice.llm.generator import Generator
from edgevoice.messages import Frame, SpeechAudio, SpeechEnded, SpeechPaused, SpeechResumed, SpeechStarted
from edgevoice.settings import Settings

FIXED_S = (0.2, 0.5, 0.8)
"""Seconds of the fixed silences it is compared with."""
TAIL_S = 1.5
"""Seconds of room tone behind each recording."""
MOST_GAP_S = 0.2
"""Pauses are put between words that follow each other more closely than this."""
PATIENCE_MS = 60_000
"""The second pass may take any time here: how good the rule is must not depend on how busy this machine is."""
TOLERANCE_S = 0.1
"""An endpoint this much before the end of the last word has not cut it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    recordings.add_argument(parser)
    parser.add_argument("--seed", type=int, default=0, help="where the pauses fall (default 0)")
    parser.add_argument("--no-pause", action="store_true", help="insert no pauses: the readers' own ones only")


@dataclass(frozen=True)
class Utterance:
    """A recording with an inner pause."""

    samples: Samples
    end: float
    """Seconds at which the last word ends."""


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """A row per rule: share of utterances not cut, and the delay of the endpoint after the end of speech."""
    recognizer, generator = build_recognizer(settings), build_generator(settings)
    second = build_second_pass(replace(settings, asr={"second_pass_budget_ms": PATIENCE_MS}))
    models = [model for model in (recognizer, second, generator) if model is not None]
    for model in models:
        model.load()
        model.warm()
    try:
        chance = np.random.default_rng(args.seed)
        found = (
            paused(read_all(path), recognizer, chance, not args.no_pause)
            for path in recordings.expand(args.files, args.limit)
        )
        utterances = [utterance for utterance in found if utterance is not None]
        if not utterances:
            raise UsageError(
                "bench endpoint", "no recording holds enough words", "give recordings of five words or more"
            )
        rules: dict[str, FixedSilence | ModelsAware] = {f"fixed {s * 1000:.0f} ms": FixedSilence(s) for s in FIXED_S}
        for evidence in ("words", "sound", "words and sound"):
            rules[evidence] = ModelsAware(settings, recognizer, second, generator, evidence)
        result = {name: judge(settings, rule, utterances) for name, rule in rules.items()}
    finally:
        for model in models:
            model.close()
    return {"utterances": len(utterances), "rules": result}


def paused(samples: Samples, recognizer: Recognizer, chance: np.random.Generator, insert: bool) -> Utterance | None:
    """The utterance with a pause at a random inner word border; None if it has too few words."""
    recognizer.reset()
    recognizer.accept(samples)
    words = recognizer.finish().words
    if len(words) < 5:
        return None
    end = words[-1].end
    tone = room_tone(samples)
    if insert:
        gaps = {i: max(0.0, words[i].start - words[i - 1].end) for i in range(2, len(words) - 1)}
        border = int(chance.choice([i for i, gap in gaps.items() if gap < MOST_GAP_S] or [len(words) // 2]))
        at = round((words[border - 1].end + words[border].start) / 2 * SAMPLE_RATE)
        # With the gap that is there already the whole pause is 0.3 to 0.7 s long.
        length = max(0.05, chance.uniform(0.3, 0.7) - gaps.get(border, 0.0))
        samples = np.concatenate([samples[:at], tone(length, chance), samples[at:]])
        end += length
    tail = round(end * SAMPLE_RATE) + SAMPLE_RATE // 5
    return Utterance(np.concatenate([samples[:tail], tone(TAIL_S, chance)]), end)


def room_tone(samples: Samples) -> Any:
    """A function (seconds, chance) -> noise with the level and colour of the recording's quietest 200 ms."""
    size = SAMPLE_RATE // 5
    starts = range(0, max(1, len(samples) - size), size // 4)
    quietest = min((samples[s : s + size] for s in starts), key=lambda piece: float(np.mean(piece * piece)))
    spectrum = np.abs(np.fft.rfft(quietest * np.hanning(len(quietest)))) / np.sqrt(
        np.mean(np.hanning(len(quietest)) ** 2)
    )

    def tone(seconds: float, chance: np.random.Generator) -> Samples:
        count = round(seconds * SAMPLE_RATE)
        phases = np.exp(2j * np.pi * chance.random((count // len(quietest) + 1, len(spectrum))))
        return np.fft.irfft(spectrum * phases, len(quietest)).ravel()[:count].astype(np.float32)

    return tone


class FixedSilence:
    """The usual rule: so much silence ends the utterance."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def pause(self, silence_s: float) -> bool:
        """Never tries an answer early."""
        return False

    def end(self, silence_s: float, segment: int) -> bool:
        """The silence ends the segment."""
        return silence_s >= self._seconds

    def stopped(self, segment: int) -> float | None:
        """Silence alone decides here."""
        return None

    def heard(self, message: object) -> None:
        """Does not listen to the words."""


class ModelsAware:
    """The daemon's rule, or a part of it: what the models think of words and sound decides how much silence is needed."""

    def __init__(
        self,
        settings: Settings,
        recognizer: Recognizer,
        second: SecondPass | None,
        generator: Generator,
        evidence: str = "words and sound",
    ) -> None:
        self._rule, self._recognizer, self._generator = Endpointer(settings.endpoint), recognizer, generator
        self._second = second
        self._audio: list[Samples] = []
        self._evidence = evidence
        self._known = UNKNOWN_END

    def pause(self, silence_s: float) -> bool:
        """The silence is long enough to try an answer."""
        return self._rule.judge(silence_s, None) is not Silence.NONE

    def end(self, silence_s: float, segment: int) -> bool:
        """The silence ends the segment."""
        return self._rule.judge(silence_s, self._known.completeness) is Silence.END

    def stopped(self, segment: int) -> float | None:
        """Silence alone decides here."""
        return None

    def heard(self, message: object) -> None:
        """Follow the segment as the recognise and generate stages do."""
        if isinstance(message, SpeechStarted):
            self._recognizer.reset()
            self._known, self._audio = UNKNOWN_END, []
        elif isinstance(message, SpeechAudio):
            self._audio.append(message.samples)
            self._recognizer.accept(message.samples)
        elif isinstance(message, SpeechResumed):
            self._known = UNKNOWN_END
        elif isinstance(message, SpeechPaused) and not message.settled:
            first = transcript = self._recognizer.finish()
            complete = None
            if "words" in self._evidence:
                if self._second is not None:
                    transcript = self._second.refine(np.concatenate(self._audio), first)
                words = plain_words(transcript.text)
                self._generator.prefill((), words)
                complete = self._generator.completeness() if words else None
            self._known = EndEvidence(complete, first.ended if "sound" in self._evidence else None)


def judge(settings: Settings, rule: FixedSilence | ModelsAware, utterances: Sequence[Utterance]) -> dict[str, Any]:
    """Listen to all utterances with one rule."""
    delays = [delay for utterance in utterances if (delay := endpoint(settings, rule, utterance)) is not None]
    whole = len(delays)
    return {
        "not_cut_percent": round(100 * whole / len(utterances), 1),
        "delay_p50_ms": round(1000 * statistics.median(delays)) if delays else None,
        "delay_p95_ms": round(1000 * float(np.percentile(delays, 95))) if delays else None,
    }


def endpoint(settings: Settings, rule: FixedSilence | ModelsAware, utterance: Utterance) -> float | None:
    """Seconds from the end of the last word to the endpoint; None if the utterance was cut."""
    segmenter = Segmenter(settings.vad, settings.endpoint, SpeechDetector(settings.vad), rule)
    block = SAMPLE_RATE * settings.audio.block_ms // 1000
    for start in range(0, len(utterance.samples) - block + 1, block):
        now = (start + block) / SAMPLE_RATE
        for message in segmenter.accept(Frame(utterance.samples[start : start + block], now)):
            rule.heard(message)
            if isinstance(message, SpeechEnded):
                return None if message.speech_end < utterance.end - TOLERANCE_S else now - utterance.end
    return TAIL_S
