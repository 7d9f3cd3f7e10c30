"""The unit files as systemd reads them; nothing is started."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from edgevoice import config
from edgevoice.errors import EXIT_CODES, EXIT_SOFTWARE, EXIT_UNAVAILABLE
from edgevoice.settings import Settings
from tests.conftest import ROOT

UNITS = ROOT / "systemd"
SERVICE = UNITS / "edgevoice.service"

needs_analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def exposure(unit: Path) -> float:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout
    return float(found[1])


def options(unit: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        if line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


@needs_analyze
def test_the_exposure_is_small() -> None:
    assert exposure(SERVICE) <= 2.0


@needs_analyze
def test_the_exposure_stays_small_with_the_network_drop_in(tmp_path: Path) -> None:
    drop_in = (UNITS / "edgevoice-network.conf").read_text().partition("[Service]")[2]
    text = SERVICE.read_text().replace("[Install]", f"{drop_in}\n[Install]")
    for key in ("PrivateNetwork", "RestrictAddressFamilies", "IPAddressDeny"):
        text = re.sub(rf"^{key}=.*$", "", text, count=1, flags=re.MULTILINE)
    unit = tmp_path / "edgevoice.service"
    unit.write_text(text)
    assert exposure(unit) <= 2.0


@needs_analyze
@pytest.mark.parametrize("name", ["edgevoice.service", "edgevoice-user.service"])
def test_systemd_accepts_every_line(name: str, tmp_path: Path) -> None:
    program = tmp_path / "edgevoice"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "edgevoice.service"
    unit.write_text((UNITS / name).read_text().replace("/opt/edgevoice/venv/bin/edgevoice", str(program)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if "edgevoice" in line]
    assert done.returncode == 0 and not complaints, done.stderr


@pytest.mark.parametrize("name", ["edgevoice.service", "edgevoice-user.service"])
def test_a4_a_late_sound_card_never_meets_the_start_limit(name: str) -> None:
    unit = options(UNITS / name)
    assert unit["StartLimitIntervalSec"] == ["0"]
    assert float(unit["RestartSec"][0]) >= 5
    assert float(unit["TimeoutStartSec"][0]) > Settings().runtime.device_wait_limit_s + 60


def test_only_what_a_restart_can_mend_is_restarted() -> None:
    hopeless = {int(code) for code in options(SERVICE)["RestartPreventExitStatus"][0].split()}
    assert hopeless <= set(EXIT_CODES)
    assert not hopeless & {EXIT_UNAVAILABLE, EXIT_SOFTWARE}


def test_the_watchdog_is_slower_than_what_it_watches() -> None:
    seconds = float(options(SERVICE)["WatchdogSec"][0])
    settings = Settings().runtime
    assert settings.frames_limit_s < seconds and settings.heartbeat_limit_s < seconds
    assert float(options(SERVICE)["TimeoutStopSec"][0]) > settings.stop_deadline_s


def test_the_shipped_settings_are_right(tmp_path: Path) -> None:
    text = (UNITS / "edgevoice.toml").read_text()
    for version in (text, re.sub(r"^# (\[metrics\]|enabled = .*|port = .*)$", r"\1", text, flags=re.MULTILINE)):
        file = tmp_path / "edgevoice.toml"
        file.write_text(version)
        settings = config.load(file, environment={})
    assert settings.metrics.enabled


@pytest.mark.parametrize("script", ["install", "uninstall"])
def test_scripts_explain_themselves_and_refuse_unknown_options(script: str) -> None:
    path = str(ROOT / "scripts" / script)
    done = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=10, check=True)
    assert "--user" in done.stdout and "set -e" not in done.stdout
    assert subprocess.run([path, "--frobnicate"], capture_output=True, timeout=10, check=False).returncode == 2
