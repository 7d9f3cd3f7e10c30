"""How fast this board is: the real models on a sentence of their own, and what first-sound latency to expect."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from edgevoice.asr.recognizer import SAMPLE_RATE
from edgevoice.assembly import Models
from edgevoice.audio.resample import MonoResampler, to_float
from edgevoice.audio.vad import SpeechDetector
from edgevoice.doctor.finding import Finding, ok, warn
from edgevoice.settings import Settings

SENTENCE = "please tell me what the weather will be like tomorrow morning"
"""Spoken by the voice, then recognised: no recording needed, and no word of a user's."""
ROUNDS = 3
CLAUSE_TOKENS = 8
"""Tokens of a typical first clause."""
REUSE_WANTED = 0.9
GOOD_S, TOLERABLE_S = 1.2, 2.5


@dataclass(frozen=True)
class Speeds:
    """Medians of what was measured; seconds, or compute time / audio time."""

    listen_rtf: float
    recognise_rtf: float
    finish_s: float
    """Flushing the recogniser at the end of speech."""
    second_pass_s: float
    first_token_s: float
    token_s: float
    """Seconds for each further token."""
    reuse: float
    """Share of the prompt found in the cache when two words were added."""
    voice_rtf: float
    first_pcm_s: float


def measure(settings: Settings) -> Iterator[Finding]:
    """Load the models, measure them one by one, and say what to expect."""
    models = Models.build(settings)
    try:
        models.load()
        yield ok("loading", ", ".join(f"{name} {seconds:.1f} s" for name, seconds in models.seconds.items()))
        yield from judge(speeds(settings, models), settings)
    finally:
        models.close()


def speeds(settings: Settings, models: Models) -> Speeds:
    """Measure loaded models. What is not there counts as instant."""
    spoken, voice_rtf, first_pcm = _voice(models)
    listen = _median(lambda: _listening(settings, spoken))
    recognised = [_recognition(models, spoken) for _ in range(ROUNDS)]
    first_token, token, reuse = _language_model(models)
    return Speeds(
        listen_rtf=listen,
        recognise_rtf=statistics.median(r[0] for r in recognised),
        finish_s=statistics.median(r[1] for r in recognised),
        second_pass_s=statistics.median(r[2] for r in recognised),
        first_token_s=first_token,
        token_s=token,
        reuse=reuse,
        voice_rtf=voice_rtf,
        first_pcm_s=first_pcm,
    )


def expected_first_sound(found: Speeds, settings: Settings) -> float:
    """Seconds from the end of speech to the first sound: the answer is in the making while silence is still awaited."""
    work = (
        found.finish_s + found.second_pass_s + found.first_token_s + CLAUSE_TOKENS * found.token_s + found.first_pcm_s
    )
    silence = settings.endpoint.min_silence_ms / 1000
    begins = settings.endpoint.pause_ms / 1000 if settings.dialog.speculate else silence
    return max(silence, begins + work)


def judge(found: Speeds, settings: Settings) -> Iterator[Finding]:
    """Speeds in words."""
    factors = {"listening": found.listen_rtf, "recogniser": found.recognise_rtf, "voice": found.voice_rtf}
    for stage, rtf in factors.items():
        if rtf > settings.governor.rtf_limit:
            yield warn(
                f"speed ({stage})", f"real-time factor {rtf:.2f}", "quality will be reduced; a smaller model helps"
            )
        else:
            yield ok(f"speed ({stage})", f"real-time factor {rtf:.3f}")
    rate = 1 / found.token_s if found.token_s else float("inf")
    deadline = settings.llm.first_token_deadline_ms / 1000
    text = f"first token after {found.first_token_s * 1000:.0f} ms, then {rate:.0f} tokens/s"
    if found.first_token_s > deadline:
        yield warn(
            "speed (language)",
            text,
            f"misses llm.first_token_deadline_ms ({deadline * 1000:.0f}); a smaller model helps",
        )
    else:
        yield ok("speed (language)", text)
    if found.reuse < REUSE_WANTED:
        yield warn(
            "prompt cache",
            f"only {found.reuse:.0%} of the prompt is reused",
            "this model's cache cannot be cut back; choose another",
        )
    else:
        yield ok("prompt cache", f"{found.reuse:.0%} of the prompt is reused from turn to turn")
    expected = expected_first_sound(found, settings)
    text = f"about {expected * 1000:.0f} ms from the end of speech to the first sound"
    if expected > TOLERABLE_S:
        yield warn("expected latency", text, "too slow to talk with: llm.backend = template, tts.backend = hibari")
    elif expected > GOOD_S:
        yield warn("expected latency", text, "asr.second_pass = off, or a lighter voice, brings it down")
    else:
        yield ok("expected latency", text)


