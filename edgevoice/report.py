"""How a turn is shown: as stable JSON, and as a waterfall for people."""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

from edgevoice.dialog.ledger import Point, TurnRecord

SHOWN = {
    Point.FINAL_TEXT: "transcript ready",
    Point.FIRST_TOKEN: "first token",
    Point.FIRST_CLAUSE: "first clause",
    Point.FIRST_PCM: "first sound made",
    Point.ENDPOINT: "endpoint decided",
    Point.FIRST_AUDIBLE: "first sound heard",
}
"""Points of the waterfall, with their words."""
WIDTH = 40
"""Characters of the waterfall's bars."""


def turn_json(record: TurnRecord) -> dict[str, Any]:
    """One turn for `--json`; the keys are documented in docs/json.md and stay stable."""
    return {
        "transcript": record.transcript,
        "first_pass": record.first_pass,
        "partials": [{"text": text, "ms": round(seconds * 1000)} for text, seconds in record.partials],
        "reply": record.reply,
        "complete": record.complete,
        "attempts": len(record.attempts),
        "ledger": record.intervals_ms(),
        "facts": dict(record.facts),
    }


def waterfall(record: TurnRecord) -> str:
    """Milliseconds from the last speech sample to each point, with bars."""
    start = record.time(Point.SPEECH_END)
    if start is None:
        return ""
    rows = [(text, (at - start) * 1000) for p, text in SHOWN.items() if (at := record.time(p)) is not None]
    rows.sort(key=lambda row: row[1])
    longest = max((ms for _, ms in rows), default=0.0)
    scale = WIDTH / longest if longest > 0 else 0.0
    lines = [f"    {text:<18}{ms:6.0f} ms  {'█' * round(max(0.0, ms) * scale)}" for text, ms in rows]
    return "\n".join(["  after your last sound", *lines])


def peak_rss_mb() -> float:
    """Largest resident memory of this process so far, in MB (2**20 bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def cpu_seconds() -> float:
    """Processor seconds of this process, all threads."""
    return time.process_time()
