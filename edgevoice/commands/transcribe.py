"""`edgevoice transcribe FILE…`: write down what is said in sound files."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from edgevoice import config
from edgevoice.asr.transcriber import Transcriber
from edgevoice.audio.files import read_frames
from edgevoice.errors import EXIT_OK, EdgeVoiceError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="sound file (any format, rate and length); - is stdin")
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Transcribe every file that can be read; the exit code of the first error, or 0."""
    transcriber = Transcriber(config.load(args.config, args.set))
    transcriber.load()
    files: list[dict[str, Any]] = []
    code = EXIT_OK
    try:
        for name in args.files:
            try:
                recording = transcriber.recording(read_frames(name, block_ms=100))
            except EdgeVoiceError as error:
                # The other files are still worth their transcript.
                print(f"edgevoice: {error}", file=sys.stderr)
                code = code or error.exit_code
                continue
            row = {
                "file": name,
                "first_pass": recording.first_pass,
                "transcript": recording.transcript,
                "seconds": round(recording.seconds, 3),
                "rtf": round(recording.rtf, 4),
            }
            files.append(row)
            if not args.json:
                print(_text(row, len(args.files)), flush=True)
    finally:
        transcriber.close()
    if args.json:
        print(json.dumps({"files": files}, ensure_ascii=False))
    return code


def _text(row: dict[str, Any], count: int) -> str:
    text = row["transcript"] or "(no speech)"
    return text if count == 1 else f"{row['file']}: {text}"
