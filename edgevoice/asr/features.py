"""Log-mel features: Whisper's front end made causal, a stream that equals the offline computation bit for bit.

Whisper (Radford et al., 2022) clamps a clip to eight decades below its loudest cell. A stream does not know its loudest
cell yet, so the running maximum since the start of the segment stands in for it, never less than -1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft, sparse

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples

WINDOW = 400
"""Samples of one analysis window (25 ms)."""
HOP = 160
"""Samples from one frame to the next (10 ms)."""
MELS = 80
FRAME_SECONDS = HOP / SAMPLE_RATE
_HALF = WINDOW // 2
_FLOOR = 1e-10
_DECADES = 8.0

Features = NDArray[np.float32]
"""Shape [frames, 80], one frame per 10 ms."""


def _slaney_mel(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mel scale of Slaney's Auditory Toolbox: linear below 1 kHz, logarithmic above."""
    logarithmic = 15.0 + 27.0 * np.log(np.maximum(hertz, 1e-9) / 1000.0) / np.log(6.4)
    return np.where(hertz < 1000.0, hertz * 3.0 / 200.0, logarithmic)


def _slaney_hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mel < 15.0, mel * 200.0 / 3.0, 1000.0 * np.exp((mel - 15.0) * np.log(6.4) / 27.0))


def mel_filters() -> NDArray[np.float32]:
    """Triangular mel filters of equal area, shape [80, 201], float32."""
    bins = np.linspace(0.0, SAMPLE_RATE / 2, WINDOW // 2 + 1)
    low, high = _slaney_mel(np.array([0.0, SAMPLE_RATE / 2]))
    edges = _slaney_hertz(np.linspace(low, high, MELS + 2))
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    triangles = np.clip(np.minimum(rising, falling), 0.0, None)
    return (triangles * (2.0 / (edges[2:] - edges[:-2]))[:, None]).astype(np.float32)


# A sparse product adds the few bins of each filter in a fixed order whatever the number of frames; a dense one (BLAS)
# may order its sums by block size, and then a stream would differ from the offline pass in the last bit.
_FILTERS = sparse.csr_matrix(mel_filters())
_HANN = (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(WINDOW) / WINDOW)).astype(np.float32)


def _log_mel(padded: Samples, frames: int) -> Features:
    """Log10 mel power of the first `frames` windows of `padded`."""
    windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][:frames]
    spectrum = fft.rfft(windows * _HANN, axis=1)
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    mel = _FILTERS @ power.T
    log_mel: Features = np.log10(np.maximum(mel.T, np.float32(_FLOOR))).astype(np.float32)
    return log_mel


def _normalize(log_mel: Features, peak: float) -> tuple[Features, float]:
    """Clamp to eight decades under the running maximum; the features and the maximum after them."""
    if not len(log_mel):
        return log_mel, peak
    peaks = np.maximum.accumulate(np.maximum(log_mel.max(axis=1), np.float32(peak)))
    clamped = np.maximum(log_mel, peaks[:, None] - np.float32(_DECADES))
    return ((clamped + np.float32(4.0)) / np.float32(4.0)).astype(np.float32), float(peaks[-1])


class FeatureStream:
    """Features of a segment whose samples arrive piece by piece.

    Frame t is centred on sample 160 t and needs samples up to 160 t + 200, so it comes 12.5 ms after its centre. The
    start is padded by reflection, as Whisper does; `tail` gives the frames that a reflected end would add.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start a new segment."""
        self._pending: Samples = np.zeros(0, np.float32)
        self._started = False
        self._peak = -1.0

    def accept(self, samples: Samples) -> Features:
        """The frames that became complete with `samples`."""
        self._pending = np.concatenate([self._pending, samples])
        if not self._started:
            if len(self._pending) <= _HALF:
                return np.zeros((0, MELS), np.float32)
            self._pending = np.concatenate([self._pending[_HALF:0:-1], self._pending])
            self._started = True
        frames = (len(self._pending) - WINDOW) // HOP + 1
        if frames <= 0:
            return np.zeros((0, MELS), np.float32)
        features, self._peak = _normalize(_log_mel(self._pending, frames), self._peak)
        self._pending = self._pending[frames * HOP :]
        return features

    def tail(self, silence: int = 0) -> Features:
        """The frames still missing if the segment ended here after `silence` zero samples; the stream is unchanged."""
        pending = np.concatenate([self._pending, np.zeros(silence, np.float32)])
        if not self._started:
            if len(pending) <= _HALF:
                return np.zeros((0, MELS), np.float32)
            pending = np.concatenate([pending[_HALF:0:-1], pending])
        padded = np.concatenate([pending, pending[-2 : -_HALF - 2 : -1]])
        frames = (len(padded) - WINDOW) // HOP  # one less than fit: Whisper drops the last
        return _normalize(_log_mel(padded, max(frames, 0)), self._peak)[0]


def whisper_features(samples: Samples) -> Features:
    """Whisper's own features of a whole clip: eight decades under the loudest cell of all. Shape [len // 160, 80]."""
    if len(samples) <= _HALF:
        return np.zeros((0, MELS), np.float32)
    log_mel = _log_mel(np.pad(samples, _HALF, mode="reflect"), len(samples) // HOP)
    clamped = np.maximum(log_mel, log_mel.max() - np.float32(_DECADES))
    return np.asarray((clamped + np.float32(4.0)) / np.float32(4.0), np.float32)


def features(samples: Samples) -> Features:
    """Features of a whole clip, shape [len(samples) // 160, 80]."""
    stream = FeatureStream()
    return np.concatenate([stream.accept(samples), stream.tail()])
