"""`edgevoice eval asr MANIFEST…`: error rates, speed and memory of the recogniser."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from edgevoice import config
from edgevoice.asr.evaluation import Score, as_json, evaluate, read_manifest
from edgevoice.asr.factory import build_recognizer, build_second_pass
from edgevoice.asr.recognizer import Recognizer
from edgevoice.commands.options import add_settings_options, count
from edgevoice.errors import EXIT_OK
from edgevoice.runtime.memory import rss_mb
from edgevoice.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    asr = parts.add_parser("asr", help="speech recognition")
    asr.add_argument("manifest", type=Path, nargs="+", help='JSON lines: {"audio": "a.wav", "text": "what is said"}')
    asr.add_argument("--limit", type=count, default=0, metavar="N", help="only N utterances of each manifest")
    asr.add_argument(
        "--snr", type=float, nargs="*", default=[], metavar="DB", help="also with pink noise at these ratios"
    )
    asr.add_argument("--float", type=Path, metavar="ONNX", help="also the float model, to compare INT8 with it")
    add_settings_options(asr)
    asr.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Evaluate and print a table or JSON."""
    settings = config.load(args.config, args.set)
    utterances = [u for path in args.manifest for u in read_manifest(path, args.limit)]
    before = rss_mb()
    recognizers = _recognizers(settings, args.float)
    for recognizer in recognizers.values():
        recognizer.load()
        recognizer.warm()
    first_pass = rss_mb()
    second = build_second_pass(settings)
    if second is not None:
        second.load()
        second.budget_s = float("inf")
    scores: list[Score] = []
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("recordings", total=len(utterances))
        for item in evaluate(utterances, recognizers, second, args.snr):
            if isinstance(item, Score):
                scores.append(item)
            else:
                progress.advance(task)
    memory = {
        "before_mb": round(before, 1),
        "first_pass_mb": round(first_pass - before, 1),
        "all_mb": round(rss_mb(), 1),
    }
    if args.json:
        print(json.dumps({"scores": as_json(scores), "memory": memory}))
    else:
        _print(scores, memory)
    return EXIT_OK


def _recognizers(settings: Settings, float_model: Path | None) -> dict[str, Recognizer]:
    chosen = {"first pass": build_recognizer(settings)}
    if float_model is not None:
        from edgevoice.asr.ctc import StreamingCtc

        chosen["first pass, float"] = StreamingCtc(settings.asr, model_file=float_model)
    return chosen


def _print(scores: list[Score], memory: dict[str, float]) -> None:
    table = Table(box=None, header_style="bold")
    for heading in ("source", "condition", "recogniser"):
        table.add_column(heading)
    for heading in ("utterances", "words", "WER %", "CER %", "RTF", "silent"):
        table.add_column(heading, justify="right")
    for s in scores:
        figures = (f"{100 * s.wer:.1f}", f"{100 * s.cer:.1f}", f"{s.rtf:.4f}", str(s.silent))
        table.add_row(s.source, s.condition, s.recognizer, str(s.utterances), str(s.words), *figures)
    Console(soft_wrap=True).print(table)
    print(f"memory: first pass {memory['first_pass_mb']:.0f} MB, process {memory['all_mb']:.0f} MB")
