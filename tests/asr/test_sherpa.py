"""The sherpa-onnx back end, on a tiny model in NeMo's interface that is exported here.

Its "speech recognition" is a fixed rule (loud frames are token 1, quiet ones blank), which is all it takes to show that
sound goes in and text comes out the way sherpa-onnx does it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgevoice.asr.recognizer import Samples
from edgevoice.asr.sherpa import SherpaRecognizer, model_kind
from edgevoice.errors import ModelDataError, ModelMissingError
from edgevoice.settings import AsrSettings

WINDOW, SHIFT, SUBSAMPLING = 9, 8, 4
METADATA = {
    "vocab_size": 2,
    "window_size": WINDOW,
    "chunk_shift": SHIFT,
    "subsampling_factor": SUBSAMPLING,
    "normalize_type": "",
    "cache_last_channel_dim1": 1,
    "cache_last_channel_dim2": 2,
    "cache_last_channel_dim3": 4,
    "cache_last_time_dim1": 1,
    "cache_last_time_dim2": 4,
    "cache_last_time_dim3": 2,
    "model_type": "EncDecCTCModelBPE",
}


def export_tiny_nemo(folder: Path) -> Path:
    """Frames [1, 80, T] -> [1, 2, 3] log-probabilities: token 0 where the mean feature is high, blank (2) elsewhere."""
    tensor, f, i = helper.make_tensor_value_info, TensorProto.FLOAT, TensorProto.INT64
    inputs = [
        tensor("audio_signal", f, [1, 80, "T"]),
        tensor("length", i, [1]),
        tensor("cache_last_channel", f, [1, 1, 2, 4]),
        tensor("cache_last_time", f, [1, 1, 4, 2]),
        tensor("cache_last_channel_len", i, [1]),
    ]
    outputs = [
        tensor("logprobs", f, [1, 2, 3]),
        tensor("encoded_lengths", i, [1]),
        tensor("cache_last_channel_next", f, [1, 1, 2, 4]),
        tensor("cache_last_time_next", f, [1, 1, 4, 2]),
        tensor("cache_last_channel_next_len", i, [1]),
    ]
    constants = {
        "threshold": np.array(-12.0, np.float32),
        "weights": np.array([[[5.0, 0.0, -5.0]]], np.float32),
        "bias": np.array([[[0.0, -100.0, 0.0]]], np.float32),
        "two": np.array([1, 2, 1], np.int64),
        "encoded": np.array([2], np.int64),
        "axes": np.array([1, 2], np.int64),
    }
    nodes = [
        helper.make_node("ReduceMean", ["audio_signal", "axes"], ["mean"], keepdims=1),
        helper.make_node("Sub", ["mean", "threshold"], ["above"]),
        helper.make_node("Expand", ["above", "two"], ["frames"]),
        helper.make_node("Mul", ["frames", "weights"], ["weighted"]),
        helper.make_node("Add", ["weighted", "bias"], ["scores"]),
        helper.make_node("LogSoftmax", ["scores"], ["logprobs"], axis=-1),
        helper.make_node("Identity", ["encoded"], ["encoded_lengths"]),
        helper.make_node("Identity", ["cache_last_channel"], ["cache_last_channel_next"]),
        helper.make_node("Identity", ["cache_last_time"], ["cache_last_time_next"]),
        helper.make_node("Identity", ["cache_last_channel_len"], ["cache_last_channel_next_len"]),
    ]
    initial = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    helper.set_model_props(model, {key: str(value) for key, value in METADATA.items()})
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")
    (folder / "tokens.txt").write_text("▁Hello 0\n▁there 1\n<blk> 2\n")
    return folder


@pytest.fixture
def recognizer(tmp_path: Path) -> SherpaRecognizer:
    found = SherpaRecognizer(AsrSettings(backend="sherpa", model=str(export_tiny_nemo(tmp_path / "tiny"))))
    found.load()
    found.warm()
    return found


def test_loud_sound_becomes_its_word(recognizer: SherpaRecognizer, help_you_pack: Samples) -> None:
    partials = [p for start in range(0, 48_000, 1600) for p in recognizer.accept(help_you_pack[start : start + 1600])]
    assert {word for p in partials for word in p.text.split()} == {"hello"}
    assert set(recognizer.finish().text.split()) == {"hello"}
    recognizer.close()


def test_silence_becomes_nothing(recognizer: SherpaRecognizer) -> None:
    assert recognizer.accept(np.zeros(16_000, np.float32)) == []
    assert recognizer.finish().text == ""


def test_finishing_does_not_end_the_segment(recognizer: SherpaRecognizer, help_you_pack: Samples) -> None:
    recognizer.accept(np.zeros(8000, np.float32))
    assert recognizer.finish().text == ""
    recognizer.accept(help_you_pack)
    assert set(recognizer.finish().text.split()) == {"hello"}
    recognizer.reset()
    assert recognizer.finish().text == ""


def test_the_kind_is_read_from_the_file(tmp_path: Path) -> None:
    assert model_kind(export_tiny_nemo(tmp_path / "tiny") / "model.onnx") == "nemo"


@pytest.mark.parametrize("missing", ["model.onnx", "tokens.txt"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    folder = export_tiny_nemo(tmp_path / "tiny")
    (folder / missing).unlink()
    with pytest.raises(ModelMissingError, match="tiny"):
        SherpaRecognizer(AsrSettings(model=str(folder))).load()


def test_another_onnx_model_is_refused_before_the_engine_sees_it(tmp_path: Path) -> None:
    folder = export_tiny_nemo(tmp_path / "tiny")
    model = onnx.load(folder / "model.onnx")
    del model.metadata_props[:]
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(ModelDataError, match="no online CTC model"):
        SherpaRecognizer(AsrSettings(model=str(folder))).load()
