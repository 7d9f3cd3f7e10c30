"""What happens to the microphone's sound before speech is looked for: echo control, wake word, talk key."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgevoice.audio.echo import EchoControl
from edgevoice.audio.gates import TalkKeyGate, WakeGate
from edgevoice.audio.listen import Gate
from edgevoice.audio.ptt import PushToTalk
from edgevoice.audio.wake import make_wake_word
from edgevoice.settings import Settings


class Hearing:
    """Echo control and the gate that the settings ask for. `follow_up(time)`: does speech count without a wake word."""

    def __init__(
        self, settings: Settings, follow_up: Callable[[float], bool], on_wake: Callable[[float], None]
    ) -> None:
        self.echo = EchoControl(settings.echo)
        self.talk_key = PushToTalk() if settings.wake.push_to_talk else None
        self.gate: Gate | None = None
        self._wake = make_wake_word(settings.wake)
        if self.talk_key is not None:
            self.gate = TalkKeyGate(self.talk_key)
        elif self._wake is not None:
            self.gate = WakeGate(
                self._wake, follow_up, settings.endpoint.no_input_s, lambda detection, time: on_wake(time)
            )

    def load(self) -> None:
        """Load the canceller and the wake word. Raises ModelMissingError, UnavailableError, SettingsError."""
        self.echo.load()
        if self._wake is not None:
            self._wake.load()
            self._wake.warm()

    def close(self) -> None:
        """Release them."""
        self.echo.close()
        if self._wake is not None:
            self._wake.close()

    def played(self, samples: NDArray[np.float32], time: float, rate: int) -> None:
        """The speaker's tap: what goes to the device, the first sample at `time`."""
        self.echo.reference(samples, time, rate)
