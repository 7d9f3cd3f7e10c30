"""Pauses as the device hears them, with what it knows of them: what the end-of-turn network learns from (`turn_end.py`).

A pause is reported by the device's own segmenter, 80 ms after speech has stopped: the encoder's frames of the two seconds
before, and whether more words follow. Pauses are the readers' own ones and ones of room tone put between two words; longer
silences inside recordings of several sentences are left out, since nobody knows whether a sentence ended there.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgevoice.asr.ctc import StreamingCtc
from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.asr.turn_end import SPAN
from edgevoice.audio.segmenter import Segmenter
from edgevoice.audio.vad import SpeechDetector
from edgevoice.bench.endpoint import TOLERANCE_S, room_tone
from edgevoice.dialog.endpoint import Endpointer, Silence
from edgevoice.messages import Frame, SpeechAudio, SpeechPaused, SpeechResumed, SpeechStarted
from edgevoice.settings import EndpointSettings, Settings
from scripts.asr.augment import add_noise
from scripts.asr.data import is_held_out, load_held_out, read_audio, read_manifest
from scripts.asr.noise import coloured

WIDTH = 384
"""Of a frame."""
LONGEST_S = 7.0
"""Longer recordings are begun in the middle: commands are short."""
TAIL_S = 0.9
NO_PARTIALS_MS = 3_600_000
"""A chunk that never becomes complete: only whole segments are needed here."""
SENTENCES = frozenset({"libri5", "tc100", "lj"})
"""Sources whose recordings hold several sentences."""
DOUBTFUL_S = 0.35
"""Silences in them from here on may be the end of a sentence."""
BLOCK = SAMPLE_RATE // 50


@dataclass(frozen=True)
class Pause:
    """One silence."""

    frames: np.ndarray
    """The encoder's frames before it, float16 [at most SPAN, 384]."""
    over: bool
    """No words follow."""
    inserted: bool
    """It was put there."""
    words: str
    """What had been said, as the recogniser heard it."""


class NeverEnds:
    """The device's rule for a pause; nothing ends a segment."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._rule = Endpointer(settings)

    def pause(self, silence_s: float) -> bool:
        """The silence is long enough to try an answer."""
        return self._rule.judge(silence_s, None) is not Silence.NONE

    def end(self, silence_s: float, segment: int) -> bool:
        """Never."""
        return False

    def stopped(self, segment: int) -> float | None:
        """Never."""
        return None


class Listener:
    """Hears recordings as the device does."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.recognizer = StreamingCtc(settings.asr, phrases=())
        self.recognizer.load()
        self.recognizer.set_chunk(NO_PARTIALS_MS)

    def word_times(self, samples: Samples) -> list[tuple[float, float]]:
        """(start, end) of each word the recogniser finds, in seconds."""
        self.recognizer.reset()
        self.recognizer.accept(samples)
        return [(word.start, word.end) for word in self.recognizer.finish().words]

    def pauses(self, samples: Samples) -> Iterator[tuple[float, float, np.ndarray, str]]:
        """(time of the last speech sample, seconds until speech goes on, frames, words) of each pause."""
        vad, endpoint = self.settings.vad, self.settings.endpoint
        segmenter = Segmenter(vad, endpoint, SpeechDetector(vad), NeverEnds(endpoint))
        waiting: tuple[float, np.ndarray, str] | None = None
        for start in range(0, len(samples) - BLOCK + 1, BLOCK):
            now = (start + BLOCK) / SAMPLE_RATE
            for message in segmenter.accept(Frame(samples[start : start + BLOCK], now)):
                if isinstance(message, SpeechStarted):
                    self.recognizer.reset()
                elif isinstance(message, SpeechAudio):
                    self.recognizer.accept(message.samples)
                elif isinstance(message, SpeechResumed) and waiting:
                    yield waiting[0], now - waiting[0], waiting[1], waiting[2]
                    waiting = None
                elif isinstance(message, SpeechPaused) and not message.settled:
                    words = self.recognizer.finish().text
                    frames = self.recognizer.frames
                    assert frames is not None, "the recogniser's model gives no frames"
                    waiting = message.speech_end, frames[-SPAN:].astype(np.float16), words
        if waiting:
            yield waiting[0], float("inf"), waiting[1], waiting[2]


