"""One way to open an ONNX model: threads set explicitly, spinning off, damaged files named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import onnxruntime

from edgevoice.errors import ModelDataError, ModelMissingError

if TYPE_CHECKING:  # needed only where graphs are made, once per voice
    import onnx


def session(path: Path | str, threads: int = 1, optimized: bool = False) -> onnxruntime.InferenceSession:
    """Open `path` with `threads` intra-op threads.

    `optimized` says that the graph was optimised offline already, so that start-up does not repeat it.
    Raises ModelMissingError or ModelDataError.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelMissingError(str(path), "no such model file", "run `edgevoice models list` to see what is installed")
    chosen = options(threads)
    if optimized:
        chosen.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(str(path), chosen, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own family of untyped exceptions
        raise ModelDataError(
            str(path),
            f"not a usable ONNX model ({str(error).splitlines()[0][:120]})",
            "fetch or copy the file again; `edgevoice models verify` checks all",
        ) from error


def session_of(graph: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """A graph that is not stored, ready to run on one thread. Raises what ONNX Runtime raises."""
    return onnxruntime.InferenceSession(graph.SerializeToString(), options(1), providers=["CPUExecutionProvider"])


def options(threads: int) -> onnxruntime.SessionOptions:
    """What all sessions have in common.

    ONNX Runtime's default is one spinning thread per core, which starves the language model; hence one place for it.
    """
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = threads
    chosen.inter_op_num_threads = 1
    chosen.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    chosen.add_session_config_entry("session.intra_op.allow_spinning", "0")
    chosen.add_session_config_entry("session.inter_op.allow_spinning", "0")
    # A memory plan for each length of input would be kept for ever: 28 MB for the recogniser, 12 MB for the voice.
    chosen.enable_mem_pattern = False
    chosen.log_severity_level = 3
    return chosen
