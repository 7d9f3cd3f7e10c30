"""Least-squares reconstruction of a pruned stage: layer after layer, each one fitted to what the original makes.

Every convolution of the pruned stage is solved for, tap by tap, so that from the *pruned* network's activations it
comes as close as possible to the original's (asymmetric reconstruction: X. Zhang, J. Zou, K. He, J. Sun, 2016). Errors
of earlier layers are thereby made good by later ones. No gradient, no framework, about a minute of one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgevoice.models.onnx import session_of
from edgevoice.tts.optimize.prune import choose
from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.quantized import whole
from edgevoice.tts.vits.vocoder import Conv, Stage, Upsampler, Vocoder
from edgevoice.tts.vits.vocoder_graph import build

Matrix = NDArray[np.float64]


@dataclass
class _Solver:
    """Collects the normal equations of one convolution over many sounds."""

    gram: Matrix
    target: Matrix

    @classmethod
    def of(cls, features: int, outputs: int) -> _Solver:
        return cls(np.zeros((features, features)), np.zeros((features, outputs)))

    def add(self, patches: Matrix, wanted: Matrix) -> None:
        """`patches` [samples, features], `wanted` [samples, outputs]."""
        self.gram += patches.T @ patches
        self.target += patches.T @ wanted

    def solve(self, inputs: int, taps: int) -> tuple[Floats, Floats]:
        """(weight [outputs, inputs, taps], bias [outputs])."""
        ridge = 1e-6 * np.trace(self.gram) / len(self.gram)
        solution = np.linalg.solve(self.gram + ridge * np.eye(len(self.gram)), self.target)
        weight = solution[:-1].reshape(taps, inputs, -1).transpose(2, 1, 0)
        return weight.astype(np.float32), solution[-1].astype(np.float32)


def _patches(x: Matrix, taps: int, dilation: int) -> Matrix:
    """[channels, samples] -> [samples, taps * channels + 1], zero-padded, with a constant."""
    reach = (taps - 1) * dilation // 2
    padded = np.pad(x, ((0, 0), (reach, reach)))
    moved = [padded[:, tap * dilation : tap * dilation + x.shape[1]] for tap in range(taps)]
    return np.concatenate([*moved, np.ones((1, x.shape[1]))]).T


def _leaky(x: Matrix, slope: float) -> Matrix:
    return np.where(x > 0, x, slope * x)


def _apply(x: Matrix, conv: Conv) -> Matrix:
    weight = np.concatenate(
        [conv.weight.transpose(2, 1, 0).reshape(-1, len(conv.weight)), np.zeros((1, len(conv.weight)))]
    )
    if conv.bias is not None:
        weight[-1] = conv.bias
    applied: Matrix = (_patches(x, conv.weight.shape[2], conv.dilation) @ weight).T
    return applied


def shrink_last_stage(vocoder: Vocoder, latents: Sequence[Floats], width: int) -> Vocoder:
    """The vocoder with `width` channels in its last stage, which does a third of its work.

    `latents`: a few sentences, each [channels, frames]. Only for residual units of one convolution (type 2).
    """
    stage = vocoder.stages[-1]
    entering = _entering_last_stage(vocoder, latents)
    kept = choose(_activations_covariance(stage, entering, vocoder.block_slope), width)
    up = Upsampler(stage.up.weight[:, kept].copy(), stage.up.bias[kept].copy(), stage.up.stride)
    true = [_upsampled(x, stage.up) for x in entering]
    small = [x[kept] for x in true]
    ends_true = [np.zeros_like(x) for x in true]
    ends_small = [np.zeros_like(x) for x in small]
    blocks = []
    for block in stage.blocks:
        now_true, now_small = list(true), list(small)
        units = []
        for unit in block:
            (conv,) = unit
            taps = conv.weight.shape[2]
            solver = _Solver.of(width * taps + 1, width)
            next_true = [_apply(_leaky(x, vocoder.block_slope), conv) + x for x in now_true]
            patches = [_patches(_leaky(x, vocoder.block_slope), taps, conv.dilation) for x in now_small]
            for rows, wanted, before in zip(patches, next_true, now_small, strict=True):
                solver.add(rows, (wanted[kept] - before).T)
            fitted = Conv(*solver.solve(width, taps), conv.dilation)
            now_small = [_apply(_leaky(x, vocoder.block_slope), fitted) + x for x in now_small]
            now_true = next_true
            units.append((fitted,))
        blocks.append(tuple(units))
        ends_true = [total + end for total, end in zip(ends_true, now_true, strict=True)]
        ends_small = [total + end for total, end in zip(ends_small, now_small, strict=True)]
    post = _fit_post(vocoder, ends_true, ends_small, len(stage.blocks))
    last = Stage(up, stage.slope, tuple(blocks))
    return Vocoder(vocoder.pre, (*vocoder.stages[:-1], last), post, vocoder.post_slope, vocoder.block_slope)


def _fit_post(vocoder: Vocoder, true: Sequence[Matrix], small: Sequence[Matrix], count: int) -> Conv:
    taps = vocoder.post.weight.shape[2]
    width = small[0].shape[0]
    solver = _Solver.of(width * taps + 1, 1)
    for a, b in zip(true, small, strict=True):
        wanted = _apply(_leaky(a / count, vocoder.post_slope), vocoder.post)
        solver.add(_patches(_leaky(b / count, vocoder.post_slope), taps, 1), wanted.T)
    return Conv(*solver.solve(width, taps))


def _entering_last_stage(vocoder: Vocoder, latents: Sequence[Floats]) -> list[Matrix]:
    """What the last upsampling reads (after the leaky ReLU), from the original."""
    session = session_of(build(vocoder, expose=True))
    before = 1 + sum(1 + sum(len(u) for b in s.blocks for u in b) for s in vocoder.stages[:-1])
    count = len(vocoder.stages[-2].blocks)
    # The built graph leaves the mean over residual blocks to the next weights.
    return [session.run([f"in{before}"], whole(z))[0][0, :, 0].astype(np.float64) / count for z in latents]


def _upsampled(x: Matrix, up: Upsampler) -> Matrix:
    weight, bias = up.phases
    padded = np.pad(x, ((0, 0), (up.taps - 1, up.taps - 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, up.taps, axis=1)
    phases = np.tensordot(weight.astype(np.float64), windows, axes=([1, 2], [0, 2])) + bias[:, None]
    outputs = up.weight.shape[1]
    full = phases.reshape(up.stride, outputs, -1).transpose(1, 2, 0).reshape(outputs, -1)
    return full[:, up.trim : full.shape[1] - up.trim]


def _activations_covariance(stage: Stage, entering: Sequence[Matrix], slope: float) -> Matrix:
    total = np.zeros((stage.up.weight.shape[1],) * 2)
    for x in entering:
        raw = _upsampled(x, stage.up)
        for block in stage.blocks:
            y = raw
            for unit in block:
                total += np.cov(_leaky(y, slope))
                y = _apply(_leaky(y, slope), unit[0]) + y
            total += np.cov(y)
    return total
