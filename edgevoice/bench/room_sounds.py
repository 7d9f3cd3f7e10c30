"""Sounds that must not stop an answer: coughs, clicks, thumps made by computation, and back-channels by the voices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import soxr
from scipy.signal import butter, sosfilt

from edgevoice import config
from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.errors import EdgeVoiceError
from edgevoice.settings import Settings
from edgevoice.tts.factory import build_synthesizer

HUM = "Hm, hm."
"""Written so that the voices hum: "Mm-hmm." they say with vowels, and every recogniser reads "in a month" in it."""
BACKCHANNELS = (HUM, "Uh-huh.", "Yeah.", "Okay.")
LEVEL_DBFS = -24.0
"""Level of the loud part at the microphone: as loud as somebody who speaks at one metre."""


def cough(seed: int) -> Samples:
    """One or two bursts of noise through a vocal tract, each with a sharp attack and a voiced end."""
    random = np.random.default_rng(seed)
    bursts = []
    for _ in range(int(random.integers(1, 3))):
        count = int(random.uniform(0.18, 0.32) * SAMPLE_RATE)
        time = np.arange(count) / SAMPLE_RATE
        noise = random.standard_normal(count)
        tract = sum(
            sosfilt(butter(2, [0.85 * hertz, 1.15 * hertz], "bandpass", fs=SAMPLE_RATE, output="sos"), noise)
            for hertz in random.uniform(0.8, 1.2, 3) * np.array([600.0, 1400.0, 2900.0])
        )
        pitch = 2 * np.pi * np.cumsum(np.linspace(random.uniform(110, 220), 90, count)) / SAMPLE_RATE
        voiced = 0.3 * np.sign(np.sin(pitch)) * np.exp(-((time - 0.12) ** 2) / 0.002)
        bursts += [(tract + voiced) * np.minimum(1.0, time / 0.01) * np.exp(-time / 0.08), np.zeros(SAMPLE_RATE // 8)]
    return _levelled(np.concatenate(bursts))


def click(seed: int) -> Samples:
    """Two to six clicks as of keys or a switch."""
    random = np.random.default_rng(seed)
    sound = np.zeros(SAMPLE_RATE // 2)
    for start in random.integers(0, SAMPLE_RATE // 3, int(random.integers(2, 7))):
        length = int(random.uniform(0.003, 0.012) * SAMPLE_RATE)
        sound[start : start + length] += random.standard_normal(length) * np.exp(-np.arange(length) / (0.3 * length))
    return _levelled(sound)


def thump(seed: int) -> Samples:
    """A door: a low knock with a rattle."""
    random = np.random.default_rng(seed)
    time = np.arange(int(0.35 * SAMPLE_RATE)) / SAMPLE_RATE
    low = np.sin(2 * np.pi * random.uniform(60, 140) * time) * np.exp(-time / 0.06)
    return _levelled(low + 0.3 * random.standard_normal(len(time)) * np.exp(-time / 0.03))


def backchannels() -> Iterator[tuple[str, Samples]]:
    """(text, sound) of each back-channel by each installed voice, lower and higher than the voice itself."""
    for backend in ("piper", "hibari", "espeak"):
        synthesizer = build_synthesizer(config.replace(Settings(), tts={"backend": backend}))
        try:
            synthesizer.load()
        except EdgeVoiceError:
            continue
        for text in BACKCHANNELS:
            sound = np.concatenate([chunk.samples for chunk in synthesizer.synthesize(text)]).astype(np.float32)
            for pitch in (0.88, 1.14):
                yield text, _levelled(soxr.resample(sound, synthesizer.sample_rate * pitch, SAMPLE_RATE))
        synthesizer.close()


def disturbances(count: int, seed: int = 0) -> list[tuple[str, Samples]]:
    """`count` sounds with their names: a third back-channels, the rest coughs, clicks and thumps."""
    said = list(backchannels())
    np.random.default_rng(seed).shuffle(said)
    made: tuple[tuple[str, Callable[[int], Samples]], ...] = (("cough", cough), ("click", click), ("thump", thump))
    found: list[tuple[str, Samples]] = []
    for number in range(count):
        if number % 3 == 2 and said:
            found.append(said[number // 3 % len(said)])
        else:
            name, make = made[(number - number // 3) % len(made)]
            found.append((name, make(seed + number)))
    return found


def _levelled(sound: np.ndarray) -> Samples:
    loud = sound[np.abs(sound) > 0.1 * np.max(np.abs(sound))]
    gain = 10.0 ** (LEVEL_DBFS / 20.0) / np.sqrt(np.mean(np.square(loud)))
    return np.asarray(np.clip(sound * gain, -0.9, 0.9), np.float32)
