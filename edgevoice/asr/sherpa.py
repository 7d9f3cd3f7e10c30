"""Online CTC models of sherpa-onnx (zipformer2, NeMo, WeNet) from a folder: its C++ engine behind our contract.

The folder holds one model (`*.onnx`; one with `int8` in its name is preferred) and `tokens.txt`; a zipformer2 model may
have a decoding graph beside it (`HLG.fst`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from edgevoice.asr.normalize import plain_words
from edgevoice.asr.recognizer import SAMPLE_RATE, Partial, Samples, Transcript, Word
from edgevoice.asr.search import stable_prefix
from edgevoice.errors import ModelDataError, ModelMissingError
from edgevoice.models import onnx, store
from edgevoice.settings import AsrSettings

TAIL_SECONDS = 0.6
"""Silence after a segment so that a chunked model gives out its last frames."""
WARM_SECONDS = 1
KINDS = {"zipformer2": "decode_chunk_len", "nemo": "cache_last_channel_dim1", "wenet": "cnn_module_kernel"}
"""Kind of model -> the metadata key by which it is known."""


class SherpaRecognizer:
    """The recogniser `sherpa`."""

    name = "sherpa"

    def __init__(self, settings: AsrSettings) -> None:
        self._settings = settings
        self._engine: Any = None

    def load(self) -> None:
        """Read the model. Raises ModelMissingError or ModelDataError."""
        folder = store.find(self._settings.model, "asr")
        self._engine = open_engine(folder, self._settings.threads)
        self.reset()

    def warm(self) -> None:
        """Decode quiet noise."""
        noise = np.random.default_rng(0).standard_normal(WARM_SECONDS * SAMPLE_RATE).astype(np.float32) * 1e-3
        self.accept(noise)
        self.finish()
        self.reset()

    def reset(self) -> None:
        """Start a new segment."""
        self._stream = self._engine.create_stream()
        self._audio: list[Samples] = []
        self._text = ""
        self._previous: tuple[Word, ...] = ()

    def accept(self, samples: Samples) -> list[Partial]:
        """Decode on; a partial when the text changed."""
        self._audio.append(samples)
        self._stream.accept_waveform(SAMPLE_RATE, samples)
        self._decode(self._stream)
        text = plain_words(self._engine.get_result(self._stream))
        if text == self._text:
            return []
        self._text = text
        words = tuple(Word(word, 0.0, 0.0, 0.0) for word in text.split())
        stable = stable_prefix(self._previous, words)
        self._previous = words
        return [Partial(text, " ".join(word.text for word in words[:stable]), self._heard())]

    def finish(self) -> Transcript:
        """Words of all that was accepted. A second stream reads the whole, so that the first can go on."""
        stream = self._engine.create_stream()
        silence = np.zeros(int(TAIL_SECONDS * SAMPLE_RATE), np.float32)
        stream.accept_waveform(SAMPLE_RATE, np.concatenate([*self._audio, silence]))
        stream.input_finished()
        self._decode(stream)
        text = plain_words(self._engine.get_result(stream))
        return Transcript(text, (), self._confidence(stream) if text else 0.0, self._heard(), self._settings.language)

    def close(self) -> None:
        """Release the model."""
        self._engine = None
        del self._stream

    def _decode(self, stream: Any) -> None:
        while self._engine.is_ready(stream):
            self._engine.decode_stream(stream)

    def _heard(self) -> float:
        return sum(map(len, self._audio)) / SAMPLE_RATE

    def _confidence(self, stream: Any) -> float:
        """Mean probability of the tokens, where the engine tells it."""
        probabilities = self._engine.ys_probs(stream)
        return float(np.exp(np.mean(probabilities))) if len(probabilities) else 0.5


def open_engine(folder: Path, threads: int) -> Any:
    """A `sherpa_onnx.OnlineRecognizer` of the model in `folder`. Raises ModelMissingError or ModelDataError."""
    import sherpa_onnx  # an optional package: only this back end needs it

    model, tokens = _model_file(folder), folder / "tokens.txt"
    if not tokens.is_file():
        raise ModelMissingError(str(tokens), "no such file", "a sherpa-onnx model comes with its tokens.txt")
    kind = model_kind(model)
    options: dict[str, Any] = {"tokens": str(tokens), "model": str(model), "num_threads": threads}
    if kind == "zipformer2" and (folder / "HLG.fst").is_file():
        options["ctc_graph"] = str(folder / "HLG.fst")
    try:
        return getattr(sherpa_onnx.OnlineRecognizer, f"from_{kind}_ctc")(**options)
    except (RuntimeError, ValueError) as error:
        raise ModelDataError(str(model), f"sherpa-onnx cannot open it ({error})", "export it again") from error


def model_kind(model: Path) -> str:
    """`zipformer2`, `nemo` or `wenet`, by the metadata in the file. Raises ModelMissingError or ModelDataError.

    The engine ends the whole process on metadata it misses, so this is looked at before it opens the file.
    """
    metadata = onnx.session(model).get_modelmeta().custom_metadata_map
    for kind, key in KINDS.items():
        if key in metadata:
            return kind
    raise ModelDataError(
        str(model), f"no online CTC model of sherpa-onnx ({', '.join(KINDS)})", "export it for sherpa-onnx"
    )


def _model_file(folder: Path) -> Path:
    models = sorted(folder.glob("*.onnx"), key=lambda path: ("int8" not in path.name, path.name))
    if not models:
        raise ModelMissingError(str(folder), "holds no .onnx file", "name the folder of a sherpa-onnx model")
    return models[0]
