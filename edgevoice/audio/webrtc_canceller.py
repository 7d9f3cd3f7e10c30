"""Echo cancellation with WebRTC's AEC3, through the package `pywebrtc-audio`.

AEC3 silences echo very well, but while both talk it also eats the user's words: docs/room.md has the figures. It is the
better choice for speakers so distorted that a linear filter cannot follow them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.audio.echo_canceller import LEAD_S
from edgevoice.errors import UnavailableError


class WebRtcCanceller:
    """AEC3 behind the canceller contract."""

    latency_s = 0.008

    def __init__(self) -> None:
        self._processor: Any = None

    def load(self) -> None:
        """Make the canceller. Raises UnavailableError when the package is not installed."""
        try:
            from pywebrtc_audio import EchoCanceller
        except ImportError as error:
            raise UnavailableError(
                "echo.canceller = webrtc",
                f"the package pywebrtc-audio cannot be used ({error})",
                "install it (`pip install pywebrtc-audio`) or set echo.canceller to kalman",
            ) from error
        self._processor = EchoCanceller(sample_rate=SAMPLE_RATE, num_channels=1, stream_delay_ms=round(LEAD_S * 1000))

    def process(self, microphone: Samples, reference: Samples) -> Samples:
        """The microphone's block without echo; the last 10 ms are padded when the length is no multiple of 160."""
        near = np.ascontiguousarray(microphone, dtype=np.float32)
        far = np.ascontiguousarray(reference, dtype=np.float32)
        return np.asarray(self._processor.process(near, far), dtype=np.float32)

    def reset(self, gain_db: float) -> None:
        """Forget the echo path."""
        if self._processor is not None:
            self._processor.reset()

    def close(self) -> None:
        """Release the canceller's memory."""
        self._processor = None
