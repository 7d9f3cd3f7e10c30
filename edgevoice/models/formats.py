"""Cheap checks of a model file's first bytes, so that a wrong or cut file is named before a library chokes on it."""

from __future__ import annotations

import struct
from pathlib import Path

from edgevoice.errors import InputMissingError, ModelDataError

PICKLES = {".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib"}
"""Formats that execute code when they are loaded; edgevoice never opens them."""

_MEND = "fetch or copy the file again; `edgevoice models verify` checks all"


def check_header(path: Path) -> None:
    """Raise ModelDataError if `path` cannot be what its suffix promises, InputMissingError if it cannot be read."""
    if path.suffix.lower() in PICKLES:
        raise ModelDataError(str(path), "pickled models are never loaded", "convert it to ONNX or GGUF")
    try:
        with path.open("rb") as file:
            head = file.read(24)
    except OSError as error:
        raise InputMissingError(
            str(path), error.strerror or str(error), "check the path and its permissions"
        ) from error
    if not head:
        raise ModelDataError(str(path), "the file is empty", _MEND)
    if path.suffix == ".gguf":
        _check_gguf(path, head)
    elif path.suffix == ".onnx":
        _check_onnx(path, head)


def _check_gguf(path: Path, head: bytes) -> None:
    """GGUF: magic, version (2 or 3), number of tensors and of metadata entries (uint64 each)."""
    if head[:4] != b"GGUF" or len(head) < 24:
        raise ModelDataError(str(path), "not a GGUF file", _MEND)
    version, tensors, entries = struct.unpack("<IQQ", head[4:24])
    if version not in (2, 3) or not 0 < tensors < 1 << 20 or not 0 < entries < 1 << 20:
        raise ModelDataError(str(path), "the GGUF header is damaged or of an unknown version", _MEND)


def _check_onnx(path: Path, head: bytes) -> None:
    """ONNX is a protobuf whose first field is the format version: tag 0x08, then a small number."""
    if len(head) < 24 or head[0] != 0x08 or not 1 <= head[1] <= 64:
        raise ModelDataError(str(path), "not an ONNX model", _MEND)
