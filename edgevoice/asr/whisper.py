"""Whisper (Radford et al., 2022) on CTranslate2, run over the true length of the segment instead of 30 s.

Whisper was trained on 30 s windows. Its decoder knows that speech is over when it sees the encoder's picture
of silence. That picture is computed once at load and put behind the segment's own; only the segment is encoded.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from edgevoice.asr.features import whisper_features
from edgevoice.asr.recognizer import SAMPLE_RATE, Partial, Samples, Transcript
from edgevoice.errors import ModelDataError
from edgevoice.models import store
from edgevoice.runtime.allocator import give_back
from edgevoice.settings import AsrSettings

WINDOW_SECONDS = 30
TAIL_SECONDS = 1.0
"""Real silence encoded together with the segment. Without it the last word loses its end; with 0.3 s the decoder often
began the sentence again. 63 real recordings: 10.4 instead of 11.4 % word errors for the same processor time."""
SILENCE_FRAMES = 100
"""Encoder frames (20 ms) of the stored silence put behind the segment."""
TOKENS_PER_SECOND, SPARE_TOKENS = 8.0, 8
"""Nobody says more; longer output is a decoder that repeats itself."""
BEAM, NO_REPEAT = 3, 3
"""Hypotheses, and the length in tokens of what may not be said twice: without 30 s of context a greedy decoder likes to
repeat itself. Against greedy: 9.5 instead of 11.8 % word errors on read speech, for half as much time again."""
NO_SPEECH, DOUBTFUL, REPETITIVE = 0.6, -1.0, 2.4
"""Whisper's own thresholds: no-speech probability with mean log-probability, and compression ratio of the text."""
QUIET_DBFS = -60.0
"""A segment whose loudest 10 ms is quieter holds no words."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What Whisper read in a segment, before anything is judged."""

    text: str
    logprob: float
    """Mean natural-log probability of a token."""
    no_speech: float
    """Probability that there is no speech, in [0, 1]."""

    @property
    def compression(self) -> float:
        """Length of the text divided by its compressed length: above 2.4 it repeats itself."""
        data = self.text.encode()
        return len(data) / len(zlib.compress(data)) if data else 0.0

    @property
    def is_speech(self) -> bool:
        """Whether this reads like something that was really said."""
        silent = self.no_speech > NO_SPEECH and self.logprob < DOUBTFUL
        return bool(self.text) and not silent and self.compression <= REPETITIVE and self.logprob > 1.5 * DOUBTFUL


