"""Run `edgevoice` with an ear on every attempt to reach another machine or to start another program.

`python -m tests.e2e.network_guard REPORT ARGUMENTS…` writes one JSON line per attempt to the file REPORT.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

LOOPBACK = {"127.0.0.1", "::1", "localhost"}
RESOLVING = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
SENDING = {"socket.connect", "socket.sendto", "socket.bind", "socket.sendmsg"}
STARTING = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork"}


def leaves_the_machine(event: str, arguments: tuple[object, ...]) -> bool:
    """Whether an audit event is an attempt that must not happen. UNIX sockets have a path, no (host, port)."""
    if event in STARTING or event.startswith(("urllib.", "http.client.", "ftplib.", "smtplib.")):
        return True
    if event in RESOLVING:
        return str(arguments[0]) not in LOOPBACK
    if event in SENDING:
        address = arguments[1]
        return isinstance(address, tuple) and str(address[0]) not in LOOPBACK
    return False


def main() -> int:
    report = Path(sys.argv[1])
    report.touch()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if leaves_the_machine(event, arguments):
            with report.open("a") as file:
                file.write(json.dumps([event, repr(arguments)[:300]]) + "\n")

    sys.addaudithook(hook)
    from edgevoice.cli import main as edgevoice

    return edgevoice(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
