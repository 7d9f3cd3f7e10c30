"""Telling a person that the word graph is being built: a bar on a terminal, else two lines in the log."""

from __future__ import annotations

import logging
import sys
from typing import Any

log = logging.getLogger(__name__)


class BuildProgress:
    """Call it with what is being done and the fraction done in [0, 1]."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, what: str, fraction: float) -> None:
        """Show the step."""
        if not sys.stderr.isatty():
            if fraction in (0.0, 1.0):
                log.info("%s", "building the word graph (once on this machine)" if fraction == 0.0 else what)
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()
        self._bar.update(self._task, completed=fraction, description=f"word graph: {what}")
        if fraction >= 1.0:
            self._bar.stop()
            self._bar = None
