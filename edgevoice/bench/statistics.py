"""Percentiles of repeated measurements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def percentiles(values: Sequence[float]) -> dict[str, float | int | None]:
    """p50, p95 and p99 of `values` (milliseconds) and their number; None where there is nothing to count."""
    if not values:
        return {"p50_ms": None, "p95_ms": None, "p99_ms": None, "n": 0}
    p50, p95, p99 = (round(float(p), 1) for p in np.percentile(np.asarray(values, float), (50, 95, 99)))
    return {"p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "n": len(values)}
