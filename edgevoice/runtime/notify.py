"""Telling systemd how we are: the sd_notify protocol (one datagram of KEY=value lines; `man 3 sd_notify`)."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping

RELOAD_LIMIT_S = 600.0
"""Seconds a reload may take before systemd's watchdog ends it."""


class SystemdNotifier:
    """Sends to `$NOTIFY_SOCKET`; does nothing where that is not set. Never raises: a deaf systemd must not stop us."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        self._address = environment.get("NOTIFY_SOCKET", "")
        self.watchdog_s = _watchdog_interval(environment)
        """Seconds after which systemd kills a silent service; None without a watchdog."""
        self._status = ""

    @property
    def active(self) -> bool:
        """True under a systemd that listens."""
        return bool(self._address)

    def ready(self) -> None:
        """The service does its work now."""
        self._send("READY=1", *self._watchdog_line(self.watchdog_s))

    def reloading(self) -> None:
        """A reload has begun; `ready` ends it. Until then the watchdog is patient: loading may keep every thread out."""
        moment = f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}"
        self._send("RELOADING=1", moment, *self._watchdog_line(self.watchdog_s and RELOAD_LIMIT_S))

    def stopping(self) -> None:
        """The service is on its way out."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """Feed the watchdog."""
        self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`; sent only when it changes."""
        if text != self._status:
            self._status = text
            self._send("STATUS=" + " ".join(text.split()))

    @staticmethod
    def _watchdog_line(seconds: float | None) -> list[str]:
        return [f"WATCHDOG_USEC={round(seconds * 1e6)}"] if seconds else []

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.settimeout(1.0)
                sender.sendto("\n".join(lines).encode(), address)
        except OSError:
            return


def _watchdog_interval(environment: Mapping[str, str]) -> float | None:
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        return int(environment["WATCHDOG_USEC"]) / 1e6 or None
    except (KeyError, ValueError):
        return None
