"""A picture of where the milliseconds go, from the end of speech to the first sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROWS = (
    ("eou", "silence until the endpoint"),
    ("asr", "transcript ready"),
    ("ttft", "question → first token"),
    ("first_clause", "first token → first clause"),
    ("ttfb", "first clause → first PCM"),
    ("eou_to_ttfa", "endpoint → first audible"),
    ("e2e", "end of speech → first audible"),
)


def draw(intervals: dict[str, dict[str, Any]], path: Path) -> None:
    """Write a PNG with the median (bar) and the 95th percentile (line) of each interval, in milliseconds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5))
    axes = figure.subplots()
    rows = [(text, intervals[name]) for name, text in ROWS if intervals[name]["p50_ms"] is not None]
    for y, (_, row) in enumerate(rows):
        axes.barh(y, row["p50_ms"], color="#4477aa")
        axes.plot([row["p50_ms"], row["p95_ms"]], [y, y], color="#223355", marker="|")
        axes.text(row["p95_ms"] + 3, y, f"{row['p50_ms']:.0f} / {row['p95_ms']:.0f}", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [text for text, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds (median bar, line to p95)")
    figure.tight_layout()
    figure.savefig(path, dpi=120, format="png")
