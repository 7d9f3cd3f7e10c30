"""Structured pruning of the vocoder: whole channels go, and what they carried is rebuilt from the ones that stay.

All residual blocks of a stage share its channels, so a stage keeps one set of them. Which: those that explain the rest
best (pivoted Cholesky factorisation of the activations' covariance). Every convolution is then re-fitted in closed
form: a removed input channel is replaced by its least-squares prediction from the kept ones, which folds into the
weights (after Y. He, X. Zhang, J. Sun: Channel Pruning for Accelerating Very Deep Neural Networks, 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from edgevoice.models.onnx import session_of
from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.quantized import whole
from edgevoice.tts.vits.vocoder import Conv, Stage, Upsampler, Vocoder
from edgevoice.tts.vits.vocoder_graph import build

Moments = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Second moment [c, c] and mean [c] of one convolution's input."""


def moments(vocoder: Vocoder, latents: Iterable[Floats]) -> list[Moments]:
    """Statistics of the input of every convolution, over latents [channels, frames]."""
    session = session_of(build(vocoder, expose=True))
    names = [output.name for output in session.get_outputs() if output.name.startswith("in")]
    sums: list[list[NDArray[np.float64]]] = []
    total = np.zeros(len(names))
    for z in latents:
        outputs = session.run(names, whole(z))
        for position, array in enumerate(outputs):
            x = array[0, :, 0, :].astype(np.float64)
            if len(sums) <= position:
                sums.append([np.zeros((x.shape[0], x.shape[0])), np.zeros(x.shape[0])])
            sums[position][0] += x @ x.T
            sums[position][1] += x.sum(axis=1)
            total[position] += x.shape[1]
    return [(second / n, first / n) for (second, first), n in zip(sums, total, strict=True)]


def choose(covariance: NDArray[np.float64], keep: int) -> NDArray[np.int64]:
    """The `keep` channels that explain the others best, ascending."""
    residual = covariance.copy()
    chosen: list[int] = []
    for _ in range(keep):
        # The channel whose removal from all others takes away most variance.
        diagonal = np.maximum(np.diag(residual), 1e-12)
        gain = (residual**2).sum(axis=0) / diagonal
        gain[chosen] = -1
        best = int(np.argmax(gain))
        chosen.append(best)
        residual -= np.outer(residual[:, best], residual[best]) / max(residual[best, best], 1e-12)
    return np.sort(np.array(chosen))


def refit(
    weight: Floats, bias: Floats | None, rows: NDArray[np.int64], kept: NDArray[np.int64], stats: Moments
) -> tuple[Floats, Floats]:
    """[outputs, inputs, taps] -> [rows, kept, taps], with the lost inputs predicted from the kept ones."""
    second, mean = stats
    covariance = second - np.outer(mean, mean)
    inner = covariance[np.ix_(kept, kept)] + 1e-6 * np.trace(covariance) / len(mean) * np.eye(len(kept))
    recover = np.linalg.solve(inner, covariance[kept]).T  # [inputs, kept]: x ~ recover x_kept + offset
    recover[kept] = np.eye(len(kept))
    offset = mean - recover @ mean[kept]
    selected = weight[rows].astype(np.float64)
    new_bias = np.zeros(len(rows)) if bias is None else bias[rows].astype(np.float64)
    return (
        np.einsum("oik,ij->ojk", selected, recover).astype(np.float32),
        (new_bias + selected.sum(axis=2) @ offset).astype(np.float32),
    )


def prune(vocoder: Vocoder, statistics: Sequence[Moments], widths: Sequence[int]) -> Vocoder:
    """A vocoder with `widths` channels: of the first convolution, then of each stage."""
    queue = iter(statistics)
    everything = np.arange(vocoder.pre.weight.shape[1])
    by_convolution = list(statistics)
    kept = choose(_covariance(by_convolution[1]), widths[0])
    pre_weight, pre_bias = refit(vocoder.pre.weight, vocoder.pre.bias, kept, everything, next(queue))
    stages = []
    position = 1
    for stage, width in zip(vocoder.stages, widths[1:], strict=True):
        inner = [
            _covariance(by_convolution[position + 1 + i]) for i in range(sum(len(block) for block in stage.blocks))
        ]
        chosen = choose(np.sum([c / np.trace(c) for c in inner], axis=0), width)
        up_stats = next(queue)
        # [inputs, outputs, taps] -> the layout of an ordinary convolution, and back.
        weight, bias = refit(
            stage.up.weight.transpose(1, 0, 2), None, chosen, kept, _rescaled(up_stats, position, vocoder)
        )
        blocks = []
        for block in stage.blocks:
            units = []
            for unit in block:
                convs = []
                for conv in unit:
                    w, b = refit(conv.weight, conv.bias, chosen, chosen, next(queue))
                    convs.append(Conv(w, b, conv.dilation))
                units.append(tuple(convs))
            blocks.append(tuple(units))
        # Every phase of the upsampling sums taps / stride products, so that share of the offset reaches each output.
        up = Upsampler(
            weight.transpose(1, 0, 2).copy(),
            (stage.up.bias[chosen] + bias / stage.up.stride).astype(np.float32),
            stage.up.stride,
        )
        stages.append(Stage(up, stage.slope, tuple(blocks)))
        position += 1 + len(inner)
        kept = chosen
    post_weight, post_bias = refit(
        vocoder.post.weight, vocoder.post.bias, np.arange(1), kept, _rescaled(next(queue), position, vocoder)
    )
    return Vocoder(
        Conv(pre_weight, pre_bias, vocoder.pre.dilation),
        tuple(stages),
        Conv(post_weight, post_bias),
        vocoder.post_slope,
        vocoder.block_slope,
    )


def _covariance(stats: Moments) -> NDArray[np.float64]:
    second, mean = stats
    return second - np.outer(mean, mean)


def _rescaled(stats: Moments, position: int, vocoder: Vocoder) -> Moments:
    """The built graph leaves the mean over residual blocks to the next weights: divide its activations by their
    number.
    """
    if position == 1:
        return stats
    count = len(vocoder.stages[0].blocks)
    return stats[0] / count**2, stats[1] / count
