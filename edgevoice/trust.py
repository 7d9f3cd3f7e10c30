"""Whether a service can trust a settings file: only root and the service's own user may have written it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from edgevoice.errors import SettingsError


def is_service(environment: Mapping[str, str]) -> bool:
    """True if systemd started this process itself (not a shell inside some service)."""
    return bool(environment.get("NOTIFY_SOCKET")) or environment.get("SYSTEMD_EXEC_PID") == str(os.getpid())


def check_trusted(path: Path | str) -> None:
    """Refuse `path` if another user owns or may write it, or may replace it in its folder.

    Raises SettingsError. A folder with the sticky bit (such as /tmp) lets nobody replace another user's file.
    """
    real = Path(path).resolve()
    _check(real, real.stat(), real)
    for folder in real.parents:
        state = folder.stat()
        if not state.st_mode & stat.S_ISVTX:
            _check(folder, state, real)


def _check(place: Path, state: os.stat_result, file: Path) -> None:
    why = ""
    if state.st_uid not in (0, os.geteuid()):
        why = f"{place} belongs to user {state.st_uid}"
    elif state.st_mode & stat.S_IWOTH:
        why = f"anybody may write to {place}"
    elif state.st_mode & stat.S_IWGRP and state.st_gid not in (0, os.getegid()):
        why = f"group {state.st_gid} may write to {place}"
    if why:
        mend = f"sudo chown root: {place}; sudo chmod go-w {place}"
        raise SettingsError(str(file), f"not trusted by the service: {why}", mend)
