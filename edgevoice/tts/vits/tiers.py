"""Smaller vocoders for a voice: how they are stored, and where they are looked for.

Either is one `.npz` of float16 weights, a few megabytes, bound to its voice by the SHA-256 of the voice's onnx file.
Shipped ones lie in `models/voice-tiers/<first 16 digits>/`, own ones (`edgevoice voices optimize`) in the data folder.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from edgevoice.errors import ModelDataError, StorageError
from edgevoice.models.places import data_dir, shipped_dirs
from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.vocoder import Block, Conv, Stage, Upsampler, Vocoder

TIERS = ("fine", "standard", "light")
"""From most work to least. `fine` is the original in float32; the others also run encoder and flow in INT8."""
SMALLER = "smaller"
"""The vocoder that all tiers below `fine` are made with, where a voice has one."""
FOLDER = "voice-tiers"


def own_folder(digest: str) -> Path:
    """Where tiers made on this machine are kept."""
    return data_dir() / FOLDER / digest[:16]


def tier_files(digest: str) -> dict[str, Path]:
    """What there is for a voice, by tier (or `SMALLER`); own ones win over shipped ones."""
    found: dict[str, Path] = {}
    for folder in (own_folder(digest), *(base / FOLDER / digest[:16] for base in shipped_dirs())):
        for tier in (*TIERS[1:], SMALLER):
            path = folder / f"{tier}.npz"
            if tier not in found and path.is_file():
                found[tier] = path
    return found


def save(vocoder: Vocoder, path: Path, digest: str) -> None:
    """Write a tier; appears under its name only when complete. Raises StorageError."""
    arrays: dict[str, np.ndarray] = {
        "voice": np.array(digest),
        "slopes": np.array([vocoder.post_slope, vocoder.block_slope]),
    }

    def put(name: str, conv: Conv) -> None:
        arrays[f"{name}.weight"] = conv.weight.astype(np.float16)
        if conv.bias is not None:
            arrays[f"{name}.bias"] = conv.bias.astype(np.float32)
        arrays[f"{name}.dilation"] = np.array(conv.dilation)

    put("pre", vocoder.pre)
    put("post", vocoder.post)
    for s, stage in enumerate(vocoder.stages):
        arrays[f"{s}.up.weight"] = stage.up.weight.astype(np.float16)
        arrays[f"{s}.up.bias"] = stage.up.bias
        arrays[f"{s}.up.shape"] = np.array([stage.up.stride, stage.slope])
        for b, block in enumerate(stage.blocks):
            for u, unit in enumerate(block):
                for c, conv in enumerate(unit):
                    put(f"{s}.{b}.{u}.{c}", conv)
    name = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise StorageError(
            str(path), f"cannot be written ({error.strerror or error})", "free some disk space"
        ) from error


def load(path: Path, digest: str) -> Vocoder:
    """Read a tier. Raises ModelDataError if it is damaged or belongs to another voice."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if str(arrays["voice"]) != digest:
            raise ModelDataError(str(path), "belongs to another voice", "run `edgevoice voices optimize` for this one")
        return _vocoder(arrays)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ModelDataError(
            str(path), f"not a readable voice tier ({error})", "make it again: `edgevoice voices optimize`"
        ) from error


def _vocoder(arrays: dict[str, np.ndarray]) -> Vocoder:
    def floats(name: str) -> Floats:
        return arrays[name].astype(np.float32)

    def conv(name: str) -> Conv:
        bias = floats(f"{name}.bias") if f"{name}.bias" in arrays else None
        return Conv(floats(f"{name}.weight"), bias, int(arrays[f"{name}.dilation"]))

    def count(prefix: str) -> int:
        found = {name[len(prefix) :].split(".")[0] for name in arrays if name.startswith(prefix)}
        return sum(1 for item in found if item.isdigit())

    stages = []
    for s in range(count("")):
        blocks: list[Block] = []
        for b in range(count(f"{s}.")):
            units = [
                tuple(conv(f"{s}.{b}.{u}.{c}") for c in range(count(f"{s}.{b}.{u}.")))
                for u in range(count(f"{s}.{b}."))
            ]
            blocks.append(tuple(units))
        stride, slope = arrays[f"{s}.up.shape"]
        stages.append(
            Stage(Upsampler(floats(f"{s}.up.weight"), floats(f"{s}.up.bias"), int(stride)), float(slope), tuple(blocks))
        )
    post_slope, block_slope = arrays["slopes"]
    return Vocoder(conv("pre"), tuple(stages), conv("post"), float(post_slope), float(block_slope))
