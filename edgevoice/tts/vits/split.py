"""A Piper voice taken apart: text encoder and durations, flow, vocoder. Everything is found by structure, not by name.

    phoneme ids ─▶ encoder ─▶ mean, log deviation, duration of each phoneme ─(stretched to frames, plus noise)─▶
    flow (inverse coupling layers, WaveNet convolutions) ─▶ latents ─▶ vocoder (HiFi-GAN) ─▶ sound

The sources of noise inside the exported graph become inputs, so that the result can be reproduced.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgevoice.tts.vits.graph import GraphReader


@dataclass(frozen=True)
class Pieces:
    """What was found. The vocoder is read by `vocoder.read` from `latents` on."""

    encoder: onnx.ModelProto
    """ids [1, n] int64, scales [3] (noise, length, duration noise), duration_noise [1, 2, n]
    -> mean [n, c], deviation [n, c], durations [n] in frames (whole numbers as float32)."""
    flow: onnx.ModelProto
    """prior [1, c, frames] -> latents [1, c, frames]."""
    latents: str
    """Name of the vocoder's input in the exported graph."""
    channels: int
    """Of the latents."""


def split(reader: GraphReader) -> Pieces:
    """Take the voice apart. Raises ModelDataError when the graph is not a VITS voice as Piper exports it."""
    duration_noise, frame_noise = _noises(reader)
    durations = _only(reader, reader.of_type("Ceil"), "rounded durations")
    prior, mean, log_deviation = _prior(reader, frame_noise)
    first = next((n for n in _after(reader, prior) if n.op_type == "Conv" and _feeds_transposed(reader, n)), None)
    if first is None:
        raise reader.fail("no vocoder behind the flow")
    latents = first.input[0]
    masked = reader.maker(latents)
    flow_end, mask = _unmasked(reader, masked)
    if len(reader.model.graph.input) != 3:
        raise reader.fail("it has several speakers", "choose a voice with one speaker")
    channels = int(reader.weight(first.input[1]).shape[1])
    ids, lengths, scales = (value.name for value in reader.model.graph.input)
    encoder = reader.cut(
        [
            helper.make_tensor_value_info(ids, TensorProto.INT64, [1, "n"]),
            helper.make_tensor_value_info(lengths, TensorProto.INT64, [1]),
            helper.make_tensor_value_info(scales, TensorProto.FLOAT, [3]),
            helper.make_tensor_value_info(duration_noise.output[0], TensorProto.FLOAT, [1, 2, "n"]),
        ],
        [mean, log_deviation, durations.output[0]],
        "encoder",
    )
    _rename(encoder, {ids: "ids", lengths: "lengths", scales: "scales", duration_noise.output[0]: "duration_noise"})
    _rows_first(encoder)
    frames: list[str | int] = [1, channels, "frames"]
    flow = reader.cut(
        [
            helper.make_tensor_value_info(prior, TensorProto.FLOAT, frames),
            helper.make_tensor_value_info(mask, TensorProto.FLOAT, [1, 1, "frames"]),
        ],
        [flow_end],
        "flow",
    )
    _rename(flow, {prior: "prior", flow_end: "latents", mask: "mask"})
    return Pieces(encoder, flow, latents, channels)


def _rows_first(encoder: onnx.ModelProto) -> None:
    """Turn the outputs round to [n, ...], and fill in the length by itself."""
    graph = encoder.graph
    mean, log_deviation, durations = (output.name for output in graph.output)
    before = [
        helper.make_node("Shape", ["ids"], ["ids_shape"]),
        helper.make_node("Gather", ["ids_shape", "length_axis"], ["lengths"], axis=0),
    ]
    after = [
        helper.make_node("Squeeze", [mean, "batch_axis"], ["mean_columns"]),
        helper.make_node("Transpose", ["mean_columns"], ["mean"], perm=[1, 0]),
        helper.make_node("Squeeze", [log_deviation, "batch_axis"], ["log_deviation_columns"]),
        helper.make_node("Transpose", ["log_deviation_columns"], ["log_deviation_rows"], perm=[1, 0]),
        helper.make_node("Exp", ["log_deviation_rows"], ["deviation"]),
        helper.make_node("Squeeze", [durations, "both_axes"], ["durations"]),
    ]
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)
    for name, values in (("length_axis", [1]), ("batch_axis", [0]), ("both_axes", [0, 1])):
        graph.initializer.append(numpy_helper.from_array(np.array(values, np.int64), name))
    inputs = [value for value in graph.input if value.name != "lengths"]
    del graph.input[:]
    graph.input.extend(inputs)
    del graph.output[:]
    graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("mean", "deviation", "durations")
    )


