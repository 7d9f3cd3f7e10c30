"""OpenMP's threads sleep soon: said before any library that uses OpenMP is loaded."""

from __future__ import annotations

import os
import subprocess
import sys

SHOW = """
import edgevoice, os, sys
print(os.environ["OMP_WAIT_POLICY"], os.environ["GOMP_SPINCOUNT"])
print(*(name for name in ("ctranslate2", "llama_cpp", "onnxruntime", "numpy") if name in sys.modules))
"""


def shown(**own: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", SHOW], capture_output=True, text=True, timeout=60, check=True, env={**environment, **own}
    )
    return done.stdout.split("\n")[:2]


def test_waiting_is_set_by_the_package_itself_before_any_library() -> None:
    assert shown() == ["PASSIVE 1000", ""]


def test_what_a_person_has_set_stays() -> None:
    assert shown(OMP_WAIT_POLICY="ACTIVE") == ["ACTIVE 1000", ""]
