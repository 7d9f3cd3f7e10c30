"""`edgevoice chat`: type to the assistant's mind instead of speaking to it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from edgevoice import config
from edgevoice.errors import EXIT_OK
from edgevoice.llm.factory import build_generator
from edgevoice.llm.generator import Exchange, Generator, PromptUse
from edgevoice.llm.intents import Intents, plain
from edgevoice.settings import Settings

LEAVE = {"", "/quit", "/exit"}
"""Lines that end the conversation on a terminal."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("text", nargs="*", help="say this and leave; default: read lines until the end of input")
    parser.add_argument("--json", action="store_true", help="one JSON object per answer")


def run(args: argparse.Namespace) -> int:
    """Run the verb; its exit code."""
    settings = config.load(args.config, args.set)
    intents = Intents(settings.asr.language, Path(settings.llm.intents) if settings.llm.intents else None)
    generator = build_generator(settings)
    console = Console(stderr=True)
    with console.status("loading the language model"):
        generator.load()
        generator.warm()
    try:
        _converse(args, settings, generator, intents)
    finally:
        generator.close()
    return EXIT_OK


def _converse(args: argparse.Namespace, settings: Settings, generator: Generator, intents: Intents) -> None:
    history: tuple[Exchange, ...] = ()
    most = settings.dialog.history_pairs
    for line in [" ".join(args.text)] if args.text else _lines():
        words = plain(line)
        if not words:
            continue
        begun, first, answer = time.monotonic(), None, ""
        fixed = intents.reply(words, history)
        for piece in [fixed] if fixed is not None else _answer(generator, history, words):
            first = first or time.monotonic()
            answer += piece
            if not args.json:
                print(piece, end="", flush=True)
        now = time.monotonic()
        if args.json:
            use = PromptUse(0, 0, 0) if fixed is not None else generator.last_use()
            report = {
                "text": line.strip(),
                "reply": answer,
                "ttft_ms": round(((first or now) - begun) * 1000, 1),
                "total_ms": round((now - begun) * 1000, 1),
                "prompt_tokens": use.tokens,
                "prompt_tokens_evaluated": use.evaluated,
            }
            print(json.dumps(report), flush=True)
        else:
            print(flush=True)
        history = (*history, Exchange(words, answer))
        if len(history) > most:
            history = history[len(history) - most // 2 :] if most else ()


def _answer(generator: Generator, history: tuple[Exchange, ...], words: str) -> Iterator[str]:
    return (token.text for token in generator.generate(history, words) if token.text)


def _lines() -> Iterator[str]:
    """Lines from the keyboard (with a prompt and editing) or from a pipe."""
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    import readline  # noqa: F401  (gives `input` its line editing)

    print("Type a question; an empty line ends the conversation.", file=sys.stderr)
    while True:
        try:
            line = input("> ")
        except EOFError:
            return
        if line.strip() in LEAVE:
            return
        yield line
