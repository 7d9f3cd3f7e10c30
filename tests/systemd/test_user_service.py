"""The service of a person's session, under that person's own systemd, which lingers without a log-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systemd.guest import SETTINGS, Guest, missing_reason, waiting_share

PERSON = "kiosk"
SOUND = """load-module module-native-protocol-unix
load-module module-null-sink sink_name=mic_feed
load-module module-null-sink sink_name=speaker
load-module module-remap-source master=mic_feed.monitor source_name=virtmic
set-default-source virtmic
set-default-sink speaker
"""
"""The session's own sound server: it is started when somebody asks for it."""


def reason() -> str:
    """Why no session can be had here; empty if it can."""
    if found := missing_reason():
        return found
    session = ("/lib/systemd/systemd-logind", "/usr/lib/systemd/user/pulseaudio.socket")
    modules = list(Path("/lib").glob("*/security/pam_systemd.so"))
    bus = Path("/usr/lib/systemd/user/dbus.socket")
    if not modules or not bus.exists() or not all(Path(file).exists() for file in session):
        return "no sessions here: install libpam-systemd, dbus-user-session and pulseaudio"
    return ""


pytestmark = [
    pytest.mark.systemd,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(reason()), reason=reason()),
]


class Session:
    """A person of the guest, and commands in that person's name."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest

    def shell(self, script: str, check: bool = True, timeout: float = 120.0) -> str:
        """Output of a script that the person runs."""
        uid = self.guest.run("id", "-u", PERSON).strip()
        environment = (f"XDG_RUNTIME_DIR=/run/user/{uid}", f"HOME=/home/{PERSON}", f"USER={PERSON}")
        return self.guest.run(
            "runuser",
            "-u",
            PERSON,
            "--",
            "env",
            "-C",
            "/",
            *environment,
            "/bin/sh",
            "-c",
            script,
            check=check,
            timeout=timeout,
        )

    def state(self, name: str) -> str:
        """A property of the unit."""
        return self.shell(f"systemctl --user show edgevoice -p {name} --value").strip()

    def wait_listening(self) -> None:
        """Wait for READY=1 and the first sound."""
        self.guest.wait(
            lambda: self.state("ActiveState") == "active",
            180,
            self.shell("systemctl --user status edgevoice", check=False),
        )
        self.guest.wait(lambda: "listening" in self.state("StatusText"), 20, "listening")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    guest = Guest(Path(tmp_path_factory.mktemp("session")))
    guest.boot()
    try:
        guest.write("/etc/asound.conf", "pcm.!default { type pulse }\nctl.!default { type pulse }\n")
        guest.shell(f"useradd -m {PERSON} && loginctl enable-linger {PERSON}")
        session = Session(guest)
        guest.wait(lambda: "running" in session.shell("systemctl --user is-system-running", check=False), 30, "session")
        session.shell(f"mkdir -p ~/.config/pulse && cat > ~/.config/pulse/default.pa <<'END'\n{SOUND}END\n")
        session.shell("systemctl --user stop pulseaudio.service", check=False)
        session.shell(
            "mkdir -p ~/.cache ~/.config/edgevoice && (cp -r /srv/cache ~/.cache/edgevoice 2>/dev/null || true)"
        )
        session.shell(f"cat > ~/.config/edgevoice/edgevoice.toml <<'END'\n{SETTINGS}END\n")
        session.shell(
            "cd /srv/checkout && PYTHONDONTWRITEBYTECODE=1"
            " scripts/install --user --wheels /srv/wheels --no-deps --no-start",
            timeout=300,
        )
        session.shell(
            "echo /srv/packages > $(ls -d ~/.local/share/edgevoice/venv/lib/python3*/site-packages)/packages.pth"
        )
        yield session
    finally:
        guest.stop()


def test_it_starts_in_the_session_without_a_log_in_and_hears(session: Session) -> None:
    session.shell("systemctl --user start --no-block edgevoice")
    session.wait_listening()
    user = session.guest.shell(f"ps -o user= -p {session.state('MainPID')}").strip()
    assert user == PERSON
    assert "listening" in session.shell("journalctl --user -u edgevoice --no-pager -o cat", check=False)


def test_it_is_enabled_for_the_next_start_of_the_session(session: Session) -> None:
    assert session.shell("systemctl --user is-enabled edgevoice").strip() == "enabled"
    before = session.state("MainPID")
    uid = session.guest.run("id", "-u", PERSON).strip()
    session.guest.systemctl("restart", f"user@{uid}.service")
    session.guest.wait(lambda: session.state("MainPID") not in ("0", before), 60, "started with the session")
    session.wait_listening()


def test_it_stops_in_order_and_uninstalls_keeping_the_settings(session: Session) -> None:
    session.shell("systemctl --user stop edgevoice")
    if waiting_share() < 0.5:  # on a crowded machine the threads may need more than their two seconds
        assert session.state("Result") == "success" and session.state("ExecMainStatus") == "0"
    assert session.state("ActiveState") in ("inactive", "failed") and session.state("MainPID") == "0"
    session.shell("cd /srv/checkout && scripts/uninstall --user")
    assert session.shell("ls ~/.config/systemd/user/edgevoice.service", check=False).count("No such file")
    assert session.shell("cat ~/.config/edgevoice/edgevoice.toml") == SETTINGS