def _voice(models: Models) -> tuple[NDArray[np.float32], float, float]:
    """(16 kHz sound of SENTENCE, RTF, seconds to the first chunk)."""
    factors: list[float] = []
    firsts: list[float] = []
    pieces: list[NDArray[np.int16]] = []
    for _ in range(ROUNDS):
        began, first, pieces = time.monotonic(), 0.0, []
        for chunk in models.synthesizer.synthesize(SENTENCE, _never):
            first = first or time.monotonic() - began
            pieces.append(chunk.samples)
        spent = time.monotonic() - began
        samples = sum(map(len, pieces))
        firsts.append(first)
        factors.append(spent * models.synthesizer.sample_rate / samples if samples else 0.0)
    if not pieces:
        return np.zeros(3 * SAMPLE_RATE, np.float32), 0.0, 0.0
    resampler = MonoResampler(models.synthesizer.sample_rate, SAMPLE_RATE)
    sound = np.concatenate([resampler.accept(to_float(np.concatenate(pieces))), resampler.finish()])
    return sound, statistics.median(factors), statistics.median(firsts)


def _listening(settings: Settings, sound: NDArray[np.float32]) -> float:
    detector = SpeechDetector(settings.vad)
    began = time.monotonic()
    for block in _blocks(sound, settings.audio.block_ms):
        detector.accept(block)
    return (time.monotonic() - began) * SAMPLE_RATE / len(sound)


def _recognition(models: Models, sound: NDArray[np.float32]) -> tuple[float, float, float]:
    """(RTF while speech goes on, seconds to finish, seconds of the second pass)."""
    models.recognizer.reset()
    began = time.monotonic()
    for block in _blocks(sound, 20):
        models.recognizer.accept(block)
    accepted = time.monotonic()
    first = models.recognizer.finish()
    finished = time.monotonic()
    if models.second_pass:
        models.second_pass.refine(sound, first)
    return (accepted - began) * SAMPLE_RATE / len(sound), finished - accepted, time.monotonic() - finished


def _language_model(models: Models) -> tuple[float, float, float]:
    """(seconds to the first token after prefilling, seconds per further token, share of the prompt reused)."""
    words = SENTENCE.split()
    firsts, rest, reuse = [], [], 1.0
    for _ in range(ROUNDS):
        models.generator.rollback(())
        models.generator.prefill((), " ".join(words[:-2]), _never)
        began = time.monotonic()
        tokens = models.generator.generate((), SENTENCE, _never, 24)
        if next(tokens, None) is None:
            return 0.0, 0.0, 1.0
        first = time.monotonic()
        use = models.generator.last_use()
        reuse = min(reuse, use.reused / use.tokens if use.tokens else 1.0)
        count = sum(1 for _ in islice(tokens, 23))
        firsts.append(first - began)
        if count:
            rest.append((time.monotonic() - first) / count)
    return statistics.median(firsts), statistics.median(rest) if rest else 0.0, reuse


def _blocks(sound: NDArray[np.float32], ms: int) -> Iterator[NDArray[np.float32]]:
    size = SAMPLE_RATE * ms // 1000
    return (sound[at : at + size] for at in range(0, len(sound), size))


def _median(measurement: Callable[[], float]) -> float:
    return statistics.median(measurement() for _ in range(ROUNDS))


def _never() -> bool:
    return False
