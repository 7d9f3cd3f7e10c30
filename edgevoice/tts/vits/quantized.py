"""A vocoder whose first stages are in INT8 (static quantisation), where that costs little quality.

The first stages work at low sampling rates on many channels: half of the work, and the listener hears what is computed
after them. The last stage and the last convolution stay in float: there eight bits are heard as hiss (docs/voices.md).
The sums of the residual blocks stay in float everywhere; only what convolutions read and write is rounded. Channels are
last here, which ONNX Runtime's quantised convolutions want and which makes the pixel shuffle free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from edgevoice.models.onnx import session_of
from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.vocoder import Conv, Stage, Upsampler, Vocoder
from edgevoice.tts.vits.vocoder_graph import MICROSOFT, BlockedWriter, attributes, build, model_of

BALANCE = 0.7
"""Exponent of evening out the channels' ranges; 1 makes them equal, which spoils the weights."""


@dataclass(frozen=True)
class Range:
    """What a convolution reads and makes."""

    inputs: tuple[float, float]
    outputs: tuple[float, float]
    peaks: Floats
    """Largest magnitude of each input channel."""


def ranges(vocoder: Vocoder, latents: Iterable[Floats]) -> list[Range]:
    """Smallest and largest values around every convolution, over whole clauses of latents [channels, frames]."""
    session = session_of(build(vocoder, expose=True))
    names = [output.name for output in session.get_outputs()][1:]
    low, high = np.zeros(len(names)), np.zeros(len(names))
    peaks: list[Any] = [0.0] * len(names)
    for z in latents:
        arrays = session.run(names, whole(z))
        low = np.minimum(low, [array.min() for array in arrays])
        high = np.maximum(high, [array.max() for array in arrays])
        peaks = [np.maximum(peak, np.abs(array).max(axis=(0, 2, 3))) for peak, array in zip(peaks, arrays, strict=True)]
    spans = list(zip(low.tolist(), high.tolist(), strict=True))
    return [Range(spans[i], spans[i + 1], peaks[i]) for i in range(0, len(names), 2)]


def whole(latents: Floats) -> dict[str, NDArray[Any]]:
    """What a vocoder's graph reads: a whole clause of latents [channels, frames]."""
    edge = np.ones(1, np.int64)
    return {"latents": latents[None, :, None, :].astype(np.float32), "left_edge": edge, "right_edge": edge}


def balanced(vocoder: Vocoder, index: int, spans: Sequence[Range]) -> Vocoder:
    """The same function with the channels of a stage (not the last) evened out: what makes a channel large is moved to
    the weights that read it (a leaky ReLU is positively homogeneous).
    """
    stage, following = vocoder.stages[index], vocoder.stages[index + 1]
    before = 1 + sum(1 + convolutions(earlier) for earlier in vocoder.stages[:index])
    inside = spans[before + 1 : before + 1 + convolutions(stage)]
    size = np.max([span.peaks for span in inside], axis=0) + 1e-3
    factor = ((size / np.median(size)) ** BALANCE).astype(np.float32)

    def inner(conv: Conv) -> Conv:
        weight = conv.weight * factor[None, :, None] / factor[:, None, None]
        return replace(conv, weight=weight, bias=None if conv.bias is None else conv.bias / factor)

    blocks = tuple(tuple((*map(inner, unit),) for unit in block) for block in stage.blocks)
    up = Upsampler(stage.up.weight / factor[None, :, None], stage.up.bias / factor, stage.up.stride)
    reader = Upsampler(following.up.weight * factor[:, None, None], following.up.bias, following.up.stride)
    stages = list(vocoder.stages)
    stages[index], stages[index + 1] = Stage(up, stage.slope, blocks), Stage(reader, following.slope, following.blocks)
    return replace(vocoder, stages=tuple(stages))


def convolutions(stage: Stage) -> int:
    """How many its residual blocks have."""
    return sum(len(unit) for block in stage.blocks for unit in block)


def build_quantized(
    vocoder: Vocoder, spans: Sequence[Range], stages: int, block: int, reach: int = 0
) -> onnx.ModelProto:
    """As `vocoder_graph.build` in the blocked layout, with the first convolution and so many stages in INT8.

    `spans` are this vocoder's `ranges`.
    """
    writer = _QuantizedWriter(spans, stages, block)
    writer.vocoder(vocoder, reach)
    return model_of(writer, vocoder, [])


@dataclass(frozen=True)
class _Grid:
    """Names of the stored scale and zero of a rounded tensor."""

    scale: str
    zero: str
    step: float


