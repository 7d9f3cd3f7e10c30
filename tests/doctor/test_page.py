"""The whole page as a process, on a real sound server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.audio.pulse import PulseServer, pulse_server
from tests.conftest import ROOT
from tests.documented import documented, leaves

pytestmark = [pytest.mark.audio, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def pulse() -> Iterator[PulseServer]:
    with pulse_server() as server:
        yield server


def doctor(environment: Mapping[str, str], *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code and the findings by subject."""
    cache = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))}
    done = subprocess.run(
        [sys.executable, "-m", "edgevoice", "doctor", "--json", *arguments],
        env={**environment, **cache},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    page = json.loads(done.stdout)
    assert leaves(page) == documented("doctor")
    assert page["ok"] == (done.returncode == 0)
    return done.returncode, {finding["subject"]: finding for finding in page["findings"]}


def test_a_working_machine_passes_and_the_round_trip_is_measured(pulse: PulseServer) -> None:
    code, page = doctor(pulse.environment, "--no-speed", "--set", "audio.input_device=speaker.monitor")
    assert page["microphone"]["text"].startswith("speaker.monitor (PulseAudio")
    assert page["speaker"]["text"].startswith("speaker (PulseAudio")
    assert page["round trip"]["state"] == "ok" and "ms from speaker to microphone" in page["round trip"]["text"]
    assert code == 0, page


def test_a_muted_microphone_fails_with_a_mend(pulse: PulseServer) -> None:
    code, page = doctor(pulse.environment, "--no-speed")
    assert code == 1
    assert page["microphone level"]["state"] == "fail" and "unmute" in page["microphone level"]["mend"]


def test_a2_without_a_sound_server_the_page_names_user_runtime_folder_and_default_device(pulse: PulseServer) -> None:
    lost = {**pulse.environment, "PULSE_SERVER": "unix:/nowhere", "XDG_RUNTIME_DIR": "/nowhere"}
    code, page = doctor(lost, "--no-speed")
    assert code == 1
    for word in ("user ", "XDG_RUNTIME_DIR /nowhere", "default device"):
        assert word in page["microphone"]["text"]


def test_speed_is_measured_with_the_real_models(pulse: PulseServer) -> None:
    _, page = doctor(pulse.environment, "--no-sound")
    assert page["speed (voice)"]["text"].startswith("real-time factor")
    assert "tokens/s" in page["speed (language)"]["text"]
    assert page["prompt cache"]["state"] == "ok", page["prompt cache"]
    assert "ms from the end of speech to the first sound" in page["expected latency"]["text"]
