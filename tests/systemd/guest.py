"""A real systemd for tests: booted on a throw-away overlay of this machine, with the checkout installed in it.

Nothing outside the guest changes. Needs root and the tool that boots it (`TESTS_BOOT_SYSTEMD`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from edgevoice.models.places import cache_dir
from tests.conftest import ROOT

UNIT = "edgevoice.service"
SOUND_UNIT = """
[Unit]
Description=Sound server of the test
[Service]
ExecStartPre=/bin/sh -c 'mkdir -p /run/pulse && rm -f /run/pulse/native'
ExecStart=/usr/bin/pulseaudio -n --daemonize=no --exit-idle-time=-1 --use-pid-file=no --disallow-exit=yes \
  --load="module-native-protocol-unix auth-anonymous=1 socket=/run/pulse/native" \
  --load="module-null-sink sink_name=mic_feed" --load="module-null-sink sink_name=speaker" \
  --load="module-remap-source master=mic_feed.monitor source_name=virtmic"
ExecStartPost=/bin/sh -c 'for i in $$(seq 100); do pactl info > /dev/null 2>&1 && break; sleep 0.2; done'
ExecStartPost=/usr/bin/pactl set-default-source virtmic
ExecStartPost=/usr/bin/pactl set-default-sink speaker
Environment=PULSE_SERVER=unix:/run/pulse/native
Environment=HOME=/run/pulse XDG_RUNTIME_DIR=/run/pulse
"""
DROP_IN = """
[Service]
Environment=PULSE_SERVER=unix:/run/pulse/native HOME=/var/lib/edgevoice
RestartSec=1
WatchdogSec=15
"""
SETTINGS = """# Small models: what is tested is the service, and it starts a dozen times.
[llm]
backend = "template"
[asr]
second_pass = "off"
"""
ASOUND = "pcm.!default { type pulse }\nctl.!default { type pulse }\n"


def tool() -> Path | None:
    """The program that boots a systemd, if this machine has one."""
    for place in (os.environ.get("TESTS_BOOT_SYSTEMD", ""), str(ROOT.parent / "shared" / "tools" / "boot-systemd")):
        if place and os.access(place, os.X_OK):
            return Path(place)
    return None


def missing_reason() -> str:
    """Why no systemd can be booted here; empty if it can."""
    if tool() is None:
        return "no tool to boot a systemd: set TESTS_BOOT_SYSTEMD"
    if os.geteuid() != 0:
        return "booting a systemd needs root"
    if not Path("/lib/systemd/systemd").exists() or shutil.which("dbus-daemon") is None:
        return "systemd and dbus are not installed"
    if shutil.which("pulseaudio") is None or shutil.which("pactl") is None:
        return "pulseaudio is not installed"
    return ""


def waiting_share() -> float:
    """Share of the last ten seconds in which something on this machine had to wait for a processor, in [0, 1]."""
    try:
        some = Path("/proc/pressure/cpu").read_text().split()
        return float(some[1].removeprefix("avg10=")) / 100
    except (OSError, ValueError, IndexError):  # a kernel without pressure figures
        return min(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / 2)


class Guest:
    """`boot`, `install`, then `run` commands inside, `stop`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tool = str(tool())

    def boot(self) -> None:
        """Start systemd. Inside, the checkout is /srv/checkout, the packages /srv/packages, the cache /srv/cache."""
        binds = {ROOT: "/srv/checkout", sysconfig.get_path("purelib"): "/srv/packages", self._wheel(): "/srv/wheels"}
        if cache_dir().is_dir():
            binds[cache_dir()] = "/srv/cache"
        env = dict(os.environ, BIND=" ".join(f"{host}:{inside}" for host, inside in binds.items()))
        done = subprocess.run(
            [self._tool, "start", str(self.folder)], env=env, capture_output=True, text=True, timeout=90
        )
        if done.returncode:
            raise RuntimeError(f"the guest did not boot: {done.stdout}{done.stderr}")

    def _wheel(self) -> Path:
        """A folder with edgevoice as a wheel, built from a copy of the checkout."""
        source, wheels = self.folder / "source", self.folder / "wheels"
        for name in ("edgevoice", "pyproject.toml", "README.md", "LICENSE"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            source.mkdir(parents=True, exist_ok=True)
            copy(ROOT / name, source / name)
        subprocess.run(
            [sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "-w", str(wheels), str(source)],
            check=True,
            timeout=180,
        )
        return wheels

    def stop(self) -> None:
        """Power off."""
        subprocess.run([self._tool, "stop", str(self.folder)], capture_output=True, timeout=60, check=False)

    def run(self, *command: str, check: bool = True, timeout: float = 120.0) -> str:
        """Output of a command inside, both streams."""
        done = subprocess.run(
            [self._tool, "run", str(self.folder), *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def shell(self, script: str, check: bool = True, timeout: float = 120.0) -> str:
        """Output of a shell script inside."""
        return self.run("/bin/sh", "-c", script, check=check, timeout=timeout)

    def write(self, path: str, text: str) -> None:
        """Make a file inside."""
        subprocess.run(
            [self._tool, "run", str(self.folder), "/bin/sh", "-c", f'mkdir -p "$(dirname {path})" && cat > {path}'],
            input=text,
            text=True,
            timeout=30,
            check=True,
        )

    def install(self) -> str:
        """Run scripts/install inside, as an administrator would, without the network; its output.

        The packages are this machine's own; their folder is put on the new environment's path, which saves gigabytes.
        """
        self.write("/etc/asound.conf", ASOUND)
        self.write("/etc/systemd/system/test-sound.service", SOUND_UNIT)
        self.write("/etc/systemd/system/edgevoice.service.d/test.conf", DROP_IN)
        said = self.shell(
            "cd /srv/checkout && PYTHONDONTWRITEBYTECODE=1 scripts/install --wheels /srv/wheels --no-deps --no-start",
            timeout=300,
        )
        self.shell("echo /srv/packages > $(ls -d /opt/edgevoice/venv/lib/python3*/site-packages)/test-packages.pth")
        self.shell(
            "mkdir -p /var/cache/edgevoice && (cp -r /srv/cache/. /var/cache/edgevoice/ 2>/dev/null || true)"
            " && chown -R edgevoice:edgevoice /var/cache/edgevoice"
        )
        return said

    # --- the service -----------------------------------------------------------------------------------------------

    def systemctl(self, *arguments: str, check: bool = True, timeout: float = 120.0) -> str:
        """systemctl inside."""
        return self.run("systemctl", "--no-pager", *arguments, check=check, timeout=timeout)

    def state(self, *properties: str) -> dict[str, str]:
        """Properties of the unit."""
        lines = self.systemctl("show", UNIT, "-p", ",".join(properties)).splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def journal(self, *arguments: str) -> str:
        """The unit's journal."""
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", "edgevoice", *arguments, check=False)

    def wait(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait until something is so, or fail with the unit's status. On a crowded machine `seconds` are longer."""
        crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
        deadline = time.monotonic() + seconds * max(1.0, crowd)
        while not condition():
            if time.monotonic() > deadline:
                status = self.systemctl("status", "-n", "60", UNIT, check=False)
                raise AssertionError(f"{what}: not within {seconds:.0f} s\n{status}")
            time.sleep(0.3)

    def wait_active(self, seconds: float = 180.0) -> None:
        """Wait for READY=1."""
        self.wait(lambda: self.state("ActiveState")["ActiveState"] == "active", seconds, "active")

    @property
    def pid(self) -> int:
        """Main process of the unit, as the guest numbers it."""
        return int(self.state("MainPID")["MainPID"])

    @property
    def restarts(self) -> int:
        """How often systemd has started it again."""
        return int(self.state("NRestarts")["NRestarts"])
