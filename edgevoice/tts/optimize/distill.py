"""Distillation of a pruned vocoder: it learns to make the very sound of the original from the same latents.

Because the original vocoder is a deterministic function of its latents, the student has an exact target: no adversary
is needed, a multi-resolution STFT loss (R. Yamamoto, E. Song, J. Kim: Parallel WaveGAN, 2020) plus the waveform itself
suffices. Needs PyTorch, which the product itself does not.
"""

# mypy: ignore-errors
# PyTorch is not part of the product and not there when its types are checked.

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor, nn

from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.vocoder import Conv, Stage, Upsampler, Vocoder

Batch = tuple[Floats, Floats]
"""Latents [batch, channels, frames] and the original's sound [batch, frames * hop]."""


@dataclass(frozen=True)
class Plan:
    """How long and how to train."""

    seconds: float = 900.0
    """Wall time."""
    rate: float = 1e-3
    """Peak learning rate; cosine decay to a fiftieth over the given time."""
    batch: int = 6
    frames: int = 96
    """Latent frames of one training piece."""
    threads: int = 1
    half: bool = True
    """bfloat16 convolutions."""


class Student(nn.Module):
    """The generator with trainable weights, starting from those of `vocoder`."""

    def __init__(self, vocoder: Vocoder) -> None:
        super().__init__()
        self.template = vocoder
        self.pre = _conv(vocoder.pre)
        self.ups = nn.ModuleList()
        self.blocks = nn.ModuleList()
        for stage in vocoder.stages:
            inputs, outputs, taps = stage.up.weight.shape
            up = nn.ConvTranspose2d(
                inputs, outputs, (1, taps), (1, stage.up.stride), (0, (taps - stage.up.stride) // 2)
            )
            _load(up, stage.up.weight, stage.up.bias)
            self.ups.append(up)
            self.blocks.append(
                nn.ModuleList(nn.ModuleList(nn.ModuleList(_conv(c) for c in u) for u in b) for b in stage.blocks)
            )
        self.post = _conv(vocoder.post)

    def forward(self, latents: Tensor) -> Tensor:
        """[batch, channels, 1, frames] -> [batch, samples]."""
        slope = self.template.block_slope
        x: Tensor = self.pre(latents)
        for stage, up, blocks in zip(self.template.stages, self.ups, self.blocks, strict=True):
            x = up(nnf.leaky_relu(x, stage.slope))
            ends = []
            for block in blocks:
                y = x
                for unit in block:
                    inner = y
                    for conv in unit:
                        inner = conv(nnf.leaky_relu(inner, slope))
                    y = inner + y
                ends.append(y)
            x = sum(ends[1:], ends[0]) / len(ends)
        x = self.post(nnf.leaky_relu(x, self.template.post_slope))
        return torch.tanh(x.float())[:, 0, 0]

    def export(self) -> Vocoder:
        """The weights as plain arrays."""
        template = self.template
        stages = []
        for stage, up, blocks in zip(template.stages, self.ups, self.blocks, strict=True):
            convs = tuple(
                tuple(tuple(_export(*pair) for pair in zip(*unit, strict=True)) for unit in zip(*block, strict=True))
                for block in zip(blocks, stage.blocks, strict=True)
            )
            weight, bias = _arrays(up)
            assert bias is not None
            stages.append(Stage(Upsampler(weight, bias, stage.up.stride), stage.slope, convs))
        return Vocoder(
            _export(self.pre, template.pre),
            tuple(stages),
            _export(self.post, template.post),
            template.post_slope,
            template.block_slope,
        )


def _conv(conv: Conv) -> nn.Conv2d:
    outputs, inputs, taps = conv.weight.shape
    layer = nn.Conv2d(inputs, outputs, (1, taps), padding=(0, conv.reach), dilation=(1, conv.dilation))
    _load(layer, conv.weight, np.zeros(outputs, np.float32) if conv.bias is None else conv.bias)
    return layer


def _load(layer: nn.Conv2d | nn.ConvTranspose2d, weight: Floats, bias: Floats) -> None:
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight[:, :, None, :].copy()))
        assert layer.bias is not None
        layer.bias.copy_(torch.from_numpy(bias.copy()))


