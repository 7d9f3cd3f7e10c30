"""Does it sound as if the speaker has finished? Read off the encoder's frames of the last seconds before a silence.

People lengthen and lower the end of what they say and break off in the middle of it; a small network hears that in the
frames the recogniser has computed anyway. After the idea of end-of-turn detection on top of a speech encoder (Whisper's in
"Smart Turn", 2025); the network, its training on the segmenter's own pauses (`scripts/asr/turn_end.py`) and the fusion with
the words (`edgevoice.dialog.endpoint`) are ours.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgevoice.errors import ModelDataError
from edgevoice.models import onnx

SPAN = 100
"""Encoder frames (20 ms) that are looked at: the last two seconds, the silence up to now included."""

Frames = NDArray[np.float32]
"""The encoder's frames, shape [n, width], dtype float32."""


class TurnEnd:
    """The network. One thread uses it."""

    def __init__(self, path: Path) -> None:
        """Open the model. Raises ModelMissingError, or ModelDataError (also for another interface)."""
        self._session = onnx.session(path)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if [node.name for node in inputs] != ["frames"] or [node.name for node in outputs] != ["logit"]:
            raise ModelDataError(str(path), "not an end-of-turn model of ours", "see the model card for its interface")
        self.width = int(inputs[0].shape[-1])

    def probability(self, frames: Frames) -> float:
        """Probability in [0, 1] that the turn is over; `frames` are those of the segment up to now."""
        recent = np.ascontiguousarray(frames[-SPAN:])
        if not len(recent):
            return 0.0
        (logit,) = self._session.run(["logit"], {"frames": recent[None]})
        return float(1.0 / (1.0 + np.exp(-float(np.asarray(logit).reshape(())))))
