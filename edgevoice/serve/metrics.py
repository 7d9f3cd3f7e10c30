"""`/metrics` for Prometheus and `/healthz` for whoever asks "does it hear?", on a loopback port."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from edgevoice.errors import UnavailableError
from edgevoice.settings import MetricsSettings

REQUEST_DEADLINE_S = 5.0
MAX_CONNECTIONS = 8


class MetricsServer:
    """Serves until `stop`. `problems()` says what is wrong; empty: healthy."""

    def __init__(
        self, registry: CollectorRegistry, problems: Callable[[], Sequence[str]], settings: MetricsSettings
    ) -> None:
        self._registry, self._problems, self._settings = registry, problems, settings
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port in use (the system's choice when the setting is 0); 0 while not running."""
        return self._server.server_port if self._server else 0

    def start(self) -> None:
        """Open the port. Raises UnavailableError when it cannot be had."""
        registry, problems = self._registry, self._problems

        class Handler(_Handler):
            pages: ClassVar = {
                "/metrics": lambda: (200, CONTENT_TYPE_LATEST, generate_latest(registry)),
                "/healthz": lambda: _health_page(problems()),
            }

        where = f"{self._settings.host}:{self._settings.port}"
        try:
            self._server = _Server((self._settings.host, self._settings.port), Handler)
        except OSError as error:
            raise UnavailableError(
                f"metrics page on {where}", error.strerror or str(error), "set metrics.port to a free port"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_until_told, name="metrics")
        self._thread.start()

    def stop(self, timeout: float = 1.0) -> bool:
        """Close the port; True if the thread has ended."""
        if self._server is None or self._thread is None:
            return True
        self._server.ending.set()
        self._thread.join(timeout)
        self._server.server_close()
        self._server = None
        return not self._thread.is_alive()


def _health_page(problems: Sequence[str]) -> tuple[int, str, bytes]:
    text = "ok\n" if not problems else "".join(f"{problem}\n" for problem in problems)
    return 503 if problems else 200, "text/plain; charset=utf-8", text.encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a reader that hangs must not delay our end; it is cut off by its deadline
    request_queue_size = MAX_CONNECTIONS
    timeout = 0.2
    """Seconds between two looks at whether it has to end."""

    def __init__(self, address: tuple[str, int], handler: type[_Handler]) -> None:
        self.ending = threading.Event()
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(address, handler)

    def serve_until_told(self) -> None:
        """In place of `serve_forever`, whose `shutdown` waits without a deadline."""
        while not self.ending.is_set():
            self.handle_request()

    def process_request(self, request, client_address) -> None:  # type: ignore[no-untyped-def]
        """Hand a connection to a thread, or refuse it when too many are open."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request, client_address) -> None:  # type: ignore[no-untyped-def]
        """Runs on the connection's own thread."""
        threading.current_thread().name = "metrics-request"
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request, client_address) -> None:  # type: ignore[no-untyped-def]
        """A reader that goes away half-way is nobody's problem."""


class _Handler(BaseHTTPRequestHandler):
    pages: ClassVar[dict[str, Callable[[], tuple[int, str, bytes]]]] = {}
    timeout = REQUEST_DEADLINE_S
    server_version, sys_version = "edgevoice", ""

    def do_GET(self) -> None:
        """Answer one page."""
        page = self.pages.get(self.path.partition("?")[0])
        status, kind, body = page() if page else (404, "text/plain", b"/metrics or /healthz\n")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged: one line every 15 s for ever tells nobody anything."""
