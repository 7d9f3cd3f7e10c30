"""Material for `bench wake`: wake words by many voices, and hours of other speech, each in a tuning and a held-out part.

No voice, recording or stretch of speech is in both parts.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr
from scipy.signal import fftconvolve

from edgevoice import config
from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.audio.room import impulse_response
from edgevoice.errors import EdgeVoiceError
from edgevoice.settings import Settings
from edgevoice.tts.factory import build_synthesizer

TUNING_SPEECH = ("train/libri5", "train/new", "train/so_train")
HELD_OUT_SPEECH = ("dev/libri5dev", "dev/so_test", "train/tc100", "train/kath", "train/lj")
"""Folders of other speech. Those in `train/` have trained the phone recogniser, but no wake word model."""
SPEEDS = (0.85, 1.0, 1.2)
PUNCTUATION = (".", "!", "?")
TUNING_ESPEAK = ("en-us", "en-gb-scotland", "en-us+f2", "en-us+Mike", "en-gb+steph")
HELD_OUT_ESPEAK = ("en-gb", "en-gb-x-rp", "en-us+f4", "en-us+linda", "en-us+m3")
FLITE = {"awb": "natural", "rms": "natural", "slt": "natural", "kal16": "robotic"}
"""Voice of flite -> kind: cut from recordings of a person in unit selection or statistical models, or diphones."""
FESTIVAL = {"voice_cmu_us_slt_arctic_hts": "natural", "voice_kal_diphone": "robotic"}
SPELLINGS = {"okay_nabu": "okay nahboo"}
"""As the older voices have to be told to say it: they would rhyme "nabu" with "avenue"."""
LEAD_S, TAIL_S = 2.0, 1.0
PEAK = 0.3
STRETCH_S = 30.0
"""Seconds to which utterances of other speech are joined."""


@dataclass(frozen=True)
class Clip:
    """One spoken wake word between two and one seconds of background."""

    voice: str
    kind: str
    """`natural`, `robotic` (formants or diphones) or `recorded`."""
    held_out: bool
    samples: Samples
    end_s: float
    """Seconds to the word's last sample within 40 dB of the loudest."""


@dataclass(frozen=True)
class Spoken:
    """A word as a voice says it, before room and noise."""

    voice: str
    kind: str
    held_out: bool
    samples: Samples


def clips(word: str, corpus: Path) -> list[Clip]:
    """The word by every voice at hand: a third each clean, in a room (0.3 s), and in noise (15 dB)."""
    random = np.random.default_rng(5)
    said = [*_product_voices(word), *_espeak(word), *_flite(word), *_festival(word), *_recorded(word, corpus)]
    return [_placed(one, number, random) for number, one in enumerate(said)]


def other_speech(corpus: Path, held_out: bool, hours: float) -> Iterator[Samples]:
    """Speech without wake words in stretches of about half a minute, the folders in turn."""
    queues = []
    for folder in HELD_OUT_SPEECH if held_out else TUNING_SPEECH:
        manifest = corpus / folder / "manifest.jsonl"
        if manifest.is_file():
            rows = manifest.read_text(encoding="utf-8").splitlines()
            queues.append([manifest.parent / json.loads(row)["audio"] for row in rows])
    left = hours * 3600
    while any(queues) and left > 0:
        for queue in queues:
            parts: list[Samples] = []
            while queue and sum(map(len, parts)) < STRETCH_S * SAMPLE_RATE:
                parts.append(_read(queue.pop(0)))
            if parts:
                joined = np.concatenate(parts)
                left -= len(joined) / SAMPLE_RATE
                yield joined


def _placed(said: Spoken, number: int, random: np.random.Generator) -> Clip:
    sound = said.samples / max(float(np.max(np.abs(said.samples))), 1e-6) * PEAK
    end = float(np.flatnonzero(np.abs(sound) > 0.01 * PEAK)[-1]) / SAMPLE_RATE + LEAD_S
    noise, condition = 1e-3, ("clean", "room", "noise")[number % 3]
    if condition == "room":
        sound = fftconvolve(sound, impulse_response(0.3, number))
    elif condition == "noise":
        noise = float(np.sqrt(np.mean(np.square(sound[np.abs(sound) > 0.03 * PEAK])) * 10**-1.5))
    padded = np.pad(sound, (round(LEAD_S * SAMPLE_RATE), round(TAIL_S * SAMPLE_RATE)))
    padded = padded + noise * random.standard_normal(len(padded))
    return Clip(f"{said.voice} {condition}", said.kind, said.held_out, padded.astype(np.float32), end)


