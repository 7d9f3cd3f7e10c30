"""What the end-to-end tests share: the command line as a process, and the recogniser that listens to its answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import pytest
import soundfile

from edgevoice import config
from edgevoice.asr.normalize import scoring_form
from edgevoice.asr.whisper import WhisperRecognizer
from edgevoice.audio.files import read_all
from edgevoice.settings import AsrSettings, Settings
from tests.conftest import DATA, ROOT

PATIENT = ("asr.second_pass_budget_ms=60000", "llm.first_token_deadline_ms=60000")
"""A busy test machine misses deadlines, after which other words are right: these tests are about the words."""
RECORDINGS = {row["audio"]: row["text"] for row in map(json.loads, (DATA / "manifest.jsonl").open())}
"""Bundled recording -> what is said in it."""


def patient(**sections: Mapping[str, Any]) -> Settings:
    """The defaults with `PATIENT` deadlines and the changes given."""
    return config.replace(config.load(overrides=PATIENT), **sections)


def edgevoice(*arguments: str | Path, timeout: float = 150, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `edgevoice ARGUMENTS` as a process of its own."""
    command = [sys.executable, "-m", "edgevoice", *map(str, arguments)]
    options.setdefault("env", os.environ)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False, **options)


def set_flags(*settings: str) -> list[str]:
    """`--set` for each."""
    return [part for setting in settings for part in ("--set", setting)]


def observed(request: pytest.FixtureRequest, observe: Callable[[], Any]) -> Any:
    """What all tests of one file look at, observed once; a test that gets its second try looks at a fresh one."""
    name = request.node.module.__name__
    if name not in _OBSERVED or request.node.execution_count > 1:
        _OBSERVED[name] = observe()
    return _OBSERVED[name]


_OBSERVED: dict[str, Any] = {}


def word_error_rate(reference: str | list[str], heard: str | list[str]) -> float:
    """Share of wrong words after normalising both."""
    references = [reference] if isinstance(reference, str) else reference
    hypotheses = [heard] if isinstance(heard, str) else heard
    return float(jiwer.wer([scoring_form(text) for text in references], [scoring_form(text) for text in hypotheses]))


def one_clear_line(error: str) -> bool:
    """Whether standard error holds one line for people and no trace."""
    lines = [line for line in error.splitlines() if line.startswith("edgevoice: ")]
    return len(lines) == 1 and "Traceback" not in error


@pytest.fixture(scope="session")
def listener() -> Iterator[Callable[[Path], str]]:
    """Whisper tiny.en: what it hears in a sound file."""
    whisper = WhisperRecognizer(AsrSettings())
    whisper.load()

    def listen(path: Path) -> str:
        whisper.reset()
        whisper.accept(read_all(path))
        return whisper.finish().text

    yield listen
    whisper.close()


@pytest.fixture
def silence(tmp_path: Path) -> Path:
    """Two seconds of digital silence."""
    path = tmp_path / "silence.wav"
    soundfile.write(path, np.zeros(32_000, np.int16), 16_000)
    return path
