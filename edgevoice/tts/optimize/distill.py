"""Distillation of a vocoder's last stage: half as many channels learn to make the very sound of the original.

The last stage works at the highest sampling rate and costs a third of the vocoder; INT8 is heard there, so fewer channels are
what helps. What it reads is kept as the original makes it. Because the original is a deterministic function of that, the
student has an exact target: no adversary is needed, a multi-resolution STFT loss (R. Yamamoto, E. Song, J. Kim: Parallel
WaveGAN, 2020) and a little of the waveform itself suffice. It begins with the least-squares pruned stage, whose
residual blocks get one more convolution each. Needs PyTorch, which the product itself does not.
"""

# mypy: ignore-errors
# PyTorch is not part of the product and not there when its types are checked.

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor, nn

from edgevoice.tts.optimize.teaching import Material
from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.vocoder import Conv, Stage, Upsampler, Vocoder


@dataclass(frozen=True)
class Plan:
    """How long and how to train."""

    seconds: float = 1800.0
    """Wall time."""
    steps: int = 0
    """Steps, in the place of the time; 0: the time counts."""
    rate: float = 2e-3
    """Peak learning rate; cosine decay to a hundredth over the time or the steps."""
    batch: int = 12
    frames: int = 48
    """Latent frames of one training piece."""
    sizes: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048)
    """Windows of the spectral loss in samples. The short ones see that the hiss between two pulses of the voice is
    there, without which it sounds pressed."""
    convergence: float = 0.5
    """Weight of the spectral convergence beside the log magnitudes."""
    waveform: float = 0.3
    """Weight of the waveform's error."""
    level: float = 0.5
    """Weight of the distance of the levels (`LevelLoss`)."""
    bias: float = 2.0
    """Weight of their mean difference."""
    levels_from: float = 0.6
    """Share of the training after which levels count: before, they are in the way of the rest."""
    edge: int = 64
    """Samples at both ends of a piece that lack context and do not count."""
    threads: int = 1
    half: bool = True
    """bfloat16 convolutions."""


class LastStage(nn.Module):
    """The last upsampling, its residual blocks and the last convolution, with trainable weights."""

    def __init__(self, vocoder: Vocoder, more: int = 1) -> None:
        """Starts as those of `vocoder`; `more` convolutions (as yet without effect) are added to each residual block."""
        super().__init__()
        stage = vocoder.stages[-1]
        inputs, outputs, taps = stage.up.weight.shape
        self.template = vocoder
        self.up = nn.ConvTranspose2d(
            inputs, outputs, (1, taps), (1, stage.up.stride), (0, (taps - stage.up.stride) // 2)
        )
        _load(self.up, stage.up.weight, stage.up.bias)
        self.blocks = nn.ModuleList()
        for block in stage.blocks:
            units = [[_layer(conv) for conv in unit] for unit in block]
            silent = Conv(np.zeros_like(block[0][0].weight), None, 1)
            units += [[_layer(silent)] for _ in range(more)]
            self.blocks.append(nn.ModuleList(nn.ModuleList(unit) for unit in units))
        self.post = _layer(vocoder.post)

    def forward(self, x: Tensor) -> Tensor:
        """What the stage reads (after its leaky ReLU), [batch, channels, 1, n] -> sound [batch, n * stride]."""
        slope = self.template.block_slope
        x = self.up(x)
        ends = []
        for block in self.blocks:
            y = x
            for unit in block:
                inner = y
                for conv in unit:
                    inner = conv(nnf.leaky_relu(inner, slope))
                y = inner + y
            ends.append(y)
        x = self.post(nnf.leaky_relu(sum(ends[1:], ends[0]) / len(ends), self.template.post_slope))
        return torch.tanh(x.float())[:, 0, 0]

    def vocoder(self) -> Vocoder:
        """The whole generator with this last stage, as plain arrays."""
        template = self.template
        last = template.stages[-1]
        blocks = tuple(tuple(tuple(_conv(layer) for layer in unit) for unit in block) for block in self.blocks)
        weight, bias = _arrays(self.up)
        stage = Stage(Upsampler(weight, bias, last.up.stride), last.slope, blocks)
        return replace(template, stages=(*template.stages[:-1], stage), post=_conv(self.post))


def _layer(conv: Conv) -> nn.Conv2d:
    outputs, inputs, taps = conv.weight.shape
    layer = nn.Conv2d(inputs, outputs, (1, taps), padding=(0, conv.reach), dilation=(1, conv.dilation))
    _load(layer, conv.weight, np.zeros(outputs, np.float32) if conv.bias is None else conv.bias)
    return layer


def _load(layer: nn.Module, weight: Floats, bias: Floats) -> None:
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight[:, :, None, :].copy()))
        layer.bias.copy_(torch.from_numpy(bias.copy()))


def _arrays(layer: nn.Module) -> tuple[Floats, Floats]:
    return layer.weight.detach().contiguous().numpy()[:, :, 0, :].copy(), layer.bias.detach().numpy().copy()


def _conv(layer: nn.Conv2d) -> Conv:
    return Conv(*_arrays(layer), layer.dilation[1])


