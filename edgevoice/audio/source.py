"""What every source of sound looks like: the microphone and sound files are the same to the rest of the assistant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from edgevoice.messages import Frame


class Source(Protocol):
    """A stream of frames. `open` and `frames` are called by one thread, `close` by any."""

    live: bool
    """True for a device, whose sound is lost when nobody takes it; False for a file, which can wait."""

    waiting_for: str
    """The device that is waited for, in words; empty while it is open, and always for a file."""

    @property
    def missed(self) -> int:
        """Blocks of sound that were lost because `frames` was not asked for them in time; always 0 for a file."""

    def open(self, wait_s: float = 0.0) -> None:
        """Get hold of the device or file. Raises DeviceError, InputMissingError or AudioDataError."""

    def frames(self) -> Iterator[Frame]:
        """Frames as they are captured; ends when the source is exhausted or closed."""

    def close(self) -> None:
        """End `frames` at once and let go of the device or file."""
