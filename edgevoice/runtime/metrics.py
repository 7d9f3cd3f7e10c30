"""Every figure the assistant publishes, in one registry. `docs/metrics.md` is written from it and held to it by a test.

Stages do not import this: the assistant and the monitor fill it in. Figures that a part counts anyway (dropped items,
retries) are read from the part when somebody asks, with `follow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

FAST = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0)
"""Buckets in seconds for work of one stage: what is felt lies between 50 ms and half a second."""
ANSWER = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.2, 1.5, 2.0, 2.5, 4.0, 8.0)
"""Buckets in seconds for what the user waits: fine below half a second, the targets 1.2 s and 2.5 s on borders."""


@dataclass(frozen=True)
class Interval:
    """One stretch of a turn's ledger, published as a histogram."""

    help: str
    buckets: tuple[float, ...]
    by_source: bool = False
    """Cached and synthesised first sound are separate series: the cache would hide a slow voice."""


INTERVALS: dict[str, Interval] = {
    "first_partial": Interval("a sample's capture to the first words that account for it", FAST),
    "eou": Interval("last speech sample to the decision that the user has finished", ANSWER),
    "asr": Interval("last speech sample to the transcript that is answered", FAST),
    "ttft": Interval("request to the language model to its first token", FAST),
    "first_clause": Interval("first token to the first clause for the voice", FAST),
    "ttfb": Interval("first clause to its first sound from the voice", FAST, by_source=True),
    "ttfa": Interval("request to the first audible sample of the answer", ANSWER, by_source=True),
    "eou_to_ttfa": Interval("decision that the user has finished to the first audible sample", ANSWER, by_source=True),
    "e2e": Interval("last speech sample to the first audible sample of the answer", ANSWER, by_source=True),
}
"""The intervals of the turn ledger (`edgevoice.dialog.ledger.INTERVALS`; a test holds the two together)."""

OUTCOMES = ("complete", "interrupted", "merged", "failed")
"""How a turn can end."""

EVENTS = (
    "no_input",
    "no_match",
    "no_words",
    "backchannel",
    "too_long",
    "no_new_words",
    "too_loud",
    "too_quiet",
    "barge_in",
    "false_interruption",
    "missed_sound",
    "answer_failed",
    "wake",
)
"""What else can happen in a conversation; an event of another name is counted as `other`."""

FOLLOWED: dict[str, str] = {
    "audio_open_retries": "attempts to open a sound device that failed and were repeated",
    "audio_reopens": "times a lost microphone or speaker was opened again",
    "audio_underruns": "times the speaker ran out of sound in the middle of an answer",
    "audio_overflows": "times the microphone's driver lost sound before we took it",
    "stage_restarts": "stages started again after they died",
}
"""Counters kept by the parts themselves: name without prefix -> help."""

COUNTED: dict[str, str] = {
    "tokens_evaluated": "prompt tokens the language model had to evaluate",
    "tokens_reused": "prompt tokens found in the language model's cache",
    "tokens_generated": "tokens the language model wrote",
    "phrase_cache_hits": "answers whose first sound came from the phrase cache",
    "phrase_cache_misses": "answers whose first sound had to be synthesised",
    "speculations": "answers begun before the user had certainly finished",
    "speculations_kept": "speculative answers that turned out right",
}
"""Counters added up from the facts of finished turns: name without prefix -> help."""


