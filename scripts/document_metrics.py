"""Write the table of docs/metrics.md from the registry: `python -m scripts.document_metrics`."""

from __future__ import annotations

from pathlib import Path

from edgevoice.runtime.metrics import INTERVALS, Metrics

PAGE = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"
BEGIN, END = "<!-- metrics: begin -->", "<!-- metrics: end -->"


def table() -> str:
    """The registry as a Markdown table."""
    lines = ["| name | kind | labels | meaning |", "|---|---|---|---|"]
    metrics = Metrics()
    followed = {family.name for family in metrics._followed.describe()}
    for family in sorted(metrics.registry.collect(), key=lambda f: f.name):
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = "queue" if name == "edgevoice_queue_dropped_total" else ""
        if family.name not in followed:
            collector = metrics.registry._names_to_collectors[family.name]
            labels = ", ".join(getattr(collector, "_labelnames", ()))
        lines.append(f"| `{name}` | {family.type} | {labels} | {family.documentation} |")
    return "\n".join(lines)


def buckets() -> str:
    """The histograms' borders."""
    lines = ["| histogram | borders in seconds |", "|---|---|"]
    for name, interval in INTERVALS.items():
        lines.append(f"| `edgevoice_{name}_seconds` | {', '.join(f'{b:g}' for b in interval.buckets)} |")
    return "\n".join(lines)


def page(old: str) -> str:
    """`old` with a fresh table between the marks."""
    head, _, rest = old.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table()}\n\n{buckets()}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
