"""Whatever a stage logs while it works on a turn carries the number of that turn."""

from __future__ import annotations

import io
import logging
import re
from collections import defaultdict
from typing import Any

import pytest

from edgevoice.assistant import Assistant
from edgevoice.replayer import Replayed, replay
from edgevoice.runtime.logs import PlainHandler
from edgevoice.runtime.stage import Stage
from tests.conftest import DATA, needs_espeak
from tests.e2e.conftest import patient

pytestmark = needs_espeak

log = logging.getLogger("edgevoice.test_turn_in_log")
LINE = re.compile(r"edgevoice: (?:\[turn (\d+)\] )?(\w+) at work")


def talkative(stage: Stage[Any]) -> None:
    """Let the stage log a line with each item it works on."""
    work = stage.work

    def work_and_tell(item: Any) -> None:
        log.info("%s at work", stage.name)
        work(item)

    stage.work = work_and_tell  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def lines() -> tuple[Replayed, str]:
    out = io.StringIO()
    handler = PlainHandler(out)
    log.addHandler(handler)
    level, log.propagate = log.level, False
    log.setLevel("INFO")

    def loaded(assistant: Assistant) -> None:
        for stage in assistant.stages:
            talkative(stage)

    settings = patient(llm={"backend": "template"}, asr={"second_pass": "off"}, tts={"backend": "espeak"})
    replayed = replay(settings, [DATA / "question.flac", DATA / "when_back.flac"], pace="fast", on_loaded=loaded)
    log.removeHandler(handler)
    log.setLevel(level)
    return replayed, out.getvalue()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stage", ["listen", "recognise", "converse", "generate", "compose", "synthesise"])
def test_each_stage_names_the_turn(lines: tuple[Replayed, str], stage: str) -> None:
    replayed, text = lines
    said = defaultdict(set)
    for turn, name in LINE.findall(text):
        said[name].add(turn)
    turns = {str(record.segment) for record in replayed.turns if record.complete}
    assert len(turns) >= 2
    assert turns <= said[stage], f"{stage} logged for {sorted(said[stage])}"
