"""Whisper's weights out of a CTranslate2 model file."""

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from torch import Tensor, nn

from scripts.asr.model import Encoder


def load_whisper(encoder: Encoder, model_bin: Path) -> None:
    """Fill the encoder with Whisper tiny.en's weights from a CTranslate2 `model.bin`."""
    arrays = read_ctranslate2(model_bin)

    def put(parameter: Tensor, name: str) -> None:
        parameter.copy_(torch.from_numpy(arrays[f"encoder/{name}"].astype(np.float32)))

    with torch.no_grad():
        pairs: list[tuple[nn.Module, str]] = [(encoder.conv1, "conv1"), (encoder.conv2, "conv2")]
        norms: list[tuple[nn.Module, str]] = [(encoder.norm, "layer_norm")]
        for i, layer in enumerate(encoder.layers):
            pairs += [
                (layer.qkv, f"layer_{i}/self_attention/linear_0"),
                (layer.attention_out, f"layer_{i}/self_attention/linear_1"),
                (layer.ffn_in, f"layer_{i}/ffn/linear_0"),
                (layer.ffn_out, f"layer_{i}/ffn/linear_1"),
            ]
            norms += [
                (layer.attention_norm, f"layer_{i}/self_attention/layer_norm"),
                (layer.ffn_norm, f"layer_{i}/ffn/layer_norm"),
            ]
        for module, name in pairs:
            put(module.weight, f"{name}/weight")
            put(module.bias, f"{name}/bias")
        for module, name in norms:
            put(module.weight, f"{name}/gamma")
            put(module.bias, f"{name}/beta")


def read_ctranslate2(path: Path) -> dict[str, np.ndarray]:
    """Variables of a CTranslate2 model file, binary version 6."""
    dtypes = (np.float32, np.int8, np.int16, np.int32, np.float16)
    variables: dict[str, np.ndarray] = {}
    with open(path, "rb") as file:
        _read(file, "I")  # binary version
        _read_string(file)  # model specification
        _read(file, "I")  # its revision
        for _ in range(_read(file, "I")[0]):
            name = _read_string(file)
            shape = _read(file, "I" * _read(file, "B")[0])
            dtype = dtypes[_read(file, "B")[0]]
            variables[name] = np.frombuffer(file.read(_read(file, "I")[0]), dtype).reshape(shape)
        for _ in range(_read(file, "I")[0]):
            alias = _read_string(file)
            variables[alias] = variables[_read_string(file)]
    return variables


def _read(file: BinaryIO, layout: str) -> tuple[int, ...]:
    return struct.unpack("<" + layout, file.read(struct.calcsize("<" + layout)))


def _read_string(file: BinaryIO) -> str:
    return file.read(_read(file, "H")[0]).rstrip(b"\0").decode()
