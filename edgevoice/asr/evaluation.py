"""Error rates of the recogniser on recordings with known words: by source, by noise level, by pass."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jiwer
import numpy as np

from edgevoice.asr.normalize import scoring_form
from edgevoice.asr.recognizer import SAMPLE_RATE, Recognizer, Samples
from edgevoice.asr.two_pass import SecondPass
from edgevoice.audio.files import read_all
from edgevoice.errors import DataError, InputMissingError

CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class Utterance:
    """A line of a manifest."""

    audio: Path
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Score:
    """Error rates of one recogniser on one source under one condition."""

    source: str
    condition: str
    """`clean` or `10 dB`, the signal-to-noise ratio."""
    recognizer: str
    utterances: int
    words: int
    wer: float
    """Word error rate, 0.1 is 10 %."""
    cer: float
    """Character error rate."""
    rtf: float
    """Time the recogniser took divided by the length of the sound."""
    silent: int
    """Utterances for which nothing was written at all."""


@dataclass
class _Tally:
    references: list[str] = field(default_factory=list)
    hypotheses: list[str] = field(default_factory=list)
    compute_s: float = 0.0
    audio_s: float = 0.0

    def score(self, source: str, condition: str, recognizer: str) -> Score:
        return Score(
            source,
            condition,
            recognizer,
            len(self.references),
            sum(len(text.split()) for text in self.references),
            round(float(jiwer.wer(self.references, self.hypotheses)), 4),
            round(float(jiwer.cer(self.references, self.hypotheses)), 4),
            round(self.compute_s / self.audio_s, 4),
            sum(not text for text in self.hypotheses),
        )


def read_manifest(path: Path, limit: int = 0) -> list[Utterance]:
    """Lines `{"audio": …, "text": …, "source": …}` (source: the folder's name if missing), audio beside the manifest.

    `limit` takes that many, evenly spread. Raises InputMissingError or DataError.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputMissingError(
            str(path), (error.strerror or "cannot be read").lower(), "name a manifest.jsonl"
        ) from error
    found: list[Utterance] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row: dict[str, Any] = json.loads(line)
            utterance = Utterance(
                path.parent / row["audio"], row["text"], row.get("source", path.absolute().parent.name)
            )
        except (ValueError, KeyError, TypeError) as error:
            mend = 'write {"audio": "a.wav", "text": "what is said"} on each line'
            raise DataError(f"{path}, line {number}", f"no entry of a manifest ({error!r})", mend) from error
        if scoring_form(utterance.text):
            found.append(utterance)
    if not found:
        raise DataError(str(path), "holds no utterance with words", "write one JSON object a line")
    return found[:: max(1, len(found) // limit)][:limit] if limit else found


def evaluate(
    utterances: Iterable[Utterance],
    recognizers: dict[str, Recognizer],
    second: SecondPass | None,
    snrs_db: Iterable[float] = (),
) -> Iterator[Score | str]:
    """Scores of all `recognizers`, and of `second` over the first of them; the file's name before each is worked on.

    Noise is pink, mixed at the given ratios, the same for every recogniser.
    """
    tallies: dict[tuple[str, str, str], _Tally] = defaultdict(_Tally)
    ratios: list[float | None] = [None, *snrs_db]
    for index, utterance in enumerate(utterances):
        yield utterance.audio.name
        sound = read_all(utterance.audio)
        reference = scoring_form(utterance.text)
        for ratio in ratios:
            condition = CLEAN if ratio is None else f"{ratio:g} dB"
            noisy = sound if ratio is None else mix(sound, ratio, np.random.default_rng(index))
            for hypothesis, name, seconds in _transcripts(noisy, recognizers, second):
                for source in (utterance.source, "all"):
                    tally = tallies[source, condition, name]
                    tally.references.append(reference)
                    tally.hypotheses.append(scoring_form(hypothesis))
                    tally.compute_s += seconds
                    tally.audio_s += len(sound) / SAMPLE_RATE
    several = len({source for source, _, _ in tallies}) > 2
    for (source, condition, name), tally in tallies.items():
        if source != "all" or several:
            yield tally.score(source, condition, name)


def _transcripts(
    sound: Samples, recognizers: dict[str, Recognizer], second: SecondPass | None
) -> Iterator[tuple[str, str, float]]:
    """(text, recogniser, seconds) of each."""
    for index, (name, recognizer) in enumerate(recognizers.items()):
        began = time.process_time()
        recognizer.reset()
        for start in range(0, len(sound), SAMPLE_RATE // 2):
            recognizer.accept(sound[start : start + SAMPLE_RATE // 2])
        first = recognizer.finish()
        yield first.text, name, time.process_time() - began
        if second is not None and index == 0:
            began = time.process_time()
            refined = second.refine(sound, first)
            yield refined.text, "second pass", time.process_time() - began


def mix(sound: Samples, snr_db: float, random: np.random.Generator) -> Samples:
    """The sound with pink noise `snr_db` below its mean power."""
    spectrum = np.fft.rfft(random.standard_normal(len(sound)))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    noise = np.fft.irfft(spectrum, len(sound))
    power = float(np.mean(np.square(sound))) + 1e-12
    gain = np.sqrt(power / 10 ** (snr_db / 10) / (float(np.mean(np.square(noise))) + 1e-12))
    return np.asarray(np.clip(sound + gain * noise, -1, 1), np.float32)


def as_json(scores: Iterable[Score]) -> list[dict[str, Any]]:
    """The scores for `--json`."""
    return [asdict(score) for score in scores]