class SpectralLoss(nn.Module):
    """Distance of short-time spectra at several resolutions: (mean log-magnitude difference, spectral convergence)."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.windows = nn.ParameterList(nn.Parameter(torch.hann_window(size), requires_grad=False) for size in sizes)

    def forward(self, made: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """Two sounds [batch, samples]."""
        logs, convergence = made.new_zeros(()), made.new_zeros(())
        for size, window in zip(self.sizes, self.windows, strict=True):
            # The level below which differences are silence grows with the window as the level of noise does.
            floor = 1e-4 * math.sqrt(size / 1024)
            a, b = (
                torch.stft(x, size, size // 4, window=window, return_complex=True, center=False).abs().clamp_min(floor)
                for x in (made, wanted)
            )
            logs = logs + (a.log() - b.log()).abs().mean()
            convergence = convergence + torch.linalg.norm(a - b) / torch.linalg.norm(b)
        return logs / len(self.sizes), convergence / len(self.sizes)


class LevelLoss(nn.Module):
    """How loud the finest detail is from moment to moment: log energy of the second difference.

    A spectral loss leaves the hiss between the pulses of the voice a little too low, which makes the pulses stand out.
    """

    def __init__(self, sizes: Sequence[int] = (11, 44, 220)) -> None:
        """`sizes` are windows in samples."""
        super().__init__()
        self.sizes = tuple(sizes)

    def forward(self, made: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        """(mean distance, distance of the means over the louder half) of two sounds [batch, samples], natural logarithms."""
        distance, bias = made.new_zeros(()), made.new_zeros(())
        for size in self.sizes:
            a, b = (nnf.avg_pool1d(_bend(x).square()[:, None], size, size // 2).clamp_min(1e-9) for x in (made, wanted))
            difference = a.log() - b.log()
            distance = distance + difference.abs().mean()
            bias = bias + (difference * (b > b.median(dim=2, keepdim=True).values)).mean().abs()
        return distance / len(self.sizes), bias / len(self.sizes)


def _bend(sound: Tensor) -> Tensor:
    return sound[:, 2:] - 2 * sound[:, 1:-1] + sound[:, :-2]


def pieces(material: Material, plan: Plan, seed: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless random pieces of the material: (inputs [batch, channels, 1, n], sound [batch, samples])."""
    rng = np.random.default_rng(seed)
    usable = np.flatnonzero(material.lengths > plan.frames)
    weights = material.lengths[usable] / material.lengths[usable].sum()
    while True:
        chosen = rng.choice(usable, plan.batch, p=weights)
        starts = [int(rng.integers(0, material.lengths[i] - plan.frames + 1)) for i in chosen]
        cut = [material.piece(int(i), start, plan.frames) for i, start in zip(chosen, starts, strict=True)]
        inputs, sound = (np.stack(arrays) for arrays in zip(*cut, strict=True))
        yield torch.from_numpy(inputs)[:, :, None], torch.from_numpy(sound)


def distill(student: LastStage, material: Material, plan: Plan, report: Callable[[str], None] = print) -> LastStage:
    """Train in place for `plan.seconds`; what is left is a running average of the weights."""
    torch.set_num_threads(plan.threads)
    student.to(memory_format=torch.channels_last)
    distance, level_of = SpectralLoss(plan.sizes), LevelLoss()
    optimizer = torch.optim.AdamW(student.parameters(), plan.rate, betas=(0.8, 0.99), weight_decay=0.0)
    averaged = {name: value.detach().clone() for name, value in student.named_parameters()}
    inside = slice(plan.edge, -plan.edge)
    begun = time.monotonic()
    for step, (inputs, sound) in enumerate(pieces(material, plan), start=1):
        spent = (step - 1) / plan.steps if plan.steps else (time.monotonic() - begun) / plan.seconds
        if spent >= 1:
            break
        for group in optimizer.param_groups:
            warm = min(1.0, step / 100)
            group["lr"] = plan.rate * warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * spent)))
        with torch.autocast("cpu", torch.bfloat16, enabled=plan.half):
            made = student(inputs.to(memory_format=torch.channels_last))
        made, wanted = made[:, inside], sound[:, inside]
        logs, convergence = distance(made, wanted)
        waveform = (made - wanted).abs().mean() / wanted.abs().mean()
        levels, bias = level_of(made, wanted)
        spectral = logs + plan.convergence * convergence
        late = min(1.0, max(0.0, (spent - plan.levels_from) / 0.1))
        loss = spectral + plan.waveform * waveform + late * (plan.level * levels + plan.bias * bias)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 5.0)
        optimizer.step()
        keep = min(0.999, step / (step + 10))
        with torch.no_grad():
            for name, value in student.named_parameters():
                averaged[name].lerp_(value, 1 - keep)
        if step % 200 == 0:
            report(f"{step} steps, {spent:.0%}: log spectrum {logs.item():.3f}, waveform {waveform.item():.3f}")
    with torch.no_grad():
        for name, value in student.named_parameters():
            value.copy_(averaged[name])
    return student
