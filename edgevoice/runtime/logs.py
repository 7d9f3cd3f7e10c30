"""Logging: fields in the journal when we are a systemd service, quiet lines for a person otherwise.

What people say is never logged above DEBUG: code that logs words does so with `log.debug`, and nothing else does.
A turn's number is bound to the running thread with `turn(...)` and appears in every line it logs meanwhile.
"""

from __future__ import annotations

import contextvars
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from logging_journald import JournaldTransport, check_journal_stream

from edgevoice.settings import RuntimeSettings

_turn: contextvars.ContextVar[int] = contextvars.ContextVar("turn", default=0)

PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
"""Python's level -> syslog priority."""


@contextmanager
def turn(number: int) -> Iterator[None]:
    """Lines logged inside (on this thread) carry this turn number; with 0 they carry none."""
    token = _turn.set(number)
    try:
        yield
    finally:
        _turn.reset(token)


def set_up(settings: RuntimeSettings) -> None:
    """Send the log of the package to the journal or to stderr. May be called again; the last call counts."""
    root = logging.getLogger("edgevoice")
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(_handler(settings.log_format))
    root.setLevel(settings.log_level.upper())
    root.propagate = False


def _handler(wanted: str) -> logging.Handler:
    if wanted == "journal" or (wanted == "auto" and _stderr_is_journal()):
        try:
            return JournalHandler(JournaldTransport())
        except OSError:
            # No journal socket (a container, say): the priority prefix still tells systemd the level.
            return PrefixHandler(sys.stderr)
    return PlainHandler(sys.stderr)


def _stderr_is_journal() -> bool:
    try:
        return bool(check_journal_stream())
    except (OSError, ValueError):  # stderr closed, or a malformed JOURNAL_STREAM
        return False


def _fields(record: logging.LogRecord) -> dict[str, str | int]:
    fields: dict[str, str | int] = {
        "LOGGER": record.name,
        "THREAD_NAME": record.threadName or "",
        "CODE_FILE": record.pathname,
        "CODE_LINE": record.lineno,
        "CODE_FUNC": record.funcName or "",
    }
    if number := _turn.get():
        fields["TURN"] = number
    return fields


class JournalHandler(logging.Handler):
    """Native journal entries: `journalctl -u edgevoice TURN=12`, `journalctl -u edgevoice THREAD_NAME=recognise`."""

    def __init__(self, transport: JournaldTransport) -> None:
        super().__init__()
        self._transport = transport

    def emit(self, record: logging.LogRecord) -> None:
        """Send one entry; falls back to stderr's usual error report when the journal is gone."""
        try:
            message = self.format(record)
            head = {"MESSAGE": message, "PRIORITY": _priority(record), "SYSLOG_IDENTIFIER": "edgevoice"}
            self._transport.send([*head.items(), *_fields(record).items()])
        except OSError:
            self.handleError(record)


class PrefixHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Lines on stderr with systemd's `<priority>` prefix."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; a trace's further lines get the prefix, too."""
        number = _turn.get()
        text = f"{f'[turn {number}] ' if number else ''}{super().format(record)}"
        return "\n".join(f"<{_priority(record)}>{line}" for line in text.splitlines())


class PlainHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Quiet lines for a person: the level only when it is not INFO."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, e.g. `edgevoice: warning: [turn 3] the microphone is gone`."""
        number = _turn.get()
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        return f"edgevoice: {level}{f'[turn {number}] ' if number else ''}{super().format(record)}"


def _priority(record: logging.LogRecord) -> int:
    return next((p for level, p in sorted(PRIORITIES.items(), reverse=True) if record.levelno >= level), 7)
