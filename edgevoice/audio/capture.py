"""The capture thread: pulls frames from the source (which may wait for a device) into the frames queue."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from edgevoice.audio.source import Source
from edgevoice.errors import EdgeVoiceError, InternalError
from edgevoice.messages import Captured, SourceEnded
from edgevoice.runtime.queues import BoundedQueue, Closed, Overflow

log = logging.getLogger(__name__)


class Capture:
    """Owns the source. When a file is exhausted or a device is lost for good, `on_ended` is called (with the error),
    and then `SourceEnded` follows the last frame.
    """

    name = "capture"

    def __init__(
        self, source: Source, frames: BoundedQueue[Captured], on_ended: Callable[[EdgeVoiceError | None], None]
    ) -> None:
        self.source, self.frames = source, frames
        self.heartbeat = time.monotonic()
        self.last_frame = float("-inf")
        """Monotonic time of the last frame; -inf before the first."""
        self.heard = threading.Event()
        """Set with the first frame."""
        self._on_ended = on_ended
        self._thread = threading.Thread(target=self._run, name=self.name)
        self._stopping = threading.Event()

    @property
    def waiting_for(self) -> str:
        """The device that is waited for, in words; empty while it is open."""
        return self.source.waiting_for

    def start(self) -> None:
        """Start pulling; the source is open already."""
        self._thread.start()

    def stop(self) -> None:
        """Close the source and end the thread; does not wait."""
        self._stopping.set()
        self.source.close()

    def join(self, timeout: float) -> bool:
        """Wait for the thread; True if it has ended."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        error: EdgeVoiceError | None = None
        try:
            for frame in self.source.frames():
                self.heartbeat = self.last_frame = time.monotonic()
                self.heard.set()
                self._put(frame)
                if self._stopping.is_set():
                    return
        except Closed:
            return
        except EdgeVoiceError as caught:
            error = caught
        except Exception as caught:
            log.exception("%s died", self.name)
            error = InternalError(self.name, f"died of {type(caught).__name__}", "see the log")
        if not self._stopping.is_set():
            self._on_ended(error)
            with suppress(Closed):
                self._put(SourceEnded())

    def _put(self, item: Captured) -> None:
        """A file waits until its frame is taken; what a device says meanwhile is lost, and the queue counts it."""
        may_be_lost = self.frames.overflow is Overflow.DROP_NEWEST
        while not self.frames.put(item, timeout=0.2) and not may_be_lost and not self._stopping.is_set():
            self.heartbeat = time.monotonic()
