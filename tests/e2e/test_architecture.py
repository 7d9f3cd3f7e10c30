"""docs/architecture.md is held against the daemon while it runs."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import typing
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from edgevoice import messages
from edgevoice.assistant import Assistant
from edgevoice.replayer import replay
from edgevoice.runtime.queues import BoundedQueue
from tests.conftest import DATA, ROOT
from tests.e2e.conftest import patient

DOCUMENT = (ROOT / "docs" / "architecture.md").read_text()
UNIONS = {
    "frames": messages.Captured,
    "speech": messages.Speech,
    "words": messages.Words | messages.Feedback,
    "requests": messages.Request,
    "tokens": messages.AnswerText,
    "clauses": messages.Clause,
}
"""Queue -> the type of what it carries."""


def table(title: str) -> list[list[str]]:
    """Cells of the rows of the first table under a heading."""
    section = DOCUMENT.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


@dataclass
class Running:
    """What was seen while a turn was going on."""

    assistants: list[Assistant] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    passed: dict[str, set[str]] = field(default_factory=dict)
    """Queue -> names of the messages that went through it."""

    @property
    def assistant(self) -> Assistant:
        return self.assistants[0]

    def loaded(self, assistant: Assistant) -> None:
        self.assistants.append(assistant)
        for queue in assistant.queues:
            self._watch(queue)

    def turned(self, _: object) -> None:
        self.threads = {thread.name for thread in threading.enumerate() if thread not in self.before}

    def _watch(self, queue: BoundedQueue[typing.Any]) -> None:
        seen = self.passed.setdefault(queue.name, set())

        def watched(put: Callable[..., object]) -> Callable[..., object]:
            def wrapper(item: object, *args: object, **kwargs: object) -> object:
                seen.add(type(item).__name__)
                return put(item, *args, **kwargs)

            return wrapper

        queue.put = watched(queue.put)  # type: ignore[method-assign, assignment]
        queue.put_urgent = watched(queue.put_urgent)  # type: ignore[method-assign, assignment]

    before: list[threading.Thread] = field(default_factory=threading.enumerate)


@pytest.fixture(scope="module")
def running() -> Running:
    seen = Running()
    result = replay(patient(), [DATA / "question.flac"], "fast", on_turn=seen.turned, on_loaded=seen.loaded)
    assert result.turns and result.stopped_cleanly
    return seen


def test_threads_are_those_of_the_document(running: Running) -> None:
    documented = {row[0] for row in table("Threads")}
    helpers = {"speaker", "phrase-cache", "vocoder"}
    # The voice has threads of its own only where there are cores for them.
    assert running.threads | {"vocoder"} == documented | helpers
    left = set(threading.enumerate()) - set(running.before)  # before: voices that other tests keep loaded
    assert not [t for t in left if t.name in documented | helpers], "all of them end"


def test_every_thread_has_its_file(running: Running) -> None:
    parts = {part.name: part for part in (running.assistant.capture, *running.assistant.stages)}
    for name, file, *_ in table("Threads"):
        module = type(parts[name]).__module__
        assert f"`{module.removeprefix('edgevoice.').replace('.', '/')}.py`" == file


def test_the_other_threads_are_named_in_the_document() -> None:
    named = set()
    for file in (ROOT / "edgevoice").rglob("*.py"):
        if "bench" not in file.parts:
            text = file.read_text()
            named |= set(re.findall(r"\bThread\(.*?\bname=\"([a-z-]+)\"", text))
            named |= set(re.findall(r"\bPool\([^\n]*\"([a-z-]+)\"\)", text))
            named |= set(re.findall(r"current_thread\(\)\.name = \"([a-z-]+)\"", text))
    assert {"metrics", "metrics-request", "open", "language", "vocoder"} <= named, "the search finds them all"
    section = DOCUMENT.split("\n## Threads\n")[1].split("\n## ")[0]
    missing = sorted(name for name in named if f"`{name}`" not in section)
    assert not missing, f"threads that docs/architecture.md does not know: {missing}"


def test_queues_are_those_of_the_document(running: Running) -> None:
    queues = {queue.name: queue for queue in running.assistant.queues}
    rows = {row[0]: row for row in table("Queues")}
    assert list(queues) == list(rows), "in the order of the stream"
    for name, row in rows.items():
        bound = float(re.match(r"[\d.]+", row[2])[0])  # type: ignore[index]
        assert 0 < queues[name].bound == bound, f"{name}: {row[2]}"


def test_messages_are_those_of_the_document(running: Running) -> None:
    for name, *_, listed in table("Queues"):
        kind = UNIONS[name]
        allowed = {t.__name__ for t in typing.get_args(kind) or (kind,)}
        assert set(re.findall(r"`(\w+)`", listed)) == allowed, name
        assert running.passed[name] and running.passed[name] <= allowed, name


def test_no_queue_is_made_without_a_bound() -> None:
    for file in (ROOT / "edgevoice").rglob("*.py"):
        assert not re.search(r"\bSimpleQueue\b|\bQueue(\[[^(]*\])?\(\s*\)", file.read_text()), file


def test_the_drawing_of_the_states_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "draw_states"), "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
