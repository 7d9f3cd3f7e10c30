"""Our own recogniser: a streaming CTC encoder on ONNX Runtime and a word search over the decoding graph.

Partials come from the chunked encoder. `finish` runs the encoder once more over the whole segment without chunk
borders, which makes fewer errors and costs little (the encoder is about 200 times faster than speech).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgevoice.asr.biasing import Phrase, add_phrases
from edgevoice.asr.features import HOP, MELS, Features, FeatureStream
from edgevoice.asr.graph import Progress, WordGraph, open_graph
from edgevoice.asr.larger_model import LargerModel, open_larger
from edgevoice.asr.lexicon import PHONES
from edgevoice.asr.progress import BuildProgress
from edgevoice.asr.recognizer import SAMPLE_RATE, Partial, Samples, Transcript, Word
from edgevoice.asr.rescoring import Rescorer
from edgevoice.asr.search import ENCODER_FRAME_SECONDS, LogProbs, SearchOptions, WordSearch, stable_prefix
from edgevoice.asr.spelling import CHARACTERS, CharacterLogProbs
from edgevoice.asr.turn_end import Frames, TurnEnd
from edgevoice.asr.vocabulary import all_phrases
from edgevoice.errors import ModelDataError, SettingsError
from edgevoice.models import onnx, store
from edgevoice.models.places import cache_dir
from edgevoice.settings import AsrSettings

log = logging.getLogger(__name__)

MODEL_FILE, LANGUAGE_MODEL_FILE = "ctc.int8.onnx", "lm.arpa.gz"
LARGER_MODEL_FILE = "ngrams.npz"
"""May be absent: then the graph's own language model is the only one."""
TURN_END_FILE = "turn_end.onnx"
"""May be absent: then only the words tell whether somebody has finished."""
MAX_FRAMES = 1500
"""Encoder frames (20 ms) for which the model has positions."""
BLANK_PENALTY = 2.0
"""For the words of a finished segment. Held-out recordings: 1.5 to 3 lower word errors alike (docs/models.md)."""
CHUNKS_MS = (160, 320, 640)
BEFORE, AFTER = 2, 2
"""Feature frames (10 ms) that the step takes before and after a chunk."""
READ_AFTER = 1
"""Of those after it, how many the strided convolutions look at."""
UNREAD = np.zeros((AFTER - READ_AFTER, MELS), np.float32)
TAIL_LIMIT = 25
"""Most frames of silence (20 ms each) the model is tried with when the tail is measured."""
LEAST_TAIL = 0.5
"""Seconds of silence put behind a segment at least. The whole-segment pass sees all of it and is surer of single words
the more follows: of 119 one-word commands cut 80 ms after their end, 16 came out empty without it and 9 with it."""
TAIL_TOLERANCE = 0.02
"""Change of a probability that still counts as none when the tail is measured."""


@dataclass
class EncoderState:
    """Caches of the streaming encoder."""

    keys: NDArray[np.float32]
    values: NDArray[np.float32]
    offset: int = 0
    """Frames done since the state began."""


