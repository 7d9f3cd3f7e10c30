"""scripts/install, uninstall, setup, demo and soak, with stand-ins for all that they would start: no network, no systemd."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

PYTHON = """#!/bin/sh
# Makes an environment of copies of itself; installs nothing.
if [ "$1 $2" = "-m venv" ]; then
  for last; do :; done
  rm -rf "$last"
  mkdir -p "$last/bin"
  cp "$0" "$last/bin/python"
  cp "$0" "$last/bin/edgevoice"
fi
echo "$*" >> "$CALLS"
exit 0
"""
ARGUMENTS = '#!/bin/sh\npwd >> "$CALLS"\necho "$*" >> "$CALLS"\necho \'{"ok": true}\'\n'


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Machine:
    """A home, a folder to work in, and stand-ins in front of the path."""

    def __init__(self, folder: Path) -> None:
        self.home, self.here, self.calls = folder / "home", folder / "here", folder / "calls"
        for place in (self.home, self.here):
            place.mkdir()
        for name in ("systemctl", "loginctl"):
            program(folder / "bin" / name, "#!/bin/sh\nexit 0\n")
        program(folder / "bin" / "id", '#!/bin/sh\n[ "$1" = -un ] && echo somebody || echo 1000\n')
        python = program(folder / "bin" / "fake-python", PYTHON)
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        self.env = {"HOME": str(self.home), "PATH": path, "PYTHON": str(python), "CALLS": str(self.calls)}
        self.unit = self.home / ".config/systemd/user/edgevoice.service"

    def run(self, script: str | Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a script of the checkout (or any) from the folder one works in."""
        command = [str(ROOT / "scripts" / script), *arguments]
        return subprocess.run(
            command, cwd=self.here, env=self.env, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_folders_are_those_of_the_caller_and_the_unit_names_them_in_full(machine: Machine) -> None:
    """Without USER in the environment, as under cron or in a container."""
    done = machine.run("install", "--user", "--prefix", "app", "--wheels", "wheels", "--no-start")
    assert done.returncode == 0, done.stderr
    assert f"ExecStart={machine.here}/app/venv/bin/edgevoice run" in machine.unit.read_text()
    assert f"--find-links {machine.here}/wheels" in machine.calls.read_text()
    assert "enable-linger somebody" in done.stdout
    assert (machine.here / "app" / "docs" / "operations.md").is_file()


def test_uninstall_finds_the_folder_that_install_was_given(machine: Machine) -> None:
    assert machine.run("install", "--user", "--prefix", "app", "--wheels", "wheels").returncode == 0
    assert machine.run("uninstall", "--user").returncode == 0
    assert not (machine.here / "app").exists() and not machine.unit.exists()
    assert machine.run("uninstall", "--user").returncode == 0, "again is harmless"


def test_uninstall_with_a_relative_folder(machine: Machine) -> None:
    assert machine.run("install", "--user", "--prefix", "app", "--wheels", "wheels").returncode == 0
    assert machine.run("uninstall", "--user", "--prefix", "app").returncode == 0
    assert not (machine.here / "app").exists()


def test_uninstall_leaves_a_folder_alone_that_holds_no_edgevoice(machine: Machine) -> None:
    others = [machine.here / "venv" / "bin" / "python", machine.here / "docs" / "thesis.md"]
    for file in others:
        program(file, "mine")
    done = machine.run("uninstall", "--user", "--prefix", ".")
    assert done.returncode == 66 and "not installed" in done.stderr
    assert all(file.is_file() for file in others)


def test_a_folder_that_systemd_would_misread_is_refused(machine: Machine) -> None:
    done = machine.run("install", "--user", "--prefix", "my apps", "--wheels", "wheels")
    assert done.returncode == 2 and "my apps" in done.stderr and not machine.unit.exists()


def copied(machine: Machine, *scripts: str) -> Path:
    """A checkout with these scripts, set up already as far as they can see."""
    checkout = machine.home / "checkout"
    for name in scripts:
        (checkout / "scripts").mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "scripts" / name, checkout / "scripts" / name)
    for name in ("pyproject.toml", "requirements.lock"):
        (checkout / name).write_text("")
    return checkout


def test_demo_and_soak_take_files_and_leave_files_where_they_were_called(machine: Machine) -> None:
    checkout = copied(machine, "demo", "soak")
    program(checkout / "scripts/setup", "#!/bin/sh\n")
    program(checkout / ".venv/bin/edgevoice", ARGUMENTS)
    machine.env["PYTHON"] = str(program(checkout / "python", ARGUMENTS))
    assert machine.run(checkout / "scripts/demo", "my.wav").returncode == 0
    assert machine.calls.read_text().splitlines() == [str(machine.here), "replay my.wav --out reply.wav"]
    assert machine.run(checkout / "scripts/soak", "my.wav", "--out", "soak.json").returncode == 0
    assert (machine.here / "soak.json").read_text() == '{"ok": true}\n'
    assert machine.calls.read_text().splitlines()[2:4] == [
        str(machine.here),
        "-P -m edgevoice bench soak --json my.wav",
    ]


@pytest.mark.parametrize("gone", [True, False], ids=["python gone", "another python without the packages"])
def test_setup_makes_the_environment_again_after_an_upgrade_of_the_system(machine: Machine, gone: bool) -> None:
    checkout = copied(machine, "setup")
    for name in ("cc", "c++"):
        program(machine.home.parent / "bin" / name, "#!/bin/sh\n")
    assert machine.run(checkout / "scripts/setup").returncode == 0
    machine.calls.write_text("")
    assert machine.run(checkout / "scripts/setup").returncode == 0
    assert "-m venv" not in machine.calls.read_text(), "nothing changed"
    python = checkout / ".venv/bin/python"
    python.unlink()
    if gone:
        python.symlink_to("/no/such/python")
    else:
        program(python, "#!/bin/sh\nexit 1\n")
    assert machine.run(checkout / "scripts/setup").returncode == 0
    assert "-m venv --clear .venv" in machine.calls.read_text()
