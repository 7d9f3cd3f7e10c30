"""One line of the doctor's page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from edgevoice.errors import EdgeVoiceError


class State(StrEnum):
    """How a finding is."""

    OK = "ok"
    WARN = "warn"
    """It works, but not as well as it could."""
    FAIL = "fail"
    """The assistant will not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, what was found, and how to mend it."""

    subject: str
    state: State
    text: str
    mend: str = ""


def ok(subject: str, text: str) -> Finding:
    """All is well."""
    return Finding(subject, State.OK, text)


def warn(subject: str, text: str, mend: str) -> Finding:
    """Works, but could be better."""
    return Finding(subject, State.WARN, text, mend)


def fail(subject: str, text: str, mend: str) -> Finding:
    """Does not work."""
    return Finding(subject, State.FAIL, text, mend)


Check = Callable[[], Iterable[Finding]]


def examine(subject: str, check: Check) -> Iterator[Finding]:
    """The findings of `check`; a check that itself breaks is a finding, and the next one still runs."""
    try:
        yield from check()
    except EdgeVoiceError as error:
        yield fail(subject, f"{error.what}: {error.why}", error.mend)
    except Exception as error:  # noqa: BLE001 - the doctor must reach the last line whatever is broken
        yield fail(subject, f"the check itself broke: {type(error).__name__}: {error}", "report this line")
