"""The vocoder of a VITS voice (HiFi-GAN's generator): its weights as plain arrays and its receptive field.

J. Kong, J. Kim, J. Bae: HiFi-GAN (2020). Piper's "medium" and "low" voices use residual block type 2 (two convolutions
a block, one residual each), "high" voices type 1 (two convolutions per residual). Its graph is made in
`vocoder_graph`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx

from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.graph import GraphReader, integer, number


@dataclass(frozen=True)
class Conv:
    """A one-dimensional "same" convolution."""

    weight: Floats
    """[outputs, inputs, taps]."""
    bias: Floats | None
    """[outputs]."""
    dilation: int = 1

    @property
    def reach(self) -> int:
        """Samples it looks to each side."""
        return int(self.weight.shape[2] - 1) * self.dilation // 2


@dataclass(frozen=True)
class Upsampler:
    """A transposed convolution that makes `stride` samples of one, with the usual padding (taps - stride) / 2."""

    weight: Floats
    """[inputs, outputs, taps]."""
    bias: Floats
    """[outputs]."""
    stride: int

    @property
    def taps(self) -> int:
        """Inputs each output is made of."""
        return math.ceil(int(self.weight.shape[2]) / self.stride)

    @property
    def trim(self) -> int:
        """Samples of the full result that the usual padding takes away at each side."""
        return int(self.weight.shape[2] - self.stride) // 2

    @property
    def phases(self) -> tuple[Floats, Floats]:
        """As an ordinary convolution to `stride` times as many channels: weight [stride * outputs, inputs, taps], bias.

        Sample n of the full result (untrimmed) is the sum over inputs i of x[i] w[n - i * stride]; with n = m * stride +
        r that is, for each phase r, a filter of ceil(taps / stride) taps that ends at input m.
        """
        inputs, outputs, taps = self.weight.shape
        weight = np.zeros((self.stride, outputs, inputs, self.taps), np.float32)
        for tap in range(taps):
            weight[tap % self.stride, :, :, self.taps - 1 - tap // self.stride] = self.weight[:, :, tap].T
        return weight.reshape(self.stride * outputs, inputs, self.taps), np.tile(self.bias, self.stride)


Unit = tuple[Conv, ...]
"""Convolutions bridged by one residual: one in blocks of type 2, two in type 1."""
Block = tuple[Unit, ...]


def block_reach(block: Block) -> int:
    """Samples a residual block looks to each side."""
    return sum(conv.reach for unit in block for conv in unit)


@dataclass(frozen=True)
class Stage:
    """One upsampling and its residual blocks, which all read the same input and are averaged."""

    up: Upsampler
    slope: float
    """Of the leaky ReLU before the upsampling."""
    blocks: tuple[Block, ...]

    @property
    def reach(self) -> int:
        """Samples the residual blocks look to each side."""
        return max(block_reach(block) for block in self.blocks)


@dataclass(frozen=True)
class Vocoder:
    """All weights of a generator."""

    pre: Conv
    stages: tuple[Stage, ...]
    post: Conv
    post_slope: float = 0.01
    block_slope: float = 0.1

    @property
    def hop(self) -> int:
        """Samples a latent frame becomes."""
        return math.prod(stage.up.stride for stage in self.stages)

    @property
    def reach(self) -> int:
        """Latent frames an output sample can depend on, to each side: the receptive field, from the layers' own
        numbers.
        """
        needed = self.post.reach
        for stage in reversed(self.stages):
            # An upsampling loses `trim` samples inside its input, and as many are cut off.
            needed = math.ceil((needed + stage.reach + 2 * stage.up.trim) / stage.up.stride)
        return needed + self.pre.reach


def read(reader: GraphReader, start: str) -> Vocoder:
    """Take the generator apart whose input tensor is `start` (the masked latents). Raises ModelDataError if it is of
    another build.
    """
    first = next((node for node in reader.users(start) if node.op_type == "Conv"), None)
    if first is None:
        raise reader.fail("no convolution reads the latents")
    begin = next(i for i, node in enumerate(reader.nodes) if node is first)
    tail = [node for node in reader.nodes[begin:] if node.op_type in ("Conv", "ConvTranspose")]
    slopes = {node.output[0]: number(node, "alpha", 0.01) for node in reader.of_type("LeakyRelu")}
    stages: list[Stage] = []
    position = 1
    while position < len(tail) - 1:
        node = tail[position]
        if node.op_type != "ConvTranspose":
            raise reader.fail("residual blocks before the first upsampling")
        weight, bias = _array(reader, node.input[1]), _array(reader, node.input[2])
        blocks, position = _blocks(reader, tail, position + 1)
        up = Upsampler(weight, bias, integer(node, "strides", 1))
        stages.append(Stage(up, slopes.get(node.input[0], 0.1), blocks))
    return Vocoder(_conv(reader, tail[0]), tuple(stages), _conv(reader, tail[-1]), slopes.get(tail[-1].input[0], 0.01))


def _blocks(reader: GraphReader, tail: list[onnx.NodeProto], position: int) -> tuple[tuple[Block, ...], int]:
    """The residual blocks of a stage: a new one begins where the number of taps changes, a unit ends where a sum
    follows.
    """
    blocks: list[list[Unit]] = []
    unit: list[Conv] = []
    while position < len(tail) - 1 and tail[position].op_type == "Conv":
        node = tail[position]
        unit.append(_conv(reader, node))
        if any(user.op_type == "Add" for user in reader.users(node.output[0])):
            if not blocks or blocks[-1][-1][-1].weight.shape[2] != unit[-1].weight.shape[2]:
                blocks.append([])
            blocks[-1].append(tuple(unit))
            unit = []
        position += 1
    if unit or not blocks:
        raise reader.fail("residual blocks of an unknown build")
    return tuple(tuple(block) for block in blocks), position


def _array(reader: GraphReader, tensor: str) -> Floats:
    return np.asarray(reader.weight(tensor), dtype=np.float32)


def _conv(reader: GraphReader, node: onnx.NodeProto) -> Conv:
    bias = _array(reader, node.input[2]) if len(node.input) > 2 else None
    return Conv(_array(reader, node.input[1]), bias, integer(node, "dilations", 1))