class CtcEncoder:
    """The ONNX step: feature frames in, phone log-probabilities out."""

    def __init__(self, path: Path, threads: int) -> None:
        """Open the model. Raises ModelMissingError, or ModelDataError (also for unexpected inputs)."""
        self._session = onnx.session(path, threads)
        inputs = {node.name: node.shape for node in self._session.get_inputs()}
        outputs = {node.name: node.shape for node in self._session.get_outputs()}
        if not {"features", "cache_k", "cache_v", "offset", "valid"} <= inputs.keys() or "phones" not in outputs:
            raise ModelDataError(str(path), "not a streaming CTC step of ours", "see the model card for its interface")
        if outputs["phones"][-1] != len(PHONES) + 1:
            raise ModelDataError(str(path), f"has {outputs['phones'][-1]} outputs, not blank and {len(PHONES)} phones")
        self._cache_shape: tuple[int, int, int] = tuple(inputs["cache_k"])
        self.left = self._cache_shape[1]
        """Frames of left context."""
        spells = outputs.get("chars", (0,))[-1] == len(CHARACTERS) + 1
        self._more = ["frames"] * ("frames" in outputs) + ["chars"] * spells
        self._seen: dict[str, NDArray[np.float32]] = {}

    @property
    def gives_frames(self) -> bool:
        """Whether `frames` are there after a `whole`."""
        return "frames" in self._more

    def start(self) -> EncoderState:
        """The state before the first frame."""
        return EncoderState(np.zeros(self._cache_shape, np.float32), np.zeros(self._cache_shape, np.float32))

    def step(self, features: Features, state: EncoderState) -> LogProbs:
        """Log-probabilities of one chunk of C frames; `features` is [2C + 4, 80]. The state moves on."""
        phones, state.keys, state.values = self._run(features, state, ["phones", "new_cache_k", "new_cache_v"])
        state.offset += len(phones[0])
        return phones[0]  # type: ignore[no-any-return]

    def whole(self, features: Features) -> LogProbs:
        """Log-probabilities of a whole segment, seen at once. More than `MAX_FRAMES` are cut into equal parts.

        Leaves what else the model gives of it in `frames` and `characters`.
        """
        frames = len(features) // 2
        self._seen = {}
        if not frames:
            return np.zeros((0, len(PHONES) + 1), np.float32)
        parts = -(-frames // MAX_FRAMES)
        borders = [round(frames * part / parts) for part in range(parts + 1)]
        zeros = np.zeros((BEFORE, MELS), np.float32)
        padded = np.concatenate([zeros, features[: 2 * frames], zeros])
        seen = [
            self._run(padded[2 * a : 2 * b + BEFORE + AFTER], self.start(), ["phones", *self._more])
            for a, b in pairwise(borders)
        ]
        self._seen = {name: np.concatenate([part[i][0] for part in seen]) for i, name in enumerate(self._more, 1)}
        return np.concatenate([phones[0] for phones, *_ in seen])

    @property
    def frames(self) -> Frames | None:
        """The encoder's own frames of the last `whole`, [frames, width]; None if the model does not give them."""
        return self._seen.get("frames")

    @property
    def characters(self) -> CharacterLogProbs | None:
        """Log-probabilities of blank and characters of the last `whole`; None if the model has no such head."""
        return self._seen.get("chars")

    def _run(self, features: Features, state: EncoderState, outputs: list[str]) -> list[Any]:
        inputs = {
            "features": features[None],
            "cache_k": state.keys,
            "cache_v": state.values,
            "offset": np.array([state.offset], np.int64),
            "valid": np.array([min(self.left, state.offset)], np.int64),
        }
        return list(self._session.run(outputs, inputs))


class StreamingCtc:
    """The recogniser `ctc`. The constructor raises SettingsError for a chunk the model was not made for."""

    name = "ctc"

    def __init__(
        self,
        settings: AsrSettings,
        progress: Progress | None = None,
        phrases: Iterable[Phrase] | None = None,
        model_file: Path | None = None,
    ) -> None:
        """`phrases` stand in for those taught and set; `model_file` for the model folder's INT8 model."""
        if settings.chunk_ms not in CHUNKS_MS:
            raise SettingsError("asr.chunk_ms", f"{settings.chunk_ms} is none of {CHUNKS_MS}", "choose one of them")
        self._settings = settings
        self._progress = progress or BuildProgress()
        self._chunk = settings.chunk_ms // 20
        self._options = SearchOptions(beam=settings.beam, acoustic_scale=settings.acoustic_scale)
        self._phrases = phrases
        self._model_file = model_file
        self._encoder: CtcEncoder | None = None
        self._turn_end: TurnEnd | None = None

    def load(self) -> None:
        """Read the model and the word graph, which is built first if this is a new machine."""
        folder = store.find(self._settings.model, "asr")
        self._encoder = CtcEncoder(self._model_file or folder / MODEL_FILE, self._settings.threads)
        hears_ends = self._encoder.gives_frames and (folder / TURN_END_FILE).is_file()
        self._turn_end = TurnEnd(folder / TURN_END_FILE) if hears_ends else None
        language_model = folder / LANGUAGE_MODEL_FILE
        phrases = all_phrases(self._settings.vocabulary) if self._phrases is None else self._phrases
        graph = add_phrases(open_graph(language_model, cache_dir(), self._progress), phrases)
        self.use_graph(graph, open_larger(folder / LARGER_MODEL_FILE, language_model, graph))

    def use_graph(self, graph: WordGraph, larger: LargerModel | None = None) -> None:
        """Search in another graph from the next segment on; `larger` judges what it finds."""
        self._search = WordSearch(graph, self._options)
        self._final_search = WordSearch(graph, self._options)
        keen = replace(self._options, blank_penalty=BLANK_PENALTY)
        self._keen_search, self._rescorer = WordSearch(graph, keen), Rescorer(graph, keen, larger=larger)
        self.tail = max(measure_tail(self._ready), LEAST_TAIL)
        """Seconds of silence put after a segment so that its last word is not cut."""
        self.reset()

    def warm(self) -> None:
        """One second of quiet noise through everything."""
        noise = np.random.default_rng(0).standard_normal(SAMPLE_RATE).astype(np.float32) * 1e-3
        self.accept(noise)
        self.finish()
        self.reset()

    def reset(self) -> None:
        """Forget the segment."""
        self._stream = FeatureStream()
        self._features: list[Features] = [np.zeros((BEFORE, MELS), np.float32)]
        self._waiting: Features = self._features[0]
        self._state = self._ready.start()
        self._search.reset()
        self._previous: tuple[Word, ...] = ()
        self._samples = 0
        self._sounding, self._phones, self._last_read = 0.0, 0, 0

    def set_chunk(self, chunk_ms: int) -> None:
        """Decode this many milliseconds (one of `CHUNKS_MS`) at a time; call between segments, before `reset`."""
        self._chunk = chunk_ms // 20

    def accept(self, samples: Samples) -> list[Partial]:
        """Take samples; a partial for every chunk that became complete."""
        self._samples += len(samples)
        new = self._stream.accept(samples)
        self._features.append(new)
        self._waiting = np.concatenate([self._waiting, new])
        partials: list[Partial] = []
        size = 2 * self._chunk
        while len(self._waiting) >= BEFORE + size + READ_AFTER:
            if self._state.offset + self._chunk > MAX_FRAMES:
                self._state = self._ready.start()
            # The model takes one frame more than it reads: not to wait for that one is 10 ms sooner.
            read = self._waiting[: BEFORE + size + READ_AFTER]
            phones = self._ready.step(np.concatenate([read, UNREAD]), self._state)
            self._search.accept(phones)
            self._listen_for_phones(phones)
            self._waiting = self._waiting[size:]
            partials.append(self._partial())
        return partials

    def finish(self) -> Transcript:
        """Words of all that was accepted; `accept` may go on afterwards."""
        log_probs = self.log_probs()
        words = _words(self._final_search, log_probs)
        if words:
            # Where there are words at all, doubtful frames rather belong to them; in noise alone they become none.
            spelled = self._ready.characters
            rescored = self._rescorer.words(log_probs, spelled) if spelled is not None else None
            words = rescored or _words(self._keen_search, log_probs) or words
        heard = self._samples / SAMPLE_RATE
        confidence = float(np.mean([word.confidence for word in words])) if words else 0.0
        frames = self.frames if self._turn_end and words else None
        ended = self._turn_end.probability(frames) if self._turn_end and frames is not None else None
        return Transcript(" ".join(word.text for word in words), words, confidence, heard, ended=ended)

    def log_probs(self) -> LogProbs:
        """Phone log-probabilities of the whole segment seen at once, shape [frames, 40]."""
        tail = self._stream.tail(round(self.tail * SAMPLE_RATE))
        return self._ready.whole(np.concatenate([*self._features[1:], tail]))

    @property
    def frames(self) -> Frames | None:
        """The encoder's frames of what the last `finish` transcribed, without the silence put behind it; None if the model
        does not give them."""
        frames = self._ready.frames
        return None if frames is None else frames[: self._samples // (2 * HOP)]

    def close(self) -> None:
        """Release the model and the graph."""
        self._encoder = self._turn_end = None
        del self._search, self._final_search, self._keen_search, self._rescorer

    @property
    def _ready(self) -> CtcEncoder:
        if self._encoder is None:
            raise RuntimeError("StreamingCtc.load() has not been called")
        return self._encoder

    def _listen_for_phones(self, log_probs: LogProbs) -> None:
        """Count the phones (0 is the blank) as CTC does: the same one twice in a row is one."""
        read = log_probs.argmax(axis=1)
        before = np.concatenate([[self._last_read], read[:-1]])
        self._phones += int(np.count_nonzero((read != 0) & (read != before)))
        self._last_read = int(read[-1])
        if len(sounding := np.flatnonzero(read)):
            begun = self._search.frames - len(read)
            self._sounding = (begun + int(sounding[-1]) + 1) * ENCODER_FRAME_SECONDS

    def _partial(self) -> Partial:
        words = self._search.words()
        stable = stable_prefix(self._previous, words)
        self._previous = words
        text = [word.text for word in words]
        ended = self._sounding if words else None
        heard = self._search.frames * ENCODER_FRAME_SECONDS
        return Partial(" ".join(text), " ".join(text[:stable]), heard, ended, self._phones)


def _words(search: WordSearch, log_probs: LogProbs) -> tuple[Word, ...]:
    search.reset()
    search.accept(log_probs)
    return search.words(final=True)


def measure_tail(encoder: CtcEncoder) -> float:
    """Seconds of silence after which the frames of a sound that ends abruptly no longer change.

    The probe is a buzz like a voiced sound; the tail is the shortest for which the last sounding frame's probabilities
    are within `TAIL_TOLERANCE` of those with the longest tail.
    """
    time = np.arange(SAMPLE_RATE // 2) / SAMPLE_RATE
    buzz = np.sum([np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 25)], axis=0)
    sound = (0.1 * buzz).astype(np.float32)
    sounding = len(sound) // (2 * HOP)

    def last_frames(tail: int) -> LogProbs:
        stream = FeatureStream()
        head = stream.accept(sound)
        probabilities: LogProbs = np.exp(encoder.whole(np.concatenate([head, stream.tail(tail * 2 * HOP)])))
        return probabilities[sounding - 5 : sounding]

    settled = last_frames(TAIL_LIMIT)
    for tail in range(TAIL_LIMIT, 0, -1):
        if np.abs(last_frames(tail - 1) - settled).max() > TAIL_TOLERANCE:
            return tail * ENCODER_FRAME_SECONDS
    return 0.0
