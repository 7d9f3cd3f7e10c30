"""Engines and tiers side by side: first sound, speed (`speedup`: against the plain piper-tts package), memory, and what
Whisper understands of them.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jiwer
import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE
from edgevoice.asr.whisper import WhisperRecognizer
from edgevoice.audio.resample import MonoResampler, to_float
from edgevoice.bench.statistics import percentiles
from edgevoice.models import store
from edgevoice.runtime.memory import rss_mb
from edgevoice.settings import Settings
from edgevoice.tts.factory import build_synthesizer
from edgevoice.tts.normalize import for_speech
from edgevoice.tts.optimize.measure import clicks
from edgevoice.tts.optimize.plain import PlainSynthesizer
from edgevoice.tts.optimize.sentences import sentences
from edgevoice.tts.synthesizer import Synthesizer

Candidate = tuple[dict[str, Any], Settings]


class Listener:
    """Whisper as the judge of intelligibility."""

    def __init__(self, settings: Settings) -> None:
        self._whisper = WhisperRecognizer(replace(settings.asr, backend="whisper"))
        self._whisper.load()

    def heard(self, sound: np.ndarray, rate: int) -> str:
        """What it understands of int16 samples at `rate` Hz."""
        resampler = MonoResampler(rate, SAMPLE_RATE)
        samples = np.concatenate([resampler.accept(to_float(sound)), resampler.finish()])
        self._whisper.reset()
        self._whisper.accept(np.concatenate([samples, np.zeros(SAMPLE_RATE // 4, np.float32)]))
        return self._whisper.finish().text


def word_error_rate(said: Sequence[str], heard: Sequence[str]) -> float:
    """Percent, numbers and punctuation evened out."""
    return 100.0 * float(jiwer.wer([_plain(text) for text in said], [_plain(text) for text in heard]))


def _plain(text: str) -> str:
    words = for_speech(text.replace("-", " "), "en").lower().replace("-", " ")
    return " ".join(re.findall(r"[a-z']+", words)) or "(nothing)"


def compare(candidates: Sequence[Candidate], count: int) -> list[dict[str, Any]]:
    """One row per candidate; each runs in a process of its own, so that its memory can be told."""
    context = multiprocessing.get_context("spawn")
    rows = []
    for description, settings in candidates:
        with context.Pool(1) as pool:
            sounds = pool.apply(_speak_all, (description["engine"], settings, count))
        listener = Listener(settings)
        heard = [listener.heard(sound, sounds["rate"]) for sound in sounds.pop("sounds")]
        rows.append(
            {
                "engine": description["engine"],
                "voice": description["voice"],
                "tier": settings.tts.tier if description["tiers"] else None,
                "speedup": None,
                **{key: sounds[key] for key in ("ttfb_p50_ms", "ttfb_p95_ms", "rtf", "cpu_rtf", "memory_mb", "clicks")},
                "wer_percent": round(word_error_rate(sentences(count), heard), 1),
                "sentences": count,
                "licence": description["licence"],
            }
        )
    plain = next((row["rtf"] for row in rows if row["engine"] == PlainSynthesizer.name), None)
    for row in rows if plain else ():
        row["speedup"] = round(plain / row["rtf"], 2)
    return rows


def _speak_all(engine: str, settings: Settings, count: int) -> dict[str, Any]:
    """Runs in a process of its own: load one voice, speak everything."""
    from edgevoice.bench.tts import timed

    before = rss_mb()
    voice: Synthesizer
    if engine == PlainSynthesizer.name:
        voice = PlainSynthesizer(store.find(settings.tts.voice, "tts"))
    else:
        voice = build_synthesizer(settings)
    voice.load()
    voice.warm()
    sounds, figures = [], []
    for text in sentences(count):
        figures.append(timed(voice, text))
        sounds.append(np.concatenate([chunk.samples for chunk in voice.synthesize(text)]))
    voice.close()
    seconds = sum(row[3] for row in figures)
    first = percentiles([row[0] * 1000 for row in figures])
    return {
        "sounds": sounds,
        "rate": voice.sample_rate,
        "ttfb_p50_ms": first["p50_ms"],
        "ttfb_p95_ms": first["p95_ms"],
        "rtf": round(sum(row[1] for row in figures) / seconds, 4),
        "cpu_rtf": round(sum(row[2] for row in figures) / seconds, 4),
        "memory_mb": round(rss_mb() - before),
        "clicks": sum(len(clicks(to_float(sound), voice.sample_rate)) for sound in sounds),
    }


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The table as Markdown."""
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join("–" if row[c] is None else str(row[c]) for c in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"