def _text(word: str) -> str:
    return word.replace("_", " ").title()


def _product_voices(word: str) -> Iterator[Spoken]:
    for backend in ("piper", "hibari"):
        for speed in SPEEDS:
            voice = build_synthesizer(config.replace(Settings(), tts={"backend": backend, "speed": speed}))
            try:
                voice.load()
            except EdgeVoiceError:
                break
            for mark in PUNCTUATION:
                pcm = np.concatenate([chunk.samples for chunk in voice.synthesize(_text(word) + mark)])
                sound = pcm.astype(np.float32) / 32768
                for pitch in (0.9, 1.0, 1.12):
                    resampled = soxr.resample(sound, voice.sample_rate * pitch, SAMPLE_RATE)
                    yield Spoken(f"{backend} {speed} {mark} {pitch}", "natural", False, resampled)
            voice.close()


def _espeak(word: str) -> Iterator[Spoken]:
    for voice in (*TUNING_ESPEAK, *HELD_OUT_ESPEAK):
        for words_a_minute in (140, 165, 190):
            command = ["espeak-ng", "-v", voice, "-s", str(words_a_minute), "-w", "{file}", _text(word) + "."]
            if (sound := _made_by(command)) is not None:
                yield Spoken(f"espeak {voice} {words_a_minute}", "robotic", voice in HELD_OUT_ESPEAK, sound)


def _flite(word: str) -> Iterator[Spoken]:
    text = SPELLINGS.get(word, _text(word))
    for voice, kind in FLITE.items():
        for speed in SPEEDS:
            for mark in PUNCTUATION:
                stretch = ["--setf", f"duration_stretch={1 / speed:.2f}"]
                command = ["flite", "-voice", voice, *stretch, "-t", text + mark, "-o", "{file}"]
                if (sound := _made_by(command)) is not None:
                    yield Spoken(f"flite {voice} {speed} {mark}", kind, True, sound)


def _festival(word: str) -> Iterator[Spoken]:
    text = SPELLINGS.get(word, _text(word))
    for voice, kind in FESTIVAL.items():
        for speed in SPEEDS:
            stretch = f"(Parameter.set 'Duration_Stretch {1 / speed:.2f})"
            for mark in PUNCTUATION:
                command = ["text2wave", "-o", "{file}", "-eval", f"({voice})", "-eval", stretch]
                if (sound := _made_by(command, text + mark)) is not None:
                    yield Spoken(f"festival {voice} {speed} {mark}", kind, True, sound)


def _made_by(command: list[str], stdin: str = "") -> Samples | None:
    """What a program writes to `{file}`; None if it is not installed or has no such voice."""
    if not shutil.which(command[0]):
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "word.wav"
        filled = [part.replace("{file}", str(path)) for part in command]
        done = subprocess.run(filled, input=stdin.encode(), capture_output=True, timeout=30, check=False)
        return _read(path) if done.returncode == 0 and path.is_file() else None


def _recorded(word: str, corpus: Path) -> Iterator[Spoken]:
    """Recordings of exactly this word in the corpus, every second one held out."""
    number = 0
    for manifest in sorted(corpus.glob("*/*/manifest.jsonl")):
        for line in manifest.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["text"] == word.replace("_", " "):
                number += 1
                yield Spoken(f"{row['audio']}", "recorded", number % 2 == 0, _read(manifest.parent / row["audio"]))


def _read(path: Path) -> Samples:
    samples, rate = soundfile.read(path, dtype="float32")
    resampled = samples if rate == SAMPLE_RATE else soxr.resample(samples, rate, SAMPLE_RATE)
    return np.asarray(resampled, dtype=np.float32)
