"""docs/acceptance.md names tests that exist, and every test with an id of its sections."""

from __future__ import annotations

import ast
import re

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "acceptance.md"


def functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_it_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    missing = [
        (file, name) for file, name in named if not (ROOT / file).is_file() or name not in {"", *functions(file)}
    ]
    assert missing == []


def test_every_row_that_has_a_test_is_on_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = {int(row[1:]): row for row in re.findall(r"^\| (A\d+)", page, re.M)}
    ids = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        for name in functions(str(file.relative_to(ROOT))):
            ids |= {found.upper() for found in re.findall(r"(?<=_)([aeg]\d+)(?=_)", name)}
    for row in ids:
        assert re.search(rf"^\| (\w+, )*{row}\b", page, re.M), row
    assert len(rows) >= 12
