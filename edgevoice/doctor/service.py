"""The service: who runs it, what that user sees, and its port."""

from __future__ import annotations

import errno
import getpass
import grp
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from edgevoice import config
from edgevoice.doctor.finding import Finding, fail, ok, warn
from edgevoice.errors import EdgeVoiceError
from edgevoice.settings import Settings
from edgevoice.trust import check_trusted

UNIT = "edgevoice.service"
DEADLINE_S = 5.0


def view(settings_file: str | None) -> Iterator[Finding]:
    """Who this is and where it looks: a service's user sees other devices than the person at the shell."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    groups = sorted({_group(number) for number in os.getgroups()})
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    text = f"{user}, groups {', '.join(groups) or 'none'}; XDG_RUNTIME_DIR {runtime or 'unset'}"
    if runtime and not os.access(runtime, os.R_OK | os.X_OK):
        yield warn("user", f"{text} (not readable)", "log in as this user, or unset XDG_RUNTIME_DIR")
    else:
        yield ok("user", text)
    file = settings_file or os.environ.get("EDGEVOICE_CONFIG")
    path = Path(file) if file else next((p for p in config.default_files(os.environ) if p.is_file()), None)
    if path is None:
        yield ok("settings", "none; all defaults")
        return
    try:
        check_trusted(path)
    except EdgeVoiceError as error:
        yield warn("settings", f"{path}: {error.why}", error.mend)
    else:
        yield ok("settings", f"{path}; only root or this user may write it")


def unit() -> Iterator[Finding]:
    """The systemd unit, system's or user's."""
    if shutil.which("systemctl") is None:
        yield ok("service", "no systemd here")
        return
    for scope in ((), ("--user",)):
        shown = _systemctl(*scope, "show", UNIT, "-p", "LoadState,ActiveState,SubState,NRestarts,StatusText,User")
        if shown.get("LoadState") != "loaded":
            continue
        name = "user service" if scope else f"system service (user {shown.get('User') or 'root'})"
        text = f"{name}: {shown.get('ActiveState')} ({shown.get('SubState')}), {shown.get('NRestarts')} restarts"
        if shown.get("StatusText"):
            text += f"; {shown['StatusText']}"
        if shown.get("ActiveState") == "failed":
            flag = "--user " if scope else ""
            yield fail("service", text, f"journalctl {flag}-u edgevoice -n 30")
        elif int(shown.get("NRestarts") or 0) > 3:
            yield warn("service", text, "look for the reason: journalctl -u edgevoice")
        else:
            yield ok("service", text)
        return
    yield ok("service", "not installed as a service (scripts/install does it)")


def port(settings: Settings) -> Iterator[Finding]:
    """Whether the metrics page's port can be had, or is served by edgevoice already."""
    if not settings.metrics.enabled:
        yield ok("port", "metrics page is off")
        return
    where = f"{settings.metrics.host}:{settings.metrics.port}"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.metrics.host, settings.metrics.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                yield warn("port", f"{where} is in use", "by edgevoice itself? else set metrics.port to a free one")
            else:
                yield fail("port", f"{where}: {error.strerror}", "set metrics.host and metrics.port")
            return
    yield ok("port", f"{where} is free")


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _systemctl(*arguments: str) -> dict[str, str]:
    try:
        done = subprocess.run(
            ["systemctl", *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
