"""What a smaller last stage is taught with: the voice's own sound, and what the last stage of the original read for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgevoice.errors import UsageError
from edgevoice.models.onnx import session_of
from edgevoice.tts.optimize.latents import latents_of
from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.phonemes import Phonemizer
from edgevoice.tts.vits.quantized import convolutions, whole
from edgevoice.tts.vits.runner import VitsRunner
from edgevoice.tts.vits.vocoder import Vocoder
from edgevoice.tts.vits.vocoder_graph import build

SPEEDS = (0.85, 1.0, 1.0, 1.0, 1.15)
"""How fast the texts are said, against the voice's own pace."""
LEAST_FRAMES = 20


@dataclass(frozen=True)
class Material:
    """All sentences end to end. Memory-mapped: an hour is 3 GB."""

    inputs: NDArray[np.float16]
    """[frames * rate, channels]: what the last stage reads, after its leaky ReLU."""
    sound: NDArray[np.float32]
    """[frames * hop]."""
    lengths: NDArray[np.int64]
    """Latent frames of each sentence."""

    def piece(self, sentence: int, start: int, frames: int) -> tuple[Floats, Floats]:
        """(inputs [channels, n], sound [samples]) of some latent frames of a sentence."""
        total = int(self.lengths.sum())
        rate, hop = len(self.inputs) // total, len(self.sound) // total
        first = int(self.lengths[:sentence].sum()) + start
        inputs = self.inputs[first * rate : (first + frames) * rate].astype(np.float32).T
        return np.ascontiguousarray(inputs), np.asarray(self.sound[first * hop : (first + frames) * hop])


def record(
    runner: VitsRunner,
    phonemizer: Phonemizer,
    original: Vocoder,
    texts: Iterable[str],
    seconds: float,
    folder: Path,
    report: Callable[[str], None] = print,
) -> Material:
    """Let the voice say the texts, in `folder`, until there are so many seconds. Raises UsageError if there is too little."""
    rate_hz = runner.voice.config.sample_rate
    session = session_of(build(original, expose=True))
    name = f"in{1 + sum(1 + convolutions(stage) for stage in original.stages[:-1])}"
    lengths: list[int] = []
    dice = random.Random(0)
    with (folder / "inputs").open("wb") as inputs_file, (folder / "sound").open("wb") as sound_file:
        for seed, text in enumerate(texts):
            if sum(lengths) * original.hop >= seconds * rate_hz:
                break
            latents = latents_of(runner, phonemizer, text, seed, dice.choice(SPEEDS))
            if latents.shape[1] < LEAST_FRAMES:
                continue
            inputs, sound = _heard(session, name, latents, original)
            inputs_file.write(inputs.astype(np.float16).tobytes())
            sound_file.write(sound.tobytes())
            lengths.append(latents.shape[1])
            if seed % 100 == 0:
                report(f"{sum(lengths) * original.hop / rate_hz:.0f} of {seconds:.0f} s recorded")
    if len(lengths) < 8:
        raise UsageError("--text", f"gives {len(lengths)} sentences of use", "give a file with hundreds, one a line")
    channels = original.stages[-1].up.weight.shape[0]
    return Material(
        np.memmap(folder / "inputs", np.float16, "r").reshape(-1, channels),
        np.memmap(folder / "sound", np.float32, "r"),
        np.array(lengths),
    )


def _heard(session: Any, name: str, latents: Floats, original: Vocoder) -> tuple[Floats, Floats]:
    """([n, channels], [samples])."""
    inputs, sound = session.run([name, "sound"], whole(latents))
    stage = original.stages[-1]
    # Zeros that stand for what lies beyond the clause; and the graph leaves the mean over the blocks to the next weights.
    added = stage.up.taps - 1
    inside = inputs[0, :, 0, added : inputs.shape[3] - added].T / len(original.stages[-2].blocks)
    return inside, sound.reshape(-1).astype(np.float32)
