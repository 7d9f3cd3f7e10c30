"""The graph of a vocoder, rebuilt to compute the same function as the exported one, faster on a CPU.

- One-dimensional convolutions are written as two-dimensional ones of height 1: ONNX Runtime has fast direct kernels
  (NCHWc: channels in blocks as wide as a vector register) only for those. Where the processor has them (`layout.block_size`),
  the whole graph is written in that layout: the optimiser would go in and out of it around every leaky ReLU.
- A transposed convolution becomes an ordinary one with as few taps as each output has, and a pixel shuffle; in the
  blocked layout the shuffle moves whole blocks.
- The leaky ReLU that the residual blocks of a stage share is computed once; sums are part of the convolutions.
- The division by the number of residual blocks is folded into the next weights (a leaky ReLU is positively homogeneous).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.graph import OPSET, GraphWriter, make_model
from edgevoice.tts.vits.vocoder import Conv, Stage, Upsampler, Vocoder

BLOCKED = "com.microsoft.nchwc"
"""ONNX Runtime's operators on the blocked layout."""
MICROSOFT = "com.microsoft"
"""ONNX Runtime's other own operators."""


def build(vocoder: Vocoder, expose: bool = False, block: int = 1, reach: int = 0) -> onnx.ModelProto:
    """A graph `latents [1, channels, 1, frames] float32, left_edge [1] int64, right_edge [1] int64 -> sound [1, 1, 1,
    samples]`.

    At an edge of the clause (1) every layer pads with zeros as the original does. On other sides (0) the input holds
    `reach` frames more than the output; what zeros spoil there is cut off after each stage, so that overlapping costs
    little where the sampling rate is high.
    `reach` is more than this vocoder's own where another one of the voice needs more.
    `block` is the width of the blocked layout, 1 for the ordinary one; it must be `layout.block_size()` or 1, and is
    ignored when the channels do not divide by it. With `expose` what every convolution reads and makes are outputs too
    (`in0`, `out0`, `in1`, … in the order of the layers; ordinary layout only).
    """
    blocked = not expose and fits(vocoder, block)
    writer = BlockedWriter(block) if blocked else _PlainWriter()
    writer.vocoder(vocoder, reach)
    exposed = []
    if expose:
        for position, node in enumerate([node for node in writer.nodes if node.op_type == "Conv"]):
            exposed += [(node.input[0], f"in{position}"), (node.output[0], f"out{position}")]
    return model_of(writer, vocoder, exposed)


