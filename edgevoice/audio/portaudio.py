"""PortAudio of this process: opening streams by device name, and seeing devices that were plugged in later.

PortAudio lists devices once, when it is initialised, and its functions are not thread-safe. So everything goes through
one lock here, and a new list means: close every stream, terminate, initialise, open every stream again.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from edgevoice.errors import DeviceError

log = logging.getLogger(__name__)

INVALID_DEVICE, INVALID_RATE, INVALID_CHANNELS, FORMAT_UNSUPPORTED = -9996, -9997, -9998, -9994
FORMAT_ERRORS = (INVALID_RATE, INVALID_CHANNELS, FORMAT_UNSUPPORTED)
"""PortAudio's answers to a format the device does not offer."""
RATES = (48_000, 44_100)
"""Hz tried after the wanted rate and the device's own."""
RESTART = "restart the sound server; see `edgevoice doctor`"
"""What a user can do when PortAudio itself fails."""


class Endpoint(Protocol):
    """A stream that survives a new device list."""

    def suspend(self) -> None:
        """Close the stream, keep everything else. Called with the lock held."""

    def restore(self) -> None:
        """Open the stream again; failing is logged, never raised. Called with the lock held."""


lock = threading.RLock()
"""Held around every call of PortAudio that opens, closes or lists."""
_endpoints: list[Endpoint] = []


def register(endpoint: Endpoint) -> None:
    """From now on `endpoint` takes part in `rescan`."""
    with lock:
        if endpoint not in _endpoints:
            _endpoints.append(endpoint)


def unregister(endpoint: Endpoint) -> None:
    """`endpoint` is closed for good."""
    with lock:
        if endpoint in _endpoints:
            _endpoints.remove(endpoint)


def library() -> Any:
    """The module `sounddevice`. Raises DeviceError when PortAudio is not installed or cannot be initialised."""
    with lock:
        _silence_alsa()
        try:
            with quiet_stderr():
                import sounddevice
        except OSError as error:
            raise DeviceError("PortAudio", "is not installed", "install it: apt install libportaudio2") from error
        except Exception as error:  # Importing initialises; the class of that error is in the module that failed.
            raise DeviceError("PortAudio", f"cannot be initialised ({error})", RESTART) from error
        return sounddevice


def rescan() -> None:
    """Make PortAudio list its devices anew. Streams of registered endpoints fall silent for some 10 ms."""
    with lock:
        sd = library()
        for endpoint in _endpoints:
            endpoint.suspend()
        # When initialising failed the last time there is nothing to terminate, but still something to initialise.
        with suppress(sd.PortAudioError), quiet_stderr():
            sd._terminate()
        try:
            with quiet_stderr():
                sd._initialize()
        except sd.PortAudioError as error:
            log.warning("PortAudio cannot be initialised: %s", error)
        for endpoint in _endpoints:
            endpoint.restore()


@contextmanager
def asking() -> Iterator[Any]:
    """The module `sounddevice`, to ask it about devices. Raises DeviceError, also for what PortAudio refuses within."""
    with lock:
        sd = library()
        try:
            yield sd
        except sd.PortAudioError as error:
            raise DeviceError("PortAudio", f"cannot tell about devices ({error.args[0]})", RESTART) from error


@contextmanager
def routed(pulse_source: str = "", pulse_sink: str = "") -> Iterator[None]:
    """Within the block a stream to PulseAudio goes to this source or sink instead of the server's default.

    ALSA's `pulse` device takes no name; the client library reads these variables when the stream connects.
    """
    wanted = {"PULSE_SOURCE": pulse_source, "PULSE_SINK": pulse_sink}
    with lock:
        before = {key: os.environ.get(key) for key in wanted}
        os.environ.update({key: value for key, value in wanted.items() if value})
        try:
            yield
        finally:
            for key, value in before.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """PortAudio writes its internal assertions to descriptor 2; they would be noise between our own messages."""
    try:
        saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    except OSError:
        yield
        return
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


def error_code(error: BaseException) -> int:
    """PortAudio's number of an error; 0 if it has none."""
    return error.args[1] if len(error.args) > 1 and isinstance(error.args[1], int) else 0


class BusyError(DeviceError):
    """The device is there but cannot be opened now; usually somebody else holds it."""


def open_error(name: str, error: Exception | None) -> DeviceError:
    """What PortAudio's refusal to open the device `name` means."""
    code = error_code(error) if error else 0
    text = str(error.args[0]) if error and error.args else "unknown reason"
    if code in FORMAT_ERRORS:
        return DeviceError(name, f"refuses every format that was tried ({text})", "see `edgevoice devices` for others")
    if code == INVALID_DEVICE:
        return DeviceError(name, f"is gone ({text})", "plug it in again")
    return BusyError(
        name, f"cannot be opened ({text})", "close the program that holds it, or go through PulseAudio or PipeWire"
    )


def index_of(name: str, kind: str) -> int:
    """PortAudio's present index of the device with this exact name. Raises DeviceError."""
    with asking() as sd:
        entries = sd.query_devices()
    for entry in entries:
        if entry["name"] == name and entry[f"max_{kind}_channels"] > 0:
            return int(entry["index"])
    raise DeviceError(name, "is not in PortAudio's list", "plug it in, or see `edgevoice devices`")


def formats(index: int, kind: str, wanted: int, channels: int = 1) -> list[tuple[int, int]]:
    """(rate in Hz, channels) to try in this order: as wanted, what the device says of itself, the usual ones.

    Raises DeviceError when the device is gone.
    """
    with asking() as sd:
        entry = sd.query_devices(index)
    own, most = int(entry["default_samplerate"]), int(entry[f"max_{kind}_channels"])
    counts = [count for count in dict.fromkeys((channels, 2, min(most, 8))) if count <= most]
    rates = dict.fromkeys((wanted, own, *RATES, 16_000))
    return [(rate, count) for rate in rates for count in counts]


_HANDLER_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)
_handler: Any = None


def _silence_alsa() -> None:
    """ALSA reports every device it merely tries on stderr; the errors that matter reach us through PortAudio."""
    global _handler
    if _handler is not None:
        return
    _handler = _HANDLER_TYPE(lambda *_: None)
    with suppress(OSError, AttributeError):  # No ALSA here: nothing to silence.
        ctypes.CDLL("libasound.so.2").snd_lib_error_set_handler(_handler)