class _QuantizedWriter(BlockedWriter):
    """First stages with channels last, [1, 1, samples, channels]; the rest in blocks."""

    def __init__(self, spans: Sequence[Range], stages: int, block: int) -> None:
        super().__init__(block)
        self._spans, self._left = list(spans), stages
        self._position = 0

    # --- from `latents` on, in place of the blocked writer's

    def first(self, x: str, vocoder: Vocoder) -> str:
        """The first convolution and the leaky ReLU after it, rounded."""
        x = self.add("Transpose", x, perm=[0, 2, 3, 1])
        y, grid = self._conv(self._round(x, self._grid(self._span.inputs)), vocoder.pre, 0)
        return self._leaky(y, grid, self._grid(self._span.inputs), vocoder.stages[0].slope)

    def stage(self, x: str, channels: int, spoilt: int, stage: Stage, scale: float, slopes: tuple[float, float]) -> str:
        """One upsampling and its residual blocks."""
        if self._left == 0:
            return super().stage(x, channels, spoilt, stage, scale, slopes)
        self._left -= 1
        slope, next_slope = slopes
        grid = self._grid(self._span.inputs)
        x = self.pad(x, 2, 1, stage.up.taps - 1, -spoilt, grid.zero)
        weight, bias = stage.up.phases
        x, grid = self._conv(x, Conv(weight * np.float32(scale), bias), 0)
        x = self.add("Reshape", x, self.ints(1, 1, -1, stage.up.weight.shape[1]))
        x = self.add("Slice", x, self.ints(stage.up.trim), self.ints(-stage.up.trim), self.ints(2))
        total = self._blocks(x, grid, stage, slope)
        total = self.add("LeakyRelu", total, alpha=next_slope)
        if self._left:
            return self._round(total, self._grid(self._span.inputs))
        channels = stage.up.weight.shape[1]
        rows = self.add("Reshape", total, self.ints(-1, channels // self.block, self.block))
        return self.add("Reshape", self.add("Transpose", rows, perm=[1, 0, 2]), self.ints(1, channels, 1, -1))

    def _blocks(self, rounded: str, grid: _Grid, stage: Stage, slope: float) -> str:
        shared = self._leaky(rounded, grid, self._grid(self._span.inputs), slope)
        x, total = self._exact(rounded, grid), ""
        for block in stage.blocks:
            y, active = x, shared
            for unit in block:
                made = ""
                for conv in unit:
                    active = active or self._round(
                        self.add("LeakyRelu", made or y, alpha=slope), self._grid(self._span.inputs)
                    )
                    made = self._exact(*self._conv(active, conv, conv.reach))
                    active = ""
                y = self.add("Add", y, made)
            total = self.add("Add", total, y) if total else y
        return total

    # --- rounding

    @property
    def _span(self) -> Range:
        """Of the next convolution."""
        return self._spans[self._position]

    def _grid(self, span: tuple[float, float]) -> _Grid:
        low, high = min(span[0], 0.0), max(span[1], 1e-6)
        step = (high - low) / 255
        return _Grid(
            self.constant(np.array(step, np.float32)), self.constant(np.array(round(-low / step), np.uint8)), step
        )

    def _round(self, x: str, grid: _Grid) -> str:
        return self.add("QuantizeLinear", x, grid.scale, grid.zero)

    def _exact(self, x: str, grid: _Grid) -> str:
        return self.add("DequantizeLinear", x, grid.scale, grid.zero)

    def _leaky(self, x: str, before: _Grid, after: _Grid, slope: float) -> str:
        grids = before.scale, before.zero, after.scale, after.zero
        return self.add("QLinearLeakyRelu", x, *grids, domain=MICROSOFT, alpha=slope)

    def _conv(self, x: str, conv: Conv, pad: int) -> tuple[str, _Grid]:
        """A convolution of a tensor on the grid of its measured inputs; its result is on that of its outputs."""
        before, after = self._grid(self._span.inputs), self._grid(self._span.outputs)
        self._position += 1
        steps = np.maximum(np.abs(conv.weight).max(axis=(1, 2)), 1e-9) / 127
        weight = np.round(conv.weight / steps[:, None, None]).astype(np.int8)[:, :, None, :]
        bias = np.zeros(len(steps)) if conv.bias is None else conv.bias / (steps * before.step)
        inputs = [
            *(x, before.scale, before.zero),
            *(
                self.constant(weight),
                self.constant(steps.astype(np.float32)),
                self.constant(np.zeros(len(steps), np.int8)),
            ),
            *(after.scale, after.zero, self.constant(np.round(bias).astype(np.int32))),
        ]
        made = self.add("QLinearConv", *inputs, domain=MICROSOFT, channels_last=1, **attributes(conv, pad))
        return made, after