def _arrays(layer: nn.Module) -> tuple[Floats, Floats | None]:
    weight = layer.weight.detach().contiguous().numpy()[:, :, 0, :].copy()
    bias = None if layer.bias is None else layer.bias.detach().numpy().copy()
    return weight, bias


def _export(layer: nn.Module, conv: Conv) -> Conv:
    weight, bias = _arrays(layer)
    return Conv(weight, bias, conv.dilation)


class SpectralLoss(nn.Module):
    """Distance of short-time spectra at several resolutions: log magnitude (L1) and spectral convergence."""

    def __init__(self, sizes: Sequence[int] = (256, 512, 1024, 2048)) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.windows = nn.ParameterList(nn.Parameter(torch.hann_window(size), requires_grad=False) for size in sizes)

    def forward(self, made: Tensor, wanted: Tensor) -> Tensor:
        """Two sounds [batch, samples] -> scalar."""
        total = made.new_zeros(())
        for size, window in zip(self.sizes, self.windows, strict=True):
            a, b = (
                torch.stft(x, size, size // 4, window=window, return_complex=True, center=False).abs().clamp_min(1e-4)
                for x in (made, wanted)
            )
            total = total + (a.log() - b.log()).abs().mean() + torch.linalg.norm(a - b) / torch.linalg.norm(b)
        return total / len(self.sizes)


def pieces(
    latents: Floats, sound: Floats, lengths: Sequence[int], plan: Plan, hop: int, seed: int = 0
) -> Iterator[Batch]:
    """Endless random training pieces. `latents` [frames, channels] and `sound` [frames * hop] are all sentences end
    to end.
    """
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    usable = [i for i, n in enumerate(lengths) if n > plan.frames]
    weights = np.array([lengths[i] for i in usable], float)
    weights /= weights.sum()
    while True:
        z, y = [], []
        for i in rng.choice(usable, plan.batch, p=weights):
            first = starts[i] + rng.integers(0, lengths[i] - plan.frames)
            z.append(latents[first : first + plan.frames].T)
            y.append(sound[first * hop : (first + plan.frames) * hop])
        yield np.stack(z).astype(np.float32), np.stack(y).astype(np.float32)


def distill(
    student: Student, batches: Iterator[Batch], reach: int, hop: int, plan: Plan, report: Callable[[str], None] = print
) -> Student:
    """Train in place for `plan.seconds`. Edges of a piece that lack context (`reach` frames) do not count."""
    torch.set_num_threads(plan.threads)
    student.to(memory_format=torch.channels_last)
    loss_of = SpectralLoss()
    optimizer = torch.optim.AdamW(student.parameters(), plan.rate, betas=(0.8, 0.99), weight_decay=0.0)
    averaged = {name: value.detach().clone() for name, value in student.named_parameters()}
    start, step = time.monotonic(), 0
    edge = reach * hop
    while (spent := (time.monotonic() - start) / plan.seconds) < 1:
        warm = min(1.0, (step + 1) / 50)
        for group in optimizer.param_groups:
            group["lr"] = plan.rate * warm * (0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * spent)))
        z, y = next(batches)
        wanted = torch.from_numpy(y)[:, edge:-edge]
        with torch.autocast("cpu", torch.bfloat16, enabled=plan.half):
            made = student(torch.from_numpy(z)[:, :, None, :].to(memory_format=torch.channels_last))[:, edge:-edge]
        spectral = loss_of(made, wanted)
        waveform = (made - wanted).abs().mean() / wanted.abs().mean()
        loss = spectral + waveform
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 5.0)
        optimizer.step()
        step += 1
        keep = min(0.998, step / (step + 10))
        with torch.no_grad():
            for name, value in student.named_parameters():
                averaged[name].lerp_(value, 1 - keep)
        if step % 50 == 0:
            spent_s = time.monotonic() - start
            report(f"step {step} {spent_s:.0f} s spectral {spectral.item():.3f} waveform {waveform.item():.3f}")
    with torch.no_grad():
        for name, value in student.named_parameters():
            value.copy_(averaged[name])
    return student
