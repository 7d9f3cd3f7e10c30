"""The dashboard against Grafana's own model of one, and its queries against a real Prometheus that scrapes our page."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from edgevoice.runtime.metrics import FOLLOWED, INTERVALS, OUTCOMES, Metrics
from edgevoice.serve.metrics import MetricsServer
from edgevoice.settings import MetricsSettings
from tests.audio.sound import until

BOARD = Path(__file__).resolve().parents[2] / "docs" / "grafana-dashboard.json"
SCRAPES = """
scrape_configs:
- job_name: edgevoice
  scrape_interval: 500ms
  static_configs:
  - targets: ["127.0.0.1:{}"]
"""


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(BOARD.read_text(encoding="utf-8"))
    return found


def queries() -> list[str]:
    """As Grafana would send them, over a short range."""
    found = [target["expr"] for panel in board()["panels"] for target in panel.get("targets", [])]
    for name, value in {"$instance": ".*", "$__rate_interval": "10s", "[1h]": "[10s]", "[15m]": "[10s]"}.items():
        found = [query.replace(name, value) for query in found]
    return found


def lost(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """What is in `before` and not in `after`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from lost(value, after.get(key), f"{path}/{key}") if key in after else [f"{path}/{key}"]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (left, right) in enumerate(zip(before, after, strict=True)):
            yield from lost(left, right, f"{path}[{i}]")
    elif before != after:
        yield path


def test_grafana_knows_every_field_of_the_dashboard() -> None:
    register_default_plugins()
    understood = json.loads(JSONEncoder().encode(Dashboard.from_json(board())))
    # The editor's text of a variable's query is no part of the published model; `query` holds the same.
    assert [path for path in lost(board(), understood) if not path.endswith("/definition")] == []


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board()["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def live(metrics: Metrics) -> None:
    """A turn in which everything happens that has a figure."""
    facts = {"cached": 0, "speculative": 1, "tokens_evaluated": 3, "tokens_reused": 200, "tokens": 9}
    for outcome in OUTCOMES:
        metrics.turn(outcome, dict.fromkeys(INTERVALS, 0.3), facts, attempts=2)
    metrics.event("barge_in")
    metrics.failure("generate")


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[Any]]]:
    """Results of a query to a Prometheus that has scraped a busy page for a few seconds."""
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed (apt-get install prometheus)")
    metrics, folder, count = Metrics(), tmp_path_factory.mktemp("prometheus"), iter(range(10**9))
    for name in FOLLOWED:
        metrics.follow(name, lambda: next(count))
    metrics.follow_drops("frames", lambda: next(count))
    metrics.rtf("listen", 0.02)
    metrics.queue("frames", 0.1)
    metrics.quality(1, "answers came after 1.4 s")
    metrics.hearing(True)
    metrics.process(800, 4000, 20, 60)
    metrics.heat(False, 51.0)
    page = MetricsServer(metrics.registry, tuple, MetricsSettings(port=0))
    page.start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "prometheus.yml").write_text(SCRAPES.format(page.port))
    server = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def query(text: str) -> list[Any]:
        live(metrics)
        where = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
        with urllib.request.urlopen(where, timeout=5) as answer:
            found: list[Any] = json.load(answer)["data"]["result"]
        return found

    def scraped() -> bool:
        try:
            return bool(query("rate(edgevoice_turns_total[10s]) > 0"))
        except OSError:
            time.sleep(0.2)
            return False

    try:
        assert until(scraped, 60), "prometheus does not scrape"
        yield query
    finally:
        server.terminate()
        server.wait(20)
        page.stop()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("query", queries())
def test_each_query_of_the_dashboard_has_an_answer(ask: Callable[[str], list[Any]], query: str) -> None:
    results = ask(query)
    assert results, query
    assert all(result["value"][1] != "NaN" for result in results), query
