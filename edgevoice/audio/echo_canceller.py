"""The canceller contract, and the two that keep it: `kalman` (ours) and `webrtc` (AEC3)."""

from __future__ import annotations

from typing import Protocol

from edgevoice.asr.recognizer import Samples

LEAD_S = 0.04
"""Seconds the reference runs ahead of its echo: the path stays causal for the canceller even when stamps jitter."""


class Canceller(Protocol):
    """Removes from the microphone what the speaker plays. 16 kHz mono float32; one thread uses it."""

    latency_s: float
    """Seconds the output lags behind the input."""

    def load(self) -> None:
        """Make the canceller. Raises UnavailableError when its package is not installed."""

    def process(self, microphone: Samples, reference: Samples) -> Samples:
        """The microphone's block without echo. Both have the same length, a multiple of 160 (10 ms)."""

    def reset(self, gain_db: float) -> None:
        """Forget the echo path; the new one is about `gain_db` loud."""

    def close(self) -> None:
        """Release the canceller's memory."""


def make_canceller(name: str) -> Canceller:
    """The canceller called `name`, not loaded yet."""
    if name == "webrtc":
        from edgevoice.audio.webrtc_canceller import WebRtcCanceller

        return WebRtcCanceller()
    from edgevoice.audio.kalman_canceller import KalmanCanceller

    return KalmanCanceller()
