"""Shared fixtures: real models, loaded once per session."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import hypothesis
import pytest

hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.register_profile("same-every-time", deadline=None, derandomize=True)
hypothesis.settings.load_profile("same-every-time" if os.environ.get("CI") else "patient")

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(__file__).resolve().parent / "data"


needs_espeak = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")


class Loadable(Protocol):
    def load(self) -> None: ...

    def close(self) -> None: ...


L = TypeVar("L", bound=Loadable)


def loaded(part: L) -> Iterator[L]:
    """For fixtures, `yield from loaded(part)`: loaded before the tests that ask for it, closed after them."""
    part.load()
    yield part
    part.close()


def corpus_dir() -> Path | None:
    """The folder with `train/` and `dev/` recordings, if this machine has one (EDGEVOICE_CORPUS or beside the checkout)."""
    for place in (os.environ.get("EDGEVOICE_CORPUS", ""), str(ROOT.parent / "shared" / "speech")):
        if place and (Path(place) / "dev").is_dir():
            return Path(place)
    return None


@pytest.fixture(scope="session")
def corpus() -> Path:
    found = corpus_dir()
    if found is None:
        pytest.skip("no corpus: set EDGEVOICE_CORPUS to a folder with dev/ recordings")
    return found


REAL_TIME = ("tests/audio", "tests/doctor/test_page", "tests/e2e", "tests/systemd")
"""Tests that live in real time: a machine that stalls for a second may fail them without anything being wrong."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real-time tests get a second try, which the summary names ("rerun"); everything else has to pass at once."""
    for item in items:
        if any(folder in item.nodeid for folder in REAL_TIME):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_configure() -> None:
    """The settings and data of whoever runs the tests have no say in them; what is only cached may be shared."""
    for name in [name for name in os.environ if name.startswith("EDGEVOICE_") and name != "EDGEVOICE_CORPUS"]:
        del os.environ[name]
    own = tempfile.mkdtemp(prefix="edgevoice-tests-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    os.environ.update(XDG_CONFIG_HOME=f"{own}/config", XDG_DATA_HOME=f"{own}/data")
