"""Start, one turn, stop, without any network (acceptance rows G1, G2)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DATA, ROOT
from tests.e2e.conftest import PATIENT, set_flags
from tests.e2e.network_guard import leaves_the_machine


def without_network() -> list[str]:
    """A command prefix that takes the network away (not even loopback is up); empty where that is not allowed."""
    prefix = ["unshare", "--net", "--map-root-user"]
    if shutil.which("unshare") and subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
        return prefix
    return []


def guarded(report: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*without_network(), sys.executable, "-m", "tests.e2e.network_guard", report, *arguments]
    return subprocess.run(
        list(map(str, command)), cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=150, check=False
    )


def test_g1_g2_a_turn_without_network_tries_nothing(tmp_path: Path) -> None:
    report = tmp_path / "attempts"
    out = tmp_path / "reply.wav"
    arguments = ("--json", "--pace", "fast", "--out", out, *set_flags(*PATIENT))
    done = guarded(report, "replay", DATA / "question.flac", *arguments)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert len(result["turns"]) == 1 and result["turns"][0]["reply"] and result["stopped_cleanly"]
    assert out.stat().st_size > 10_000
    assert report.read_text() == "", "attempts to leave this machine or to start a program"


def test_the_guard_hears_what_it_should() -> None:
    unix = socket.socket(socket.AF_UNIX)
    assert not leaves_the_machine("socket.connect", (unix, "/run/pulse/native"))
    assert not leaves_the_machine("socket.connect", (unix, ("127.0.0.1", 80)))
    assert leaves_the_machine("socket.connect", (unix, ("192.0.2.1", 80)))
    assert leaves_the_machine("socket.connect", (unix, ("2001:db8::1", 80, 0, 0)))
    assert leaves_the_machine("socket.getaddrinfo", ("example.org", 443, 0, 0, 0))
    assert leaves_the_machine("subprocess.Popen", ("pip", ["pip", "install"], None, None))
    unix.close()


@pytest.mark.parametrize("setting", ["llm.model=gemma3-270m", "tts.voice=en_US-joe-medium", "asr.model=asr-en-ctc"])
def test_g2_no_module_that_downloads_is_loaded(setting: str) -> None:
    """Settings that name models do not pull in a client of a model hub."""
    code = (
        "import sys; from edgevoice import config; from edgevoice.assembly import Models\n"
        f"Models.build(config.load(overrides=[{setting!r}]))\n"
        "print([m for m in ('requests', 'huggingface_hub', 'urllib3', 'httpx', 'aiohttp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