class Metrics:
    """The registry and its figures. All methods may be called from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._histograms = {
            name: Histogram(
                f"edgevoice_{name}_seconds",
                f"Seconds from {interval.help}",
                labelnames=("source",) if interval.by_source else (),
                buckets=interval.buckets,
                registry=self.registry,
            )
            for name, interval in INTERVALS.items()
        }
        self._turns = self._counter("turns", "Turns by how they ended", "outcome")
        self._counted = {name: self._counter(name, text[0].upper() + text[1:]) for name, text in COUNTED.items()}
        self._events = self._counter("events", "Events of the conversation", "event")
        self._failures = self._counter("stage_failures", "Deaths of a stage", "stage")
        self._rtf = self._gauge("rtf", "Compute time / audio time of a stage over its last 10 s of sound", "stage")
        self._depth = self._gauge(
            "queue_depth", "What waits in a queue, in its own unit (seconds, tokens, items)", "queue"
        )
        self._level = self._gauge("quality_level", "Level of the quality governor; 0 is full quality")
        self._reason = self._gauge("quality_reason", "1 for the reason of the present quality level", "reason")
        self._hearing = self._gauge("hearing", "1 while sound comes in and every stage moves")
        self._rss = self._gauge("resident_memory_bytes", "Resident memory of the process")
        self._headroom = self._gauge("memory_headroom_bytes", "Memory that can still be had")
        self._threads = self._gauge("threads", "Threads of the process")
        self._fds = self._gauge("open_files", "Open file descriptors of the process")
        self._throttled = self._gauge("throttled", "1 while the board is slowed down by heat or undervoltage")
        self._celsius = self._gauge("temperature_celsius", "Hottest thermal zone")
        self._followed = _Followed()
        self.registry.register(self._followed)

    def turn(
        self,
        outcome: str,
        intervals: Mapping[str, float | None],
        facts: Mapping[str, float | int | str] | None = None,
        attempts: int = 1,
    ) -> None:
        """Count a finished turn. `intervals`: name of `INTERVALS` -> seconds, None for what the turn did not reach.

        `facts` of the turn's record: `cached` (its first sound came from the phrase cache), `speculative`, tokens.
        `attempts`: answers that were begun for it.
        """
        facts = facts or {}
        cached = bool(facts.get("cached"))
        self._turns.labels(outcome).inc()
        self._count_facts(facts, attempts)
        for name, seconds in intervals.items():
            histogram = self._histograms[name]
            if seconds is None:
                continue
            if INTERVALS[name].by_source:
                histogram.labels("cached" if cached else "synthesised").observe(seconds)
            else:
                histogram.observe(seconds)

    def _count_facts(self, facts: Mapping[str, float | int | str], attempts: int) -> None:
        kept = int(bool(facts.get("speculative")))
        counts = {
            "tokens_evaluated": facts.get("tokens_evaluated", 0),
            "tokens_reused": facts.get("tokens_reused", 0),
            "tokens_generated": facts.get("tokens", 0),
            "phrase_cache_hits": int("cached" in facts and bool(facts["cached"])),
            "phrase_cache_misses": int("cached" in facts and not facts["cached"]),
            "speculations": max(0, attempts - 1 + kept),
            "speculations_kept": kept,
        }
        for name, count in counts.items():
            self._counted[name].inc(float(count))

    def event(self, name: str) -> None:
        """Count an event of the conversation."""
        self._events.labels(name if name in EVENTS else "other").inc()

    def failure(self, stage: str) -> None:
        """Count a stage that died."""
        self._failures.labels(stage).inc()

    def rtf(self, stage: str, value: float) -> None:
        """Set a stage's real-time factor."""
        self._rtf.labels(stage).set(value)

    def queue(self, name: str, depth: float) -> None:
        """Set what waits in a queue."""
        self._depth.labels(name).set(depth)

    def quality(self, level: int, reason: str) -> None:
        """Set the governor's level and why."""
        self._level.set(level)
        # Figures in a reason would make a new series each time: only its words are a label.
        words = "".join(c for c in reason if not c.isdigit() and c not in "().%").strip()
        self._reason.clear()
        self._reason.labels(" ".join(words.split())).set(1)

    def hearing(self, well: bool) -> None:
        """Set whether sound comes in and every stage moves."""
        self._hearing.set(well)

    def process(self, rss_mb: float, headroom_mb: float, threads: int, open_files: int) -> None:
        """Set what the process holds."""
        self._rss.set(rss_mb * 2**20)
        self._headroom.set(headroom_mb * 2**20)
        self._threads.set(threads)
        self._fds.set(open_files)

    def heat(self, throttled: bool, celsius: float | None) -> None:
        """Set the board's heat."""
        self._throttled.set(throttled)
        self._celsius.set(float("nan") if celsius is None else celsius)

    def follow(self, name: str, read: Callable[[], float]) -> None:
        """Publish a counter that a part keeps itself; `name` is one of `FOLLOWED`."""
        self._followed.add(name, "", read)

    def follow_drops(self, queue: str, read: Callable[[], float]) -> None:
        """Publish how many items a queue has dropped."""
        self._followed.add("queue_dropped", queue, read)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"edgevoice_{name}", text, labelnames=labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"edgevoice_{name}", text, labelnames=labels, registry=self.registry)


class _Followed(Collector):
    """Reads the parts' own counters when the page is asked for."""

    def __init__(self) -> None:
        self._readers: dict[tuple[str, str], Callable[[], float]] = {}

    def add(self, name: str, queue: str, read: Callable[[], float]) -> None:
        if name not in FOLLOWED and name != "queue_dropped":
            raise KeyError(name)
        self._readers[name, queue] = read

    def describe(self) -> Iterator[Metric]:
        return self._families().values().__iter__()

    def collect(self) -> Iterator[Metric]:
        families = self._families()
        for (name, queue), read in list(self._readers.items()):
            families[name].add_metric([queue] if queue else [], read())
        yield from families.values()

    @staticmethod
    def _families() -> dict[str, CounterMetricFamily]:
        families = {
            name: CounterMetricFamily(f"edgevoice_{name}", text[0].upper() + text[1:])
            for name, text in FOLLOWED.items()
        }
        families["queue_dropped"] = CounterMetricFamily(
            "edgevoice_queue_dropped", "Items a full queue refused or dropped", labels=["queue"]
        )
        return families
