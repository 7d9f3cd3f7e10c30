"""The metrics and health page over real HTTP on loopback."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator

import pytest

from edgevoice.errors import UnavailableError
from edgevoice.runtime.metrics import Metrics
from edgevoice.serve import metrics as page
from edgevoice.serve.metrics import MetricsServer
from edgevoice.settings import MetricsSettings


@pytest.fixture
def problems() -> list[str]:
    return []


@pytest.fixture
def server(problems: list[str]) -> Iterator[MetricsServer]:
    metrics = Metrics()
    metrics.turn("complete", {"e2e": 0.3})
    server = MetricsServer(metrics.registry, lambda: problems, MetricsSettings(port=0))
    server.start()
    yield server
    assert server.stop()


def get(server: MetricsServer, path: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def test_the_figures_are_served(server: MetricsServer) -> None:
    status, body = get(server, "/metrics")
    assert status == 200 and 'edgevoice_turns_total{outcome="complete"} 1.0' in body


def test_a8_health_is_503_while_deaf_and_200_again_after(server: MetricsServer, problems: list[str]) -> None:
    assert get(server, "/healthz") == (200, "ok\n")
    problems.append("no sound from the microphone for 5 s")
    assert get(server, "/healthz") == (503, "no sound from the microphone for 5 s\n")
    problems.clear()
    assert get(server, "/healthz")[0] == 200


def test_other_paths_and_methods_are_refused(server: MetricsServer) -> None:
    assert get(server, "/../etc/passwd")[0] == 404
    assert get(server, "/metrics", "POST")[0] == 501
    assert get(server, "/healthz", "HEAD") == (200, "")


def test_it_listens_on_loopback_only_by_default() -> None:
    assert MetricsSettings().host == "127.0.0.1" and not MetricsSettings().enabled


def test_a_taken_port_is_one_clear_error(server: MetricsServer) -> None:
    second = MetricsServer(Metrics().registry, list, MetricsSettings(port=server.port))
    with pytest.raises(UnavailableError, match=r"metrics\.port"):
        second.start()


def test_d7_readers_that_hang_neither_block_others_nor_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page._Handler, "timeout", 0.5)
    server = MetricsServer(Metrics().registry, list, MetricsSettings(port=0))
    server.start()
    hanging = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(page.MAX_CONNECTIONS - 1)]
    assert get(server, "/healthz")[0] == 200
    hanging.append(socket.create_connection(("127.0.0.1", server.port)))
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:  # all places are taken until the deadline frees them
        try:
            assert get(server, "/healthz")[0] == 200
            break
        except (ConnectionError, http.client.HTTPException):
            time.sleep(0.1)
    else:
        pytest.fail("the hanging readers were never cut off")
    began = time.monotonic()
    assert server.stop()
    assert time.monotonic() - began < 2
    for connection in hanging:
        connection.close()
