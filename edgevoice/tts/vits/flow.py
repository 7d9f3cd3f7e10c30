"""The flow of a VITS voice: inverse residual coupling layers, each a small WaveNet, rebuilt as matrix products over
time.

J. Kim, J. Kong, J. Son: VITS (2021). Frames are rows ([frames, channels]); a convolution becomes one matrix product
with its taps side by side, which CPUs do best and which INT8 quantisation knows. The reversals of the channel order
between the layers are folded into the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper

from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.graph import OPSET, GraphReader, GraphWriter, integer, make_model

FAR = 1 << 40
"""The end of any axis, as a slice's last index."""


@dataclass(frozen=True)
class WaveLayer:
    """A gated convolution and its 1x1 output."""

    weight: Floats
    """[2 * hidden, hidden, taps]: tanh half, then sigmoid half."""
    bias: Floats
    out_weight: Floats
    """[2 * hidden (residual, skip) or hidden (skip only, last layer), hidden]."""
    out_bias: Floats


@dataclass(frozen=True)
class Coupling:
    """One coupling layer: half of the channels predicts a shift of the other half."""

    pre_weight: Floats
    """[hidden, half]."""
    pre_bias: Floats
    layers: tuple[WaveLayer, ...]
    post_weight: Floats
    """[half, hidden]."""
    post_bias: Floats

    @property
    def reach(self) -> int:
        """Frames it looks to each side."""
        return sum((layer.weight.shape[2] - 1) // 2 for layer in self.layers)


@dataclass(frozen=True)
class Flow:
    """The coupling layers in the order in which synthesis runs them; the channels are reversed before each."""

    couplings: tuple[Coupling, ...]

    @property
    def reach(self) -> int:
        """Frames it looks to each side."""
        return sum(coupling.reach for coupling in self.couplings)


def read(reader: GraphReader, flow: onnx.ModelProto) -> Flow:
    """Take the cut-out flow apart. Raises ModelDataError when it is of another build (dilated, conditioned, with
    scale).
    """
    convs = [node for node in flow.graph.node if node.op_type == "Conv"]
    if any(integer(node, "dilations", 1) != 1 for node in convs):
        raise reader.fail("a dilated flow")
    groups: list[list[onnx.NodeProto]] = []
    for node in convs:
        if not groups or _half_to_hidden(reader, node):
            groups.append([])
        groups[-1].append(node)
    return Flow(tuple(_coupling(reader, group) for group in groups))


def _half_to_hidden(reader: GraphReader, node: onnx.NodeProto) -> bool:
    outputs, inputs, taps = reader.weight(node.input[1]).shape
    return bool(taps == 1 and outputs == 2 * inputs and "pre" in node.input[1])


def _coupling(reader: GraphReader, nodes: list[onnx.NodeProto]) -> Coupling:
    arrays = [(_floats(reader, node.input[1]), _floats(reader, node.input[2])) for node in nodes]
    if len(arrays) < 4 or len(arrays) % 2:
        raise reader.fail("a coupling layer of another build")
    inner = arrays[1:-1]
    layers = tuple(WaveLayer(*inner[i], inner[i + 1][0][:, :, 0], inner[i + 1][1]) for i in range(0, len(inner), 2))
    return Coupling(arrays[0][0][:, :, 0], arrays[0][1], layers, arrays[-1][0][:, :, 0], arrays[-1][1])


def _floats(reader: GraphReader, tensor: str) -> Floats:
    return np.asarray(reader.weight(tensor), dtype=np.float32)


def build(flow: Flow) -> onnx.ModelProto:
    """A graph `prior [frames, channels] float32, left_edge [1] int64, right_edge [1] int64 -> latents [frames',
    channels]`.

    As in the vocoder: zeros are padded at an edge of the clause (1); on other sides (0) the input holds `reach` frames
    more. Here the edges are inputs, so that one set of weights serves all four cases.
    """
    writer = _FlowWriter()
    half = flow.couplings[0].pre_weight.shape[1]
    # `halves[0]` holds the channels the original graph has first, in reversed order when `reversed_order`.
    halves = [writer.slice("prior", 0, half, 1), writer.slice("prior", half, 2 * half, 1)]
    reversed_order = False
    for coupling in flow.couplings:
        reversed_order = not reversed_order
        halves = halves[::-1]
        shift = writer.coupling(halves[0], coupling, reversed_order)
        halves = [
            writer.crop(halves[0], coupling.reach),
            writer.add("Sub", writer.crop(halves[1], coupling.reach), shift),
        ]
    if reversed_order:
        # Two halves in reversed order: [b reversed, a reversed] of the true [a, b] would need one reversal.
        order = writer.constant(np.arange(2 * half - 1, -1, -1, dtype=np.int64))
        latents = writer.add("Gather", writer.add("Concat", halves[1], halves[0], axis=1), order, axis=1)
    else:
        latents = writer.add("Concat", halves[0], halves[1], axis=1)
    writer.name_output(latents, "latents")
    return make_model(
        writer.nodes,
        "flow",
        [
            helper.make_tensor_value_info("prior", TensorProto.FLOAT, ["frames", 2 * half]),
            helper.make_tensor_value_info("left_edge", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("right_edge", TensorProto.INT64, [1]),
        ],
        [helper.make_tensor_value_info("latents", TensorProto.FLOAT, ["kept", 2 * half])],
        writer.weights,
        OPSET,
    )


class _FlowWriter(GraphWriter):
    """Layers over rows of frames."""

    def __init__(self) -> None:
        super().__init__()
        self._bounds: dict[int, tuple[str, str]] = {}
        self._pads: dict[int, str] = {}
        one = self.integers(1)
        self._zero, self._rows = self.integers(0), self.integers(0)
        self._inner_left = self.add("Sub", one, "left_edge")
        self._inner_right = self.add("Sub", one, "right_edge")

    def integers(self, *values: int) -> str:
        """A stored int64 vector."""
        return self.constant(np.array(values, np.int64))

    def slice(self, x: str, first: int, last: int, axis: int) -> str:
        """Elements first .. last - 1 of an axis."""
        return self.add("Slice", x, self.integers(first), self.integers(last), self.integers(axis))

    def crop(self, x: str, frames: int) -> str:
        """Take frames away at each side that is no edge."""
        if frames not in self._bounds:
            first = self.add("Mul", self._inner_left, self.integers(frames))
            last = self.add(
                "Add",
                self.add("Mul", self._inner_right, self.integers(-frames)),
                self.add("Mul", "right_edge", self.integers(FAR)),
            )
            self._bounds[frames] = first, last
        return self.add("Slice", x, *self._bounds[frames], self._rows)

    def pad(self, x: str, frames: int) -> str:
        """Add rows of zeros at each side that is an edge."""
        if frames not in self._pads:
            count = self.integers(frames)
            left, right = self.add("Mul", "left_edge", count), self.add("Mul", "right_edge", count)
            self._pads[frames] = self.add("Concat", left, self._zero, right, self._zero, axis=0)
        return self.add("Pad", x, self._pads[frames])

    def linear(self, x: str, weight: Floats, bias: Floats) -> str:
        """x @ weight.T + bias."""
        return self.add("Add", self.add("MatMul", x, self.constant(weight.T)), self.constant(bias))

    def convolution(self, x: str, weight: Floats, bias: Floats) -> str:
        """A convolution over rows: its taps side by side, one matrix product."""
        taps = weight.shape[2]
        x = self.pad(x, (taps - 1) // 2)
        shifted = [self.slice(x, tap, tap - taps + 1 if tap < taps - 1 else FAR, 0) for tap in range(taps)]
        # [outputs, inputs, taps] -> [outputs, taps * inputs]
        return self.linear(
            self.add("Concat", *shifted, axis=1), weight.transpose(0, 2, 1).reshape(len(weight), -1), bias
        )

    def coupling(self, x: str, coupling: Coupling, reversed_order: bool) -> str:
        """The shift of the other half, predicted from this one; channels of both in reversed order if
        `reversed_order`.
        """
        step = -1 if reversed_order else 1
        x = self.linear(x, coupling.pre_weight[:, ::step], coupling.pre_bias)
        hidden = coupling.pre_weight.shape[0]
        skips: list[str] = []
        left = coupling.reach
        for layer in coupling.layers:
            reach = (layer.weight.shape[2] - 1) // 2
            left -= reach
            gates = self.convolution(x, layer.weight, layer.bias)
            gated = self.add(
                "Mul",
                self.add("Tanh", self.slice(gates, 0, hidden, 1)),
                self.add("Sigmoid", self.slice(gates, hidden, 2 * hidden, 1)),
            )
            if len(layer.out_weight) == hidden:
                skips.append(self.linear(gated, layer.out_weight, layer.out_bias))
                break
            both = self.linear(gated, layer.out_weight, layer.out_bias)
            x = self.add("Add", self.crop(x, reach), self.slice(both, 0, hidden, 1))
            skip = self.slice(both, hidden, 2 * hidden, 1)
            skips.append(self.crop(skip, left) if left else skip)
        total = skips[0]
        for skip in skips[1:]:
            total = self.add("Add", total, skip)
        return self.linear(total, coupling.post_weight[::step], coupling.post_bias[::step])
