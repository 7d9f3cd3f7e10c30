"""Damaged input of every kind: one typed error, no crash, no hang, no memory blow-up.

A few seconds for each subject (sound files, settings, models) by default; `TESTS_FUZZ_SECONDS=60` for the long run.
Every round has its own fixed seed: a longer run sees more, and what one run has seen the next one sees again.
"""

from __future__ import annotations

import io
import itertools
import os
import random
import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from edgevoice import config
from edgevoice.audio import files
from edgevoice.errors import EdgeVoiceError
from edgevoice.models import formats
from edgevoice.models.onnx import session
from edgevoice.settings import Settings

SECONDS = float(os.environ.get("TESTS_FUZZ_SECONDS", "1.5"))
SLOWEST_S = 5.0
"""One damaged input may take no longer than this."""
GROWTH_MB = 200

fuzzing = settings(
    max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=False
)
pytestmark = pytest.mark.timeout(SECONDS + 120)


def for_a_while(*tests: Callable[[], None], share: float = 1) -> None:
    """Run properties again and again for their share of the subject's time, and watch the memory meanwhile."""
    process, end = psutil.Process(), time.monotonic() + SECONDS * share
    before = 0
    for number in itertools.count():
        for test in tests:
            seed(number)(test)()
        before = before or process.memory_info().rss
        if time.monotonic() > end:
            break
    assert process.memory_info().rss - before < GROWTH_MB * 2**20


def feed(reader: Callable[[Path], object], path: Path, data: bytes) -> None:
    """`reader` must take the data or refuse it with one of our errors, quickly."""
    path.write_bytes(data)
    began = time.monotonic()
    try:
        reader(path)
    except EdgeVoiceError as error:
        assert error.exit_code in (65, 66, 78) and error.why
    assert time.monotonic() - began < SLOWEST_S, data[:64]


def sound(kind: str) -> bytes:
    out = io.BytesIO()
    samples = np.random.default_rng(7).integers(-9000, 9000, (1600, 2), dtype=np.int16)
    soundfile.write(out, samples, 16_000, format=kind)
    return out.getvalue()


VALID = {".wav": sound("WAV"), ".flac": sound("FLAC"), ".ogg": sound("OGG")}
EXTREMES = [0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """`whole` with bytes changed, numbers made extreme, pieces cut out or doubled."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, min(len(data), 120) - 1)) | st.integers(0, max(0, len(data) - 1)))
        match draw(st.sampled_from(("byte", "number", "cut", "double", "insert"))):
            case "byte":
                data[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case "number":
                data[at : at + 4] = struct.pack("<I", draw(st.sampled_from(EXTREMES)))
            case "cut":
                del data[at : at + draw(st.integers(1, 4000))]
            case "double":
                data[at:at] = data[at : at + 200]
            case "insert":
                data[at:at] = draw(st.binary(max_size=40))
    return bytes(data)


@pytest.mark.parametrize("suffix", VALID)
def test_damaged_sound_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"sound{suffix}"

    def read(file: Path) -> None:
        for block in files.read_frames(file):
            assert block.dtype == np.float32 and np.isfinite(block).all() and len(block) <= 320

    @fuzzing
    @given(damaged(VALID[suffix]))
    def property_(data: bytes) -> None:
        feed(read, path, data)

    for_a_while(property_, share=1 / len(VALID))


@pytest.mark.parametrize("rate", [1, 7, 100, 2**20, 2**31 - 1])
@pytest.mark.parametrize("channels", [1, 255, 1024, 65535])
def test_sound_files_with_absurd_formats(rate: int, channels: int, tmp_path: Path) -> None:
    data = bytearray(VALID[".wav"])
    data[22:24], data[24:28] = struct.pack("<H", channels), struct.pack("<I", rate)
    before = psutil.Process().memory_info().rss
    feed(lambda file: list(files.read_frames(file)), tmp_path / "sound.wav", bytes(data))
    assert psutil.Process().memory_info().rss - before < GROWTH_MB * 2**20


names = st.sampled_from([f"{s}.{k}" for s, k, _, _ in config.fields()]) | st.text(max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)


def toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return str(value) if isinstance(value, int | float) else '"' + repr(value)[1:-1].replace('"', "'") + '"'


def test_damaged_settings(tmp_path: Path) -> None:
    path = tmp_path / "edgevoice.toml"
    default = "".join(
        f"[{section}]\n{key} = {toml(list(value) if isinstance(value, tuple) else value)}\n"
        for section, key, _, value in list(config.fields())[::9]
    ).encode()

    def load(file: Path) -> None:
        assert isinstance(config.load(file, environment={}), Settings)

    @fuzzing
    @given(damaged(default) | st.binary(max_size=300))
    def bytes_(data: bytes) -> None:
        feed(load, path, data)

    @fuzzing
    @given(names, scalars | st.lists(scalars, max_size=3))
    def values(name: str, value: object) -> None:
        section, _, key = name.partition(".")
        feed(load, path, f"[{section}]\n{key} = {toml(value)}\n".encode("utf-8", "replace"))
        try:
            config.load(None, [f"{name}={value}"], environment={})
        except EdgeVoiceError as error:
            assert error.exit_code == 78

    @fuzzing
    @given(st.dictionaries(st.text(st.characters(codec="ascii"), max_size=20), st.text(max_size=20), max_size=3))
    def environment(variables: dict[str, str]) -> None:
        try:
            config.load(None, environment={f"EDGEVOICE_{k}": v for k, v in variables.items()})
        except EdgeVoiceError as error:
            assert error.exit_code in (66, 78)

    for_a_while(bytes_, values, environment)


def gguf_head() -> bytes:
    key = b"general.architecture"
    entry = struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, 5) + b"llama"
    return b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + entry + b"\0" * 64


HEADERS = (".gguf", ".onnx", ".pt")
SHARE_OF_A_MODEL = 1 / (len(HEADERS) + 1)
"""Headers of each kind, and one whole model."""


@pytest.mark.parametrize("suffix", HEADERS)
def test_damaged_model_headers(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    whole = gguf_head() if suffix == ".gguf" else b"\x08\x08\x12\x07pytorch\x1a\x052.0.0" + bytes(64)

    @fuzzing
    @given(damaged(whole) | st.binary(max_size=100))
    def property_(data: bytes) -> None:
        feed(formats.check_header, path, data)

    for_a_while(property_, share=SHARE_OF_A_MODEL)


def tiny_onnx() -> bytes:
    import onnx
    from onnx import TensorProto, helper

    shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], np.eye(4, dtype=np.float32).ravel())
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [shape], [out], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(onnx.load_from_string(model.SerializeToString()).SerializeToString())


def test_damaged_onnx_models(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    whole = tiny_onnx()
    session(_written(path, whole))

    @fuzzing
    @given(damaged(whole))
    def property_(data: bytes) -> None:
        feed(session, path, data)

    for_a_while(property_, share=SHARE_OF_A_MODEL)


def test_random_bytes_of_every_length_are_no_sound(tmp_path: Path) -> None:
    rng = random.Random(3)
    for length in (0, 1, 3, 11, 12, 43, 44, 45, 1000, 70_000):
        feed(lambda file: list(files.read_frames(file)), tmp_path / "sound.wav", rng.randbytes(length))


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
