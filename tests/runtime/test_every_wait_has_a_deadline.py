"""No wait without a deadline anywhere in the package, found by reading its code (D7)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import edgevoice

PACKAGE = Path(edgevoice.__file__).parent
WAITS = {"wait", "join", "acquire", "result", "communicate", "wait_for"}
"""Methods that wait as long as it takes when no timeout is given."""
PROGRAMS = {"run", "check_call", "check_output", "call"}
"""Functions of `subprocess` that do, too."""
EXECUTORS = {"ThreadPoolExecutor", "ProcessPoolExecutor"}
"""Their `with` waits at its end for whatever still runs."""
NOT_A_WAIT = {
    "bench/llm.py: row.result()",
    "tts/piper.py: rest.result()",
    "tts/piper.py: sound.result()",
    "runtime/logs.py: _turn.get()",
    "commands/run.py: logging.shutdown()",
    "bench/governor.py: with ProcessPoolExecutor(1, mp_context=spawn)",
}
"""What only shares the name (the results of the voice's `Work` have a deadline of their own), and a bench's own process,
before which a person sits."""


def waits(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, call) of every wait without a deadline."""
    for call in ast.walk(tree):
        if isinstance(call, ast.With):
            for item in call.items:
                made = item.context_expr
                if isinstance(made, ast.Call) and ast.unparse(made.func).rpartition(".")[2] in EXECUTORS:
                    yield call.lineno, f"with {ast.unparse(made)}"
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        bounded = any(keyword.arg in ("timeout", "blocking", None) for keyword in call.keywords)
        name, owner = call.func.attr, ast.unparse(call.func.value)
        text = ast.unparse(call)
        if name in WAITS and not call.args and not bounded:
            yield call.lineno, text
        if name == "get" and not call.args and not bounded:  # a mapping's has arguments: this one is a queue's
            yield call.lineno, text
        if name == "shutdown" and not call.args and "wait=False" not in text:
            yield call.lineno, text
        if name in PROGRAMS and owner == "subprocess" and not bounded:
            yield call.lineno, text
        if name == "urlopen" and not bounded:
            yield call.lineno, text


def test_the_search_finds_them() -> None:
    code = (
        "a.wait()\nb.join()\ninbox.get()\nc.result()\nsubprocess.run(['x'])\npool.shutdown(cancel_futures=True)\n"
        "with ThreadPoolExecutor(1) as p: pass\n"
        "d.wait(1)\n','.join(e)\nf.result(timeout=2)\ng.get('key')\nh.get(timeout=1)\npool.shutdown(wait=False)\n"
    )
    assert sorted(line for line, _ in waits(ast.parse(code))) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_d7_every_wait_has_a_deadline(file: Path) -> None:
    name = file.relative_to(PACKAGE).as_posix()
    found = list(waits(ast.parse(file.read_text(encoding="utf-8"))))
    assert [f"{line}: {call}" for line, call in found if f"{name}: {call}" not in NOT_A_WAIT] == []