def model_of(writer: GraphWriter, vocoder: Vocoder, exposed: Iterable[tuple[str, str]]) -> onnx.ModelProto:
    """The model of what was written; `exposed`: tensors that become outputs, and their public names."""
    outputs = [helper.make_tensor_value_info("sound", TensorProto.FLOAT, [1, 1, 1, "samples"])]
    for tensor, name in exposed:
        writer.name_output(tensor, name)
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    return make_model(
        writer.nodes,
        "vocoder",
        [
            helper.make_tensor_value_info("latents", TensorProto.FLOAT, [1, vocoder.pre.weight.shape[1], 1, "frames"]),
            helper.make_tensor_value_info("left_edge", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("right_edge", TensorProto.INT64, [1]),
        ],
        outputs,
        writer.weights,
        OPSET,
        {BLOCKED: 1, MICROSOFT: 1} if any(node.domain for node in writer.nodes) else {},
    )


def fits(vocoder: Vocoder, block: int) -> bool:
    """Whether the channels of all tensors but the sound divide into blocks of more than one."""
    channels = [*vocoder.pre.weight.shape[:2], *(stage.up.weight.shape[1] for stage in vocoder.stages)]
    return block > 1 and all(count % block == 0 for count in channels)


class _PlainWriter(GraphWriter):
    """The vocoder in the ordinary layout, [1, channels, 1, samples]."""

    def __init__(self) -> None:
        super().__init__()
        self._edges: dict[tuple[int, int], tuple[str, str]] = {}

    def vocoder(self, vocoder: Vocoder, reach: int = 0) -> None:
        """All of it, from `latents` to `sound`; the input reaches at least `reach` frames further inside the clause."""
        slopes = [*(stage.slope for stage in vocoder.stages), vocoder.post_slope]
        pre, post = vocoder.pre, vocoder.post
        x = _PlainWriter.at_edges(self, "latents", pre.weight.shape[1], pre.reach, 0)
        x = self.first(x, vocoder)
        channels, scale = len(pre.weight), 1.0
        # Samples known beyond the wanted ones inside the clause, and how many of them the padding has spoilt.
        beyond, spoilt = max(reach, vocoder.reach) - pre.reach, 0
        for stage, slope in zip(vocoder.stages, slopes[1:], strict=True):
            x = self.stage(x, channels, spoilt, stage, scale, (vocoder.block_slope, slope))
            beyond = (beyond - spoilt) * stage.up.stride - 2 * stage.up.trim
            spoilt, scale, channels = stage.reach, 1.0 / len(stage.blocks), stage.up.weight.shape[1]
        x = self.leave(self.at_edges(x, channels, post.reach, -spoilt), channels)
        x = _PlainWriter.conv(self, x, Conv(post.weight * np.float32(scale), post.bias))
        x = _PlainWriter.at_edges(self, x, 1, 0, spoilt + post.reach - beyond)
        self.name_output(self.add("Tanh", x), "sound")

    def first(self, x: str, vocoder: Vocoder) -> str:
        """The first convolution and the leaky ReLU after it."""
        return self.conv(self.enter(x), vocoder.pre, slope=vocoder.stages[0].slope)

    def stage(self, x: str, channels: int, spoilt: int, stage: Stage, scale: float, slopes: tuple[float, float]) -> str:
        """One upsampling (of `channels`, times `scale`; `spoilt` samples go first), its residual blocks summed, and the
        leaky ReLU of what follows. `slopes`: inside the blocks, and of the last one.
        """
        slope, next_slope = slopes
        x = self.upsample(self.at_edges(x, channels, stage.up.taps - 1, -spoilt), stage.up, scale)
        shared, total = self.add("LeakyRelu", x, alpha=slope), ""
        for block in stage.blocks:
            y, active = x, shared
            for unit in block:
                last_unit = unit is block[-1]
                for conv in unit[:-1]:
                    active = self.conv(active, conv, conv.reach, slope=slope)
                rest = self.add("Add", total, y) if last_unit and total else y
                ends = last_unit and block is stage.blocks[-1]
                y = self.conv(active, unit[-1], unit[-1].reach, rest, next_slope if ends else None)
                active = "" if last_unit else self.add("LeakyRelu", y, alpha=slope)
            total = y
        return total

    def upsample(self, x: str, up: Upsampler, scale: float) -> str:
        """Convolution to stride * outputs channels, then the phases side by side in time."""
        weight, bias = up.phases
        x = self.conv(x, Conv(weight * np.float32(scale), bias))
        return self.shuffle(x, up.stride, up.weight.shape[1], up.trim)

    def sides(self, at_edge: int, inside: int) -> tuple[str, str]:
        """Numbers for both sides that depend on whether they are edges."""
        if (at_edge, inside) not in self._edges:
            step, base = self.ints(at_edge - inside), self.ints(inside)
            left, right = (self.add("Add", self.add("Mul", f"{side}_edge", step), base) for side in ("left", "right"))
            self._edges[at_edge, inside] = left, right
        return self._edges[at_edge, inside]

    def pad(self, x: str, before: int, after: int, at_edge: int, inside: int, zero: str = "") -> str:
        """Zeros at both sides of an axis that has so many axes before and after it; negative: cut off. `zero` names
        another value than 0.
        """
        left, right = self.sides(at_edge, inside)
        zeros, more = self.ints(*[0] * before), self.ints(*[0] * (after + before))
        end = [self.ints(*[0] * after)] if after else []
        pads = self.add("Concat", zeros, left, more, right, *end, axis=0)
        return self.add("Pad", x, pads, *([zero] if zero else []))

    def ints(self, *values: int) -> str:
        """A stored int64 vector."""
        return self.constant(np.array(values, np.int64))

    # --- what the layout decides

    def enter(self, x: str) -> str:
        """From the ordinary layout to this writer's."""
        return x

    def leave(self, x: str, channels: int) -> str:
        """From this writer's layout to the ordinary one."""
        return x

    def conv(self, x: str, conv: Conv, pad: int = 0, rest: str = "", slope: float | None = None) -> str:
        """Convolution, plus `rest`, through a leaky ReLU of that slope."""
        inputs = [x, self.constant(conv.weight[:, :, None, :])]
        if conv.bias is not None:
            inputs.append(self.constant(conv.bias))
        y = self.add("Conv", *inputs, **attributes(conv, pad))
        if rest:
            y = self.add("Add", y, rest)
        return y if slope is None else self.add("LeakyRelu", y, alpha=slope)

    def at_edges(self, x: str, channels: int, at_edge: int, inside: int) -> str:
        """Samples of zero added (or, if negative, taken away) on each side, by whether it is an edge."""
        return self.pad(x, 3, 0, at_edge, inside) if at_edge or inside else x

    def shuffle(self, x: str, stride: int, outputs: int, trim: int) -> str:
        """[1, stride * outputs, 1, t] -> [1, outputs, 1, t * stride], less `trim` samples at each side."""
        x = self.add("Reshape", x, self.ints(1, stride, outputs, -1))
        x = self.add("Reshape", self.add("Transpose", x, perm=[0, 2, 3, 1]), self.ints(1, outputs, 1, -1))
        return self.add("Slice", x, self.ints(trim), self.ints(-trim), self.ints(3)) if trim else x


class BlockedWriter(_PlainWriter):
    """The vocoder in ONNX Runtime's blocked layout: named [1, channels, 1, samples], stored [channels / b, samples, b].

    Element by element operators do not care; padding and shuffles look at the stored form.
    """

    def __init__(self, block: int) -> None:
        super().__init__()
        self.block = block

    def enter(self, x: str) -> str:
        """To blocks."""
        return self.add("ReorderInput", x, domain=BLOCKED, channels_last=0)

    def leave(self, x: str, channels: int) -> str:
        """From blocks."""
        return self.add("ReorderOutput", x, domain=BLOCKED, channels=channels, channels_last=0)

    def conv(self, x: str, conv: Conv, pad: int = 0, rest: str = "", slope: float | None = None) -> str:
        """One operator for all of it."""
        bias = np.zeros(len(conv.weight), np.float32) if conv.bias is None else conv.bias
        inputs = [x, self.constant(self._filters(conv.weight)), self.constant(bias), *([rest] if rest else [])]
        activation: dict[str, Any] = {}
        if slope is not None:
            activation = {"activation": "LeakyRelu", "activation_params": [slope]}
        return self.add("Conv", *inputs, domain=BLOCKED, **attributes(conv, pad), **activation)

    def _filters(self, weight: Floats) -> Floats:
        """[outputs, inputs, taps] in the order of the kernels: blocks of outputs, of inputs, taps, then inside both."""
        outputs, inputs, taps = weight.shape
        b = self.block
        ordered = weight.reshape(outputs // b, b, inputs // b, b, taps).transpose(0, 2, 4, 3, 1)
        return np.ascontiguousarray(ordered).reshape(outputs, inputs, 1, taps)

    def at_edges(self, x: str, channels: int, at_edge: int, inside: int) -> str:
        """Samples of zero added or taken away in the stored form."""
        if not at_edge and not inside:
            return x
        x = self.add("Reshape", x, self.ints(channels // self.block, -1, self.block))
        return self.add("Reshape", self.pad(x, 1, 1, at_edge, inside), self.ints(1, channels, 1, -1))

    def shuffle(self, x: str, stride: int, outputs: int, trim: int) -> str:
        """Moves whole blocks."""
        blocks = outputs // self.block
        x = self.add("Reshape", x, self.ints(stride, blocks, -1, self.block))
        x = self.add("Reshape", self.add("Transpose", x, perm=[1, 2, 0, 3]), self.ints(blocks, -1, self.block))
        x = self.add("Slice", x, self.ints(trim), self.ints(-trim), self.ints(1)) if trim else x
        return self.add("Reshape", x, self.ints(1, outputs, 1, -1))


def attributes(conv: Conv, pad: int) -> dict[str, Any]:
    """Of a convolution with so many zeros on both sides."""
    return {
        "kernel_shape": [1, conv.weight.shape[2]],
        "dilations": [1, conv.dilation],
        "pads": [0, pad, 0, pad],
    }