def pauses_of(row: dict, listener: Listener, rng: np.random.Generator, versions: int) -> Iterator[Pause]:
    """The pauses of a recording: its own, and in each further version one that is put in."""
    samples = read_audio(row["path"])
    times = listener.word_times(samples)
    if not times:
        return
    if times[-1][1] - times[0][0] > LONGEST_S:
        first = next(i for i, (start, _) in enumerate(times) if times[-1][1] - start <= LONGEST_S)
        cut = max(0, round((times[first][0] - 0.05) * SAMPLE_RATE))
        samples, times = samples[cut:], [(a - cut / SAMPLE_RATE, b - cut / SAMPLE_RATE) for a, b in times[first:]]
    tone = room_tone(samples)
    for version in range(versions if len(times) > 1 else 1):
        end, at, changed = times[-1][1], None, samples
        if version:
            border = int(rng.integers(1, len(times)))
            at = (times[border - 1][1] + times[border][0]) / 2
            length = rng.uniform(0.3, 0.7)
            place = round(at * SAMPLE_RATE)
            changed = joined(joined(samples[:place], tone(length, rng)), samples[place:])
            end += length
        # Half of the ends have the recording's own silence behind them, half have what inserted pauses are made of.
        tail = round((end + rng.choice([0.05, 0.1, 0.3])) * SAMPLE_RATE)
        changed = varied(joined(changed[:tail], tone(TAIL_S, rng)), rng)
        for stopped, until_more, frames, words in listener.pauses(changed):
            over = stopped >= end - TOLERANCE_S
            own = at is None or not at - 0.15 <= stopped <= at + 0.15
            if not words or (not over and own and row["source"] in SENTENCES and until_more > DOUBTFUL_S):
                continue
            yield Pause(frames, over, not over and not own, words)


def joined(one: Samples, two: Samples, overlap: int = 160) -> Samples:
    """Two pieces with a cross-fade of 10 ms: a cut must not be heard as such."""
    if min(len(one), len(two)) < overlap:
        return np.concatenate([one, two])
    rise = np.linspace(0, 1, overlap, dtype=np.float32)
    middle = one[-overlap:] * (1 - rise) + two[:overlap] * rise
    return np.concatenate([one[:-overlap], middle, two[overlap:]])


def varied(samples: Samples, rng: np.random.Generator) -> Samples:
    """Another loudness, and noise in every third case."""
    level = float(np.sqrt(np.mean(samples * samples))) + 1e-6
    if rng.random() < 0.33:
        samples = add_noise(samples, coloured(rng, len(samples), rng.uniform(0.2, 1.0)), rng.uniform(8, 30))
    return np.clip(samples * 10 ** (rng.uniform(-34, -18) / 20) / level, -1, 1).astype(np.float32)


def collect(sources: Sequence[Path], out: Path, held_out: bool, versions: int, most: int, seed: int) -> None:
    """Write the examples of all recordings to OUT.npz."""
    kept = load_held_out()
    listener, rng = Listener(Settings()), np.random.default_rng(seed)
    found: list[Pause] = []
    for source in sources:
        rows = [row for row in read_manifest(source) if is_held_out(row, kept) == held_out]
        random.Random(seed).shuffle(rows)
        before = len(found)
        for row in rows[:most]:
            found += pauses_of(row, listener, rng, versions)
        part = found[before:]
        print(source.name, len(part), "pauses,", sum(p.over for p in part), "of them ends", flush=True)
    frames = np.zeros((len(found), SPAN, WIDTH), np.float16)
    for index, pause in enumerate(found):
        frames[index, SPAN - len(pause.frames) :] = pause.frames
    np.savez(
        out,
        frames=frames,
        lengths=np.array([len(pause.frames) for pause in found]),
        over=np.array([pause.over for pause in found]),
        inserted=np.array([pause.inserted for pause in found]),
        words=np.array([pause.words for pause in found]),
    )
