"""Echo control: the assistant must not hear itself.

`cancel` subtracts what is played from what is heard; the user can interrupt. `half_duplex` hears nothing while it
speaks. `off` does nothing (headset). `auto` starts as `half_duplex`, measures the way from speaker to microphone on
whatever is played first (a chirp, an earcon, the greeting), and then chooses; it goes on watching, so that a headset
pulled out or a moved loudspeaker is noticed.
"""

from __future__ import annotations

import logging
from collections import deque

import numpy as np
import soxr
from numpy.typing import NDArray

from edgevoice.asr.recognizer import SAMPLE_RATE, Samples
from edgevoice.audio.clock import CaptureClock
from edgevoice.audio.echo_canceller import LEAD_S, Canceller, make_canceller
from edgevoice.audio.echo_path import EchoPath, measure
from edgevoice.audio.playback_activity import PlaybackActivity
from edgevoice.audio.timeline import Timeline
from edgevoice.errors import SettingsError, UnavailableError
from edgevoice.messages import Frame
from edgevoice.settings import EchoSettings

log = logging.getLogger(__name__)

MODES = ("auto", "cancel", "half_duplex", "off")
AUDIBLE = 10.0 ** (-60 / 20)
"""Peak above which a played block counts as audible."""
WINDOW_S = 1.2
"""Seconds of sound one measurement of the echo path looks at."""
MEASURE_EVERY_S = 0.3
"""Seconds of audible playback between two measurements."""
LATEST_ECHO_S = 0.5
"""Seconds after which an echo is not looked for any more."""
CLEAR = 7.0
"""Clarity (see `EchoPath`) from which a measurement counts as an echo; without echo 400 windows stayed below 6."""
NO_ECHO_WINDOWS = 8
"""Consecutive measurements without an echo after which `auto` believes in a headset (2.4 s of playback)."""
MIN_ERLE_DB = 15.0
"""Echo return loss enhancement from which the canceller is trusted."""
SAME_PATH_S = 0.01
"""Seconds by which two measurements of the same echo path may differ."""
JITTER_S = 0.03
"""Seconds by which stamps of sound that follows on without a gap may differ from each other."""
PLAYED_PATIENCE = 3
"""Blocks in a row that must be late before the speaker is believed to have run dry."""
ERLE_FRAMES_S = 0.5
"""Seconds of playback over which the enhancement is averaged."""


