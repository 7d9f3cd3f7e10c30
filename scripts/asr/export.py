"""Checkpoint -> streaming ONNX step, float and INT8.

    python -m scripts.asr.export CHECKPOINT OUT_FOLDER [--left 128] [--version NAME] [--keep-float]

Writes OUT_FOLDER/ctc.int8.onnx and tokens.txt (and ctc.onnx with --keep-float); the interface is that of step.py.
Weights are quantised per channel to INT8, activations per tensor at run time.
"""

import argparse
import json
import os
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from scripts.asr.evaluate import load_checkpoint
from scripts.asr.model import HEADS, LEFT, WIDTH, Recogniser
from scripts.asr.step import INPUTS, OUTPUTS, StepModule, example_inputs
from scripts.asr.text import CHARACTERS, PHONES

LIMIT = 12_000_000


def export_float(model: Recogniser, path: Path, left: int) -> None:
    """The streaming step in float32, chunk length left open."""
    layers = len(model.encoder.layers) + len(model.new_layers)
    torch.onnx.export(
        StepModule(model.eval(), left).eval(),
        example_inputs(layers, left),
        str(path),
        input_names=list(INPUTS),
        output_names=list(OUTPUTS),
        dynamic_axes={"features": {1: "2C+4"}, "phones": {1: "C"}, "chars": {1: "C"}, "frames": {1: "C"}},
        opset_version=17,
        dynamo=False,
    )


def quantise(source: Path, target: Path, keep_float: tuple[str, ...] = ()) -> None:
    """INT8 weights per channel for every product with a constant; nodes whose name has a part in `keep_float` stay."""
    nodes = [node.name for node in onnx.load(source).graph.node if any(part in node.name for part in keep_float)]
    quantize_dynamic(
        source,
        target,
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=nodes,
        extra_options={"MatMulConstBOnly": True},
    )


def write_metadata(path: Path, layers: int, left: int, version: str) -> None:
    """What a reader of the file must know, as metadata properties."""
    model = onnx.load(path)
    entries = {
        "model": "edgevoice-ctc",
        "version": version,
        "language": "en",
        "sample_rate": "16000",
        "feature": "log-mel: 80 bands, window 400, hop 160, running maximum",
        "feature_frames_per_frame": "2",
        "frame_ms": "20",
        "look_ahead_ms": "20",
        "left_frames": str(left),
        "layers": str(layers),
        "width": str(WIDTH),
        "heads": str(HEADS),
        "longest_frames": "1500",
        "chunks": "8,16,32",
        "phones": " ".join(["<blk>", *PHONES]),
        "characters": json.dumps(["<blk>", *CHARACTERS]),
    }
    del model.metadata_props[:]
    for key, value in entries.items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, path)


def write_tokens(path: Path) -> None:
    """`token id` a line, blank first."""
    path.write_text("".join(f"{token} {index}\n" for index, token in enumerate(["<blk>", *PHONES])), encoding="utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--left", type=int, default=LEFT)
    parser.add_argument("--version", default="0")
    parser.add_argument("--keep-float", action="store_true", help="keep ctc.onnx beside the INT8 file")
    parser.add_argument("--float-nodes", nargs="*", default=[], help="parts of node names that stay float")
    arguments = parser.parse_args()
    model = load_checkpoint(arguments.checkpoint)
    arguments.out.mkdir(parents=True, exist_ok=True)
    whole, small = arguments.out / "ctc.onnx", arguments.out / "ctc.int8.onnx"
    export_float(model, whole, arguments.left)
    quantise(whole, small, tuple(arguments.float_nodes))
    layers = len(model.encoder.layers) + len(model.new_layers)
    for path in (whole, small):
        write_metadata(path, layers, arguments.left, arguments.version)
        print(f"{path}: {os.path.getsize(path):,} bytes")
    write_tokens(arguments.out / "tokens.txt")
    if not arguments.keep_float:
        whole.unlink()
    if os.path.getsize(small) > LIMIT:
        raise SystemExit(f"{small} is larger than {LIMIT:,} bytes: quantise more, or use fewer new layers")


if __name__ == "__main__":
    main()
