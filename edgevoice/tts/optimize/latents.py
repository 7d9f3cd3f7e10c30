"""What a voice's vocoder reads when it says a text."""

from __future__ import annotations

import numpy as np

from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.phonemes import Phonemizer
from edgevoice.tts.vits.runner import SoundStream, VitsRunner


def latents_of(runner: VitsRunner, phonemizer: Phonemizer, text: str, seed: int, speed: float = 1.0) -> Floats:
    """Latents [channels, frames] of a text, with the noise of a seed."""
    ids = np.array(phonemizer.phonemize(text).ids)
    rng = np.random.default_rng(seed)
    encoding = runner.encode(ids, rng.standard_normal((2, len(ids)), dtype=np.float32), speed)
    return np.ascontiguousarray(SoundStream(runner, encoding, rng).latents().T)