class EchoControl:
    """Echo control of one microphone and one speaker: `load`; `reference` from the speaker, `process` when listening.

    `reference` may be called from another thread than `process`. Memory is bounded (four seconds of each signal).
    """

    def __init__(self, settings: EchoSettings) -> None:
        if settings.mode not in MODES:
            raise SettingsError(
                "echo.mode", f"`{settings.mode}` is not one of {', '.join(MODES)}", "choose one of them"
            )
        self.settings = settings
        self.path: EchoPath | None = None
        """The last clear measurement of the echo path."""
        self.erle_db = 0.0
        """Echo return loss enhancement over the last half second of playback, in dB (higher is better)."""
        self.reason = "not measured yet"
        self._effective = "half_duplex" if settings.mode == "auto" else settings.mode
        self._converged = False
        self._canceller: Canceller | None = None
        self._played, self._heard = Timeline(jitter_s=JITTER_S), Timeline(jitter_s=JITTER_S)
        self._clock = CaptureClock(PLAYED_PATIENCE)
        self._activity = PlaybackActivity(self._hold(settings.latency_ms / 1000))
        self._resampler: tuple[int, soxr.ResampleStream] | None = None
        self._next_block = 0.0
        self._cursor = 0
        """Sample number (time x 16000) after the last sample of the microphone that was given to the canceller."""
        self._shift = 0.0
        self._audible_s = 0.0
        self._no_echo = 0
        self._moved: EchoPath | None = None
        self._floor_db = -60.0
        self._powers: deque[tuple[float, float]] = deque(maxlen=25)

    @property
    def mode(self) -> str:
        """The mode in effect now: `cancel`, `half_duplex` or `off`."""
        return self._effective

    @property
    def converged(self) -> bool:
        """True once the canceller has shown that it removes the echo; until then playback mutes the microphone."""
        return self._converged

    @property
    def measured(self) -> bool:
        """False while `auto` has yet to hear something played: play the greeting or `echo_path.chirp` then."""
        return self.path is not None or self._no_echo >= NO_ECHO_WINDOWS

    def load(self) -> None:
        """Make the canceller where the mode needs it.

        Raises UnavailableError when `cancel` is demanded and cannot be had; `auto` stays `half_duplex` then.
        """
        if self.settings.mode not in ("auto", "cancel"):
            return
        canceller = make_canceller(self.settings.canceller)
        try:
            canceller.load()
        except UnavailableError as error:
            if self.settings.mode == "cancel":
                raise
            log.warning("%s; the microphone is muted while the assistant speaks", error)
            self.reason = "no echo canceller installed"
            return
        self._canceller = canceller

    def close(self) -> None:
        """Release the canceller."""
        if self._canceller is not None:
            self._canceller.close()
            self._canceller = None

    # --- from the speaker ----------------------------------------------------------------------------------------

    def reference(self, samples: NDArray[np.float32] | NDArray[np.int16], time: float, rate: int = SAMPLE_RATE) -> None:
        """The device got `samples` (mono, float32 in [-1, 1] or int16, at `rate` Hz), the first one at `time` seconds.

        Whether `time` is the moment of writing or the expected moment of sounding does not matter as long as it is the
        same throughout: the delay is measured.
        """
        if self.settings.mode == "off" or len(samples) == 0:
            return
        # A driver's stamps wander by tens of milliseconds while its samples follow each other without a gap. Followed
        # to the letter they would make a moved loudspeaker of every late callback, and the canceller start anew.
        length = len(samples) / rate
        time = self._clock.block(length, time + length) - length
        block = samples.astype(np.float32) / 32768.0 if samples.dtype == np.int16 else samples.astype(np.float32)
        if float(np.max(np.abs(block))) > AUDIBLE:
            self._activity.audible(time, time + len(block) / rate)
        self._played.write(self._resampled(block, rate, time), time)

    def cut(self, time: float) -> None:
        """Playback was cut off at `time`; announced samples after it are never heard."""
        self._activity.cut(time)

    def _resampled(self, block: Samples, rate: int, time: float) -> Samples:
        if rate == SAMPLE_RATE:
            return block
        gap = abs(time - self._next_block) > 0.1
        self._next_block = time + len(block) / rate
        if self._resampler is None or self._resampler[0] != rate or gap:
            self._resampler = (rate, soxr.ResampleStream(rate, SAMPLE_RATE, 1, dtype="float32", quality="MQ"))
        return np.asarray(self._resampler[1].resample_chunk(block), dtype=np.float32)

    # --- from the microphone -------------------------------------------------------------------------------------

    def process(self, frame: Frame) -> Frame:
        """The frame without the assistant's own voice: cancelled, silenced or untouched.

        Frames should be multiples of 10 ms (160 samples) and follow each other.
        """
        if self.settings.mode == "off":
            return frame
        start = frame.time - len(frame.samples) / SAMPLE_RATE
        playing = self._activity.covers(start, frame.time)
        self._heard.write(frame.samples, start)
        self._observe(frame, playing)
        cleaned = frame.samples
        if self._canceller is not None and self._effective != "off":
            reference = self._reference_at(start, len(frame.samples), playing)
            cleaned = self._canceller.process(frame.samples, reference)
            self._judge(frame.samples, cleaned, reference)
        if self._canceller is not None and self._effective == "cancel" and self._converged:
            return Frame(cleaned, frame.time - self._canceller.latency_s)
        if playing and self._effective != "off":
            return Frame(np.zeros_like(frame.samples), frame.time)
        return frame

    def _reference_at(self, start: float, count: int, playing: bool) -> Samples:
        """What was played to be heard from `start` on.

        Frames follow each other without a gap while their stamps jitter. A reference that jittered along would change the
        echo path with every frame: it is read on where the last frame's ended, and put right while nothing is played.
        """
        first = round(start * SAMPLE_RATE)
        if abs(first - self._cursor) <= (JITTER_S if playing else 0.5 * JITTER_S) * SAMPLE_RATE:
            first = self._cursor
        self._cursor = first + count
        return self._played.read_at(first - round(self._shift * SAMPLE_RATE), count)

    def _observe(self, frame: Frame, playing: bool) -> None:
        """Measure the echo path every `MEASURE_EVERY_S` of playback."""
        if not playing:
            level = 10.0 * float(np.log10(float(np.mean(np.square(frame.samples))) + 1e-12))
            self._floor_db += (0.2 if level < self._floor_db else 0.01) * (level - self._floor_db)
            return
        if self._canceller is None:
            return
        self._audible_s += len(frame.samples) / SAMPLE_RATE
        if self._audible_s < MEASURE_EVERY_S:
            return
        self._audible_s = 0.0
        begin, count = frame.time - WINDOW_S, round(WINDOW_S * SAMPLE_RATE)
        path = measure(self._played.read(begin, count), self._heard.read(begin, count), (-0.05, LATEST_ECHO_S))
        if path is None:
            return
        if path.clarity >= CLEAR:
            self._found(path)
        elif self.path is None:
            self._not_found()

    def _found(self, path: EchoPath) -> None:
        self._no_echo = 0
        known = self.path
        if known is None or abs(path.delay_s - LEAD_S - self._shift) > 0.5 * LEAD_S:
            # A user who talks over the voice can look like another path once, but hardly twice in the same place.
            doubted, self._moved = self._moved, path
            if known is not None and (doubted is None or abs(doubted.delay_s - path.delay_s) > SAME_PATH_S):
                return
            self._shift = path.delay_s - LEAD_S
            self._converged = False
            self._powers.clear()
            if self._canceller is not None:
                self._canceller.reset(path.gain_db)
            self._activity.hold_s = self._hold(max(path.delay_s, 0.0))
            log.info("echo path: %.0f ms late, %.0f dB", path.delay_s * 1000, path.gain_db)
        self.path, self._moved = path, None
        if self._effective == "off":
            self._switch("half_duplex", "an echo was found")

    def _not_found(self) -> None:
        self._no_echo += 1
        if self._no_echo >= NO_ECHO_WINDOWS and self.settings.mode == "auto" and self._effective != "off":
            self._switch("off", "nothing of what is played reaches the microphone")

    def _judge(self, before: Samples, after: Samples, reference: Samples) -> None:
        """Does the canceller work? Compare the levels before and after it while something is played."""
        if float(np.max(np.abs(reference))) < AUDIBLE:
            return
        self._powers.append((float(np.mean(np.square(before))), float(np.mean(np.square(after)))))
        if self.path is None or sum(1 for _ in self._powers) * len(before) < ERLE_FRAMES_S * SAMPLE_RATE:
            return
        heard, left = (float(np.mean(column)) + 1e-12 for column in zip(*self._powers, strict=True))
        self.erle_db = 10.0 * float(np.log10(heard / left))
        clean = self.erle_db >= MIN_ERLE_DB or 10.0 * float(np.log10(left)) < self._floor_db + 3.0
        if clean and not self._converged:
            self._converged = True
            if self.settings.mode == "auto":
                self._switch("cancel", f"the canceller removes {self.erle_db:.0f} dB")

    def _switch(self, mode: str, reason: str) -> None:
        if mode != self._effective:
            log.info("echo control: %s -> %s (%s)", self._effective, mode, reason)
        self._effective, self.reason = mode, reason

    def _hold(self, latency_s: float) -> float:
        return latency_s + (self.settings.recognizer_lag_ms + self.settings.tail_ms) / 1000
