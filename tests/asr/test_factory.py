"""The recognisers are built with the threads that the core plan gives them."""

from __future__ import annotations

import pytest

from edgevoice import config
from edgevoice.asr import factory
from edgevoice.runtime import cores
from edgevoice.settings import AsrSettings, Settings


@pytest.mark.parametrize(
    ("usable", "asked", "given"), [(4, (0, 0), (1, 2)), (1, (0, 0), (1, 1)), (2, (8, 8), (2, 2)), (8, (3, 4), (3, 4))]
)
def test_threads_follow_the_plan(
    monkeypatch: pytest.MonkeyPatch, usable: int, asked: tuple[int, int], given: tuple[int, int]
) -> None:
    built: list[AsrSettings] = []
    monkeypatch.setattr(cores, "usable_cores", lambda: usable)
    monkeypatch.setattr("edgevoice.asr.ctc.StreamingCtc", built.append)
    monkeypatch.setattr(factory, "SecondPass", built.append)
    settings = config.replace(Settings(), asr={"threads": asked[0], "second_pass_threads": asked[1]})
    factory.build_recognizer(settings)
    factory.build_second_pass(settings)
    assert [(found.threads, found.second_pass_threads) for found in built] == [given, given]
