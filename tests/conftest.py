"""Shared fixtures: real models, loaded once per session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import hypothesis
import pytest

hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(__file__).resolve().parent / "data"


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
