"""Every error a user can meet: what went wrong, why, and how to mend it.

The exit codes follow sysexits.h where it has a fitting one; `EXIT_CODES` is the documented list.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_DATA = 65
EXIT_NO_INPUT = 66
EXIT_UNAVAILABLE = 69
EXIT_SOFTWARE = 70
EXIT_CANT_CREATE = 73
EXIT_IO = 74
EXIT_TEMPORARY = 75
EXIT_NO_PERMISSION = 77
EXIT_CONFIG = 78
EXIT_INTERRUPTED = 130

EXIT_CODES = {
    EXIT_OK: "success",
    EXIT_FAILURE: "a check found something wrong (doctor, models verify, config check)",
    EXIT_USAGE: "the command line is wrong",
    EXIT_DATA: "a file holds something else than it should (no audio, NaN samples, a damaged model)",
    EXIT_NO_INPUT: "a file does not exist or cannot be read",
    EXIT_UNAVAILABLE: "a device or service is not there (no microphone, no sound server)",
    EXIT_SOFTWARE: "an internal error: a stage kept dying, or a defect of edgevoice",
    EXIT_CANT_CREATE: "an output file cannot be made",
    EXIT_IO: "reading or writing failed half-way (full disk)",
    EXIT_TEMPORARY: "a wait ran into its deadline; trying again may work",
    EXIT_NO_PERMISSION: "only root may do this (scripts/install, scripts/uninstall)",
    EXIT_CONFIG: "a setting is unknown, of the wrong type or out of range",
    EXIT_INTERRUPTED: "interrupted from the keyboard",
}


class EdgeVoiceError(Exception):
    """Base of all errors shown to a user.

    `what` names the thing, `why` the reason, `mend` what the user can do; together they make one line.
    """

    exit_code = EXIT_FAILURE

    def __init__(self, what: str, why: str, mend: str = "") -> None:
        self.what, self.why, self.mend = what, why, mend
        super().__init__(f"{what}: {why}" + (f" — {mend}" if mend else ""))


class UsageError(EdgeVoiceError):
    """The command line asks for something that does not exist."""

    exit_code = EXIT_USAGE


class DataError(EdgeVoiceError):
    """A file was read but holds something else than it should."""

    exit_code = EXIT_DATA


class AudioDataError(DataError):
    """A file is no audio, is empty, or holds samples that are not finite."""


class ModelDataError(DataError):
    """A model file is damaged, truncated or of another kind than expected."""


class InputMissingError(EdgeVoiceError):
    """A file that should be read does not exist or may not be read."""

    exit_code = EXIT_NO_INPUT


class ModelMissingError(InputMissingError):
    """A model is not installed on this machine."""


class DeviceError(EdgeVoiceError):
    """A sound device is absent, busy or refuses every format we can produce."""

    exit_code = EXIT_UNAVAILABLE


class UnavailableError(EdgeVoiceError):
    """A service or an optional package is not there."""

    exit_code = EXIT_UNAVAILABLE


class InternalError(EdgeVoiceError):
    """Something in edgevoice itself failed for good, e.g. a stage died three times in a minute."""

    exit_code = EXIT_SOFTWARE


class OutputError(EdgeVoiceError):
    """An output file cannot be created."""

    exit_code = EXIT_CANT_CREATE


class StorageError(EdgeVoiceError):
    """Reading or writing failed half-way, e.g. a full disk."""

    exit_code = EXIT_IO


class DeadlineError(EdgeVoiceError):
    """A wait ran into its deadline."""

    exit_code = EXIT_TEMPORARY


class SettingsError(EdgeVoiceError):
    """A setting is unknown, of the wrong type or out of range."""

    exit_code = EXIT_CONFIG
