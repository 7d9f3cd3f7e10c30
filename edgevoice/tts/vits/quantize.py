"""INT8 for the matrix products of a graph: weights once per column, activations as they come (dynamic quantisation)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic


def quantize(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same graph with its products by stored weights in INT8; products of activations stay in float."""
    # Nothing to pre-process in graphs built here; unmarked, the quantiser would advise it on every run.
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    with tempfile.TemporaryDirectory(prefix="edgevoice-") as folder:
        plain, small = Path(folder, "plain.onnx"), Path(folder, "int8.onnx")
        onnx.save(model, str(plain))
        quantize_dynamic(
            plain,
            small,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
        return onnx.load(str(small))