def embedding_rows(reader: GraphReader) -> int:
    """How many phonemes the voice knows."""
    ids = reader.model.graph.input[0].name
    gather = next(
        (node for node in reader.users(ids) if node.op_type == "Gather" and reader.is_weight(node.input[0])), None
    )
    if gather is None:
        raise reader.fail("no phoneme embedding")
    return int(reader.weight(gather.input[0]).shape[0])


def _noises(reader: GraphReader) -> tuple[onnx.NodeProto, onnx.NodeProto]:
    noises = reader.of_type("RandomNormalLike", "RandomNormal")
    if len(noises) != 2:
        raise reader.fail(f"{len(noises)} sources of noise instead of 2")
    return noises[0], noises[1]


def _only(reader: GraphReader, nodes: list[onnx.NodeProto], what: str) -> onnx.NodeProto:
    if len(nodes) != 1:
        raise reader.fail(f"{len(nodes)} candidates for the {what}")
    return nodes[0]


def _prior(reader: GraphReader, noise: onnx.NodeProto) -> tuple[str, str, str]:
    """(prior, mean, log deviation): prior = stretched mean + noise * exp(stretched log deviation) * scale."""
    product = _only(reader, [n for n in reader.users(noise.output[0]) if n.op_type == "Mul"], "scaled noise")
    spread = next(reader.maker(t) for t in product.input if t != noise.output[0])
    log_deviation = _before_stretch(reader, spread.input[0])
    scaled = reader.users(product.output[0])[0]
    total = reader.users(scaled.output[0])[0]
    if total.op_type != "Add" or spread.op_type != "Exp":
        raise reader.fail("the prior is not mean + noise * exp(deviation)")
    mean = _before_stretch(reader, next(t for t in total.input if t != scaled.output[0]))
    return total.output[0], mean, log_deviation


def _before_stretch(reader: GraphReader, tensor: str) -> str:
    """Undo transpose(matmul(path, transpose(x))) -> x."""
    product = reader.maker(reader.maker(tensor).input[0])
    if product.op_type != "MatMul":
        raise reader.fail("phonemes are not stretched by a matrix product")
    return str(reader.maker(product.input[1]).input[0])


def _after(reader: GraphReader, tensor: str) -> list[onnx.NodeProto]:
    """All nodes that depend on `tensor`, in graph order."""
    reached = {tensor}
    found = []
    for node in reader.nodes:
        if any(t in reached for t in node.input):
            reached.update(node.output)
            found.append(node)
    return found


def _feeds_transposed(reader: GraphReader, node: onnx.NodeProto, depth: int = 4) -> bool:
    """Whether a transposed convolution follows within a few element-wise operators."""
    for user in reader.users(node.output[0]):
        if user.op_type == "ConvTranspose":
            return True
        if depth and user.op_type in ("LeakyRelu", "Add", "Mul", "Div") and _feeds_transposed(reader, user, depth - 1):
            return True
    return False


def _unmasked(reader: GraphReader, masked: onnx.NodeProto) -> tuple[str, str]:
    """(unmasked latents, mask) of `latents * mask`: the mask is the factor that many other products share."""
    if masked.op_type != "Mul":
        raise reader.fail("the latents are not masked")
    first, second = masked.input
    return (first, second) if len(reader.users(second)) > len(reader.users(first)) else (second, first)


def _rename(model: onnx.ModelProto, names: dict[str, str]) -> None:
    for node in model.graph.node:
        for tensors in (node.input, node.output):
            renamed = [names.get(tensor, tensor) for tensor in tensors]
            del tensors[:]
            tensors.extend(renamed)
    for value in (*model.graph.input, *model.graph.output):
        value.name = names.get(value.name, value.name)
