"""Where log lines go and what they carry."""

from __future__ import annotations

import io
import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from logging_journald import JournaldTransport

from edgevoice.runtime import logs
from edgevoice.runtime.logs import JournalHandler, PlainHandler, PrefixHandler
from edgevoice.settings import RuntimeSettings


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("edgevoice.test_logs")
    logger.propagate, level = False, logger.level
    logger.setLevel("DEBUG")
    yield logger
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(level)


def test_the_journal_gets_priority_turn_and_thread(logger: logging.Logger, tmp_path: Path) -> None:
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(str(tmp_path / "journal"))
    journal.settimeout(2)
    logger.addHandler(JournalHandler(JournaldTransport(tmp_path / "journal")))
    with logs.turn(12):
        logger.warning("the microphone is gone")
    logger.info("back")
    first, second = (journal.recv(8192).decode().splitlines() for _ in range(2))
    assert {"MESSAGE=the microphone is gone", "PRIORITY=4", "TURN=12", "SYSLOG_IDENTIFIER=edgevoice"} <= set(first)
    assert f"THREAD_NAME={threading.current_thread().name}" in first
    assert "PRIORITY=6" in second and not any(line.startswith("TURN=") for line in second)
    journal.close()


def test_without_a_journal_the_prefix_carries_the_priority(logger: logging.Logger) -> None:
    out = io.StringIO()
    logger.addHandler(PrefixHandler(out))
    with logs.turn(3):
        logger.error("one\ntwo")
    assert out.getvalue() == "<3>[turn 3] one\n<3>two\n"


def test_a_person_gets_quiet_lines(logger: logging.Logger) -> None:
    out = io.StringIO()
    logger.addHandler(PlainHandler(out))
    logger.info("listening")
    logger.warning("hot")
    assert out.getvalue() == "edgevoice: listening\nedgevoice: warning: hot\n"


def test_set_up_twice_does_not_log_twice(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger("edgevoice")
    before, level, propagate = list(root.handlers), root.level, root.propagate
    try:
        logs.set_up(RuntimeSettings(log_format="plain"))
        logs.set_up(RuntimeSettings(log_format="plain"))
        logging.getLogger("edgevoice.dialog").info("once")
        logging.getLogger("edgevoice.dialog").debug("words never at info")
    finally:
        root.handlers[:], root.propagate = before, propagate
        root.setLevel(level)
    assert capsys.readouterr().err == "edgevoice: once\n"


@pytest.mark.parametrize("stream", ["", "garbage", "1:2"])
def test_a_stderr_that_is_no_journal_is_recognised(monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", stream)
    assert not logs._stderr_is_journal()