class WhisperModel:
    """The bare model: segment in, `Reading` out."""

    def __init__(self, folder: Path, threads: int) -> None:
        """Load from a CTranslate2 folder, INT8 in memory. Raises ModelDataError."""
        try:
            self._model = ctranslate2.models.Whisper(str(folder), compute_type="int8", intra_threads=threads)
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            config = json.loads((folder / "config.json").read_text())
        except Exception as error:  # both libraries raise bare RuntimeError and Exception
            mend = "copy the folder again; `edgevoice models verify` checks all"
            raise ModelDataError(str(folder), f"not a usable Whisper model ({str(error)[:120]})", mend) from error
        self.multilingual: bool = self._model.is_multilingual
        self.languages: tuple[str, ...] = tuple(config.get("lang_codes", ())) if self.multilingual else ("en",)
        self._silence = self._encode(whisper_features(np.zeros(WINDOW_SECONDS * SAMPLE_RATE, np.float32)))

    def encode(self, samples: Samples, silence_frames: int = SILENCE_FRAMES) -> Any:
        """The encoder's view of at most 30 s, with silence behind it; a `ctranslate2.StorageView`."""
        tail = np.zeros(int(TAIL_SECONDS * SAMPLE_RATE), np.float32)
        limit = WINDOW_SECONDS * SAMPLE_RATE
        encoded = self._encode(whisper_features(np.concatenate([samples[: limit - len(tail)], tail])))
        silence = self._silence[:, encoded.shape[1] : encoded.shape[1] + silence_frames]
        return ctranslate2.StorageView.from_array(np.concatenate([encoded, silence], axis=1))

    def read(self, encoded: Any, language: str, most_tokens: int) -> Reading:
        """Decode. `language` matters only to a multilingual model."""
        prompt = ["<|startoftranscript|>"]
        if self.multilingual:
            prompt += [f"<|{language}|>", "<|transcribe|>"]
        ids = [self._tokenizer.token_to_id(token) for token in [*prompt, "<|notimestamps|>"]]
        result = self._model.generate(
            encoded,
            [ids],
            beam_size=BEAM,
            no_repeat_ngram_size=NO_REPEAT,
            max_length=min(448, len(ids) + most_tokens),
            return_scores=True,
            return_no_speech_prob=True,
        )[0]
        text = self._tokenizer.decode(result.sequences_ids[0]).strip()
        return Reading(text, float(result.scores[0]), float(result.no_speech_prob))

    def language_probabilities(self, encoded: Any) -> dict[str, float]:
        """Probability of each language, by code. Only for a multilingual model."""
        return {token.strip("<|>"): float(p) for token, p in self._model.detect_language(encoded)[0]}

    def close(self) -> None:
        """Release the model's memory."""
        self._model.unload_model()
        give_back()

    def _encode(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        even = features[: len(features) // 2 * 2]
        view = ctranslate2.StorageView.from_array(np.ascontiguousarray(even.T[None]))
        return np.asarray(self._model.encode(view, to_cpu=True))


class WhisperRecognizer:
    """The recogniser `whisper`: cased and punctuated text of whole segments. It gives no partials."""

    name = "whisper"

    def __init__(self, settings: AsrSettings, model: str | None = None) -> None:
        self._name = model or settings.second_pass_model
        self._threads = settings.second_pass_threads
        self.language = settings.language
        self._model: WhisperModel | None = None
        self._audio: list[Samples] = []

    @property
    def model(self) -> WhisperModel:
        """The loaded model."""
        if self._model is None:
            raise RuntimeError("WhisperRecognizer.load() has not been called")
        return self._model

    def load(self) -> None:
        """Read the model from disk."""
        self._model = WhisperModel(store.find(self._name, "asr"), self._threads)

    def warm(self) -> None:
        """Read one second of quiet noise."""
        noise = np.random.default_rng(0).standard_normal(SAMPLE_RATE).astype(np.float32) * 1e-3
        self.model.read(self.model.encode(noise), self.language, 4)

    def reset(self) -> None:
        """Forget the segment."""
        self._audio = []

    def accept(self, samples: Samples) -> list[Partial]:
        """Keep the samples; never a partial."""
        self._audio.append(samples)
        return []

    def finish(self) -> Transcript:
        """Read all that was accepted since `reset`; more than 30 s are read in pieces."""
        samples = np.concatenate(self._audio) if self._audio else np.zeros(0, np.float32)
        piece = (WINDOW_SECONDS - 1) * SAMPLE_RATE
        readings = [self.read(samples[start : start + piece]) for start in range(0, len(samples), piece)]
        kept = [reading for reading in readings if reading.is_speech]
        confidence = float(np.exp(np.mean([reading.logprob for reading in kept]))) if kept else 0.0
        text = " ".join(reading.text for reading in kept)
        return Transcript(text, (), confidence, len(samples) / SAMPLE_RATE, self.language)

    def read(self, samples: Samples, most_tokens: int | None = None) -> Reading:
        """Read at most 30 s; `most_tokens` bounds the length of the text."""
        if is_quiet(samples):
            return Reading("", 0.0, 1.0)
        likely = int(len(samples) / SAMPLE_RATE * TOKENS_PER_SECOND) + SPARE_TOKENS
        return self.model.read(self.model.encode(samples), self.language, min(likely, most_tokens or likely))

    def close(self) -> None:
        """Release the model's memory."""
        if self._model is not None:
            self._model.close()
        self._model = None


def is_quiet(samples: Samples) -> bool:
    """Whether the loudest 10 ms of a segment lie below `QUIET_DBFS`, or there are not even 100 ms of it."""
    size = SAMPLE_RATE // 100
    whole = len(samples) // size
    if whole < 10:
        return True
    power = np.mean(np.square(samples[: whole * size].reshape(whole, size)), axis=1).max()
    return bool(10 * np.log10(power + 1e-20) < QUIET_DBFS)
