"""The registry, the page that describes it, and the dashboard that draws it."""

from __future__ import annotations

import json
import re

import pytest
from prometheus_client import generate_latest

from edgevoice.dialog import ledger
from edgevoice.runtime.metrics import FOLLOWED, INTERVALS, Metrics
from scripts.document_metrics import PAGE, page

DASHBOARD = PAGE.parent / "grafana-dashboard.json"


def published(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def names(metrics: Metrics) -> set[str]:
    """Every series name Prometheus would know."""
    found = set()
    for family in metrics.registry.collect():
        suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
        found |= {family.name + suffix for suffix in suffixes}
    return found


def test_the_documentation_is_the_registry() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run python -m scripts.document_metrics"
    for query in re.findall(r"edgevoice_\w+", text.replace("edgevoice_asr_seconds`", "")):
        assert query in names(Metrics()) or f"{query}_bucket" in names(Metrics()), query


def test_the_intervals_are_the_ledgers() -> None:
    assert set(INTERVALS) == set(ledger.INTERVALS)


def test_every_query_of_the_dashboard_names_a_metric() -> None:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    queries = [t["expr"] for panel in board["panels"] for t in panel.get("targets", [])]
    assert len(queries) >= 10
    known = names(Metrics())
    for query in queries:
        used = re.findall(r"edgevoice_\w+", query)
        assert used and set(used) <= known, query
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_cached_and_synthesised_first_sound_are_separate_series() -> None:
    metrics = Metrics()
    metrics.turn(
        "complete", {"ttfa": 0.02, "eou": 0.2}, {"cached": 1, "speculative": 1, "tokens_reused": 90}, attempts=2
    )
    metrics.turn("interrupted", {"ttfa": 0.4, "eou": None}, {"cached": 0})
    text = published(metrics)
    assert 'edgevoice_ttfa_seconds_count{source="cached"} 1.0' in text
    assert 'edgevoice_ttfa_seconds_count{source="synthesised"} 1.0' in text
    assert "edgevoice_eou_seconds_count 1.0" in text
    assert 'edgevoice_turns_total{outcome="interrupted"} 1.0' in text
    assert "edgevoice_phrase_cache_hits_total 1.0" in text and "edgevoice_phrase_cache_misses_total 1.0" in text
    assert "edgevoice_speculations_total 2.0" in text and "edgevoice_speculations_kept_total 1.0" in text
    assert "edgevoice_tokens_reused_total 90.0" in text


def test_targets_lie_on_bucket_borders() -> None:
    assert {1.2, 2.5} <= set(INTERVALS["e2e"].buckets)


def test_followed_counters_are_read_when_asked() -> None:
    metrics, held = Metrics(), {"drops": 0, "retries": 5}
    metrics.follow_drops("frames", lambda: held["drops"])
    metrics.follow("audio_open_retries", lambda: held["retries"])
    held["drops"] = 3
    text = published(metrics)
    assert 'edgevoice_queue_dropped_total{queue="frames"} 3.0' in text
    assert "edgevoice_audio_open_retries_total 5.0" in text
    with pytest.raises(KeyError):
        metrics.follow("no_such_thing", lambda: 0)
    assert all(text[0].islower() for text in FOLLOWED.values())


def test_labels_hold_no_free_text() -> None:
    metrics = Metrics()
    metrics.quality(1, "answers came after 1.7 s")
    metrics.quality(2, "answers came after 2.9 s")
    metrics.event("no_input")
    metrics.event("what a person said")
    text = published(metrics)
    assert 'edgevoice_quality_reason{reason="answers came after s"} 1.0' in text
    assert text.count("edgevoice_quality_reason{") == 1
    assert 'edgevoice_events_total{event="other"} 1.0' in text and "person said" not in text


def test_two_registries_do_not_meet() -> None:
    first, second = Metrics(), Metrics()
    first.failure("generate")
    assert 'stage="generate"' in published(first) and 'stage="generate"' not in published(second)
