"""Earcons: short tones instead of words. Computed at load, so that no sound files are needed.

Two partials an octave apart with a soft attack and an exponential decay: recognisers and speech detectors find nothing
in them (tested), people hear a small bell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.16
"""Peak, about -16 dBFS: quieter than the voice."""
MOST_S = 0.2
"""Longest earcon in seconds."""
TONES: dict[str, tuple[float, ...]] = {
    "listening": (784.0, 1175.0),
    "done": (1175.0, 784.0),
    "error": (784.0, 740.0),
}
"""Name -> Hz of its notes; rising: go ahead, falling: done, close together: something went wrong."""


def earcon(name: str, rate: int) -> NDArray[np.int16]:
    """The tone called `name` (a key of `TONES`, else KeyError): int16 mono at `rate` Hz, at most `MOST_S` seconds."""
    notes = TONES[name]
    count = int(MOST_S * rate) // len(notes)
    parts = [_note(hertz, count, rate) for hertz in notes]
    return np.asarray(np.rint(np.concatenate(parts) * 32767), dtype=np.int16)


def _note(hertz: float, count: int, rate: int) -> NDArray[np.float64]:
    time = np.arange(count) / rate
    length = count / rate
    tone = np.sin(2 * np.pi * hertz * time) + 0.3 * np.sin(4 * np.pi * hertz * time)
    edge = max(1, round(0.008 * rate))
    envelope = np.exp(-3.0 * time / length)
    envelope[:edge] *= np.linspace(0.0, 1.0, edge)
    envelope[-edge:] *= np.linspace(1.0, 0.0, edge)
    return np.asarray(LEVEL / 1.3 * tone * envelope)
