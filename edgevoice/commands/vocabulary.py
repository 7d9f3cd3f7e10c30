"""`edgevoice vocabulary`: teach the recogniser names and phrases, without retraining anything."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from edgevoice import config
from edgevoice.asr.biasing import Phrase, parse_phrase
from edgevoice.asr.lexicon import PHONES, known, pronunciations
from edgevoice.asr.vocabulary import all_phrases, save_phrases, taught_phrases
from edgevoice.commands.options import add_settings_options
from edgevoice.errors import EXIT_FAILURE, EXIT_OK, SettingsError, UsageError
from edgevoice.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="teach phrases")
    add.add_argument("phrase", nargs="+", help="PHRASE or PHRASE=WEIGHT (0 to 10, usually 3)")
    remove = actions.add_parser("remove", help="forget phrases")
    remove.add_argument("phrase", nargs="+")
    show = actions.add_parser("list", help="what was taught, and how it is pronounced")
    test = actions.add_parser("test", help="say phrases with the configured voice and see what is understood")
    test.add_argument("phrase", nargs="+")
    for action in (add, remove, show, test):
        add_settings_options(action)
        action.add_argument("--json", action="store_true", help="machine-readable output")


def run(args: argparse.Namespace) -> int:
    """Run the verb; its exit code."""
    settings = config.load(args.config, args.set)
    match args.action:
        case "add":
            return _add(args)
        case "remove":
            return _remove(args)
        case "list":
            return _list(settings, args.json)
        case _:
            return _test(settings, args)


def _add(args: argparse.Namespace) -> int:
    new = [_phrase(entry) for entry in args.phrase]
    rows = [_row(phrase) for phrase in new]  # pronounces them, so an unspeakable one is refused before anything is kept
    save_phrases({phrase.text: phrase for phrase in (*taught_phrases(), *new)}.values())
    _print(rows, args.json)
    return EXIT_OK


def _remove(args: argparse.Namespace) -> int:
    kept = {phrase.text: phrase for phrase in taught_phrases()}
    for entry in args.phrase:
        text = _phrase(entry).text
        if text not in kept:
            raise UsageError(f"phrase {text!r}", "was not taught", "`edgevoice vocabulary list` shows what was")
        del kept[text]
    save_phrases(kept.values())
    _print([_row(phrase) for phrase in kept.values()], args.json)
    return EXIT_OK


def _list(settings: Settings, as_json: bool) -> int:
    _print([_row(phrase) for phrase in all_phrases(settings.asr.vocabulary)], as_json)
    return EXIT_OK


def _test(settings: Settings, args: argparse.Namespace) -> int:
    """Exit code 1 if a phrase is not understood even with its bias."""
    from edgevoice.asr.ctc import StreamingCtc
    from edgevoice.audio.resample import MonoResampler, to_float
    from edgevoice.tts.factory import build_synthesizer

    phrases = [_phrase(entry) for entry in args.phrase]
    voice = build_synthesizer(settings)
    voice.load()
    sounds = []
    for phrase in phrases:
        resampler = MonoResampler(voice.sample_rate, 16_000)
        pieces = [resampler.accept(to_float(chunk.samples)) for chunk in voice.synthesize(phrase.text)]
        quiet = np.zeros(8000, np.float32)
        sounds.append(np.concatenate([quiet, *pieces, resampler.finish(), quiet]))
    voice.close()
    heard: list[list[str]] = []
    seconds = 0.0
    empty: list[Phrase] = []
    for taught in (empty, phrases):
        recognizer = StreamingCtc(settings.asr, phrases=taught)
        began = time.monotonic()
        recognizer.load()
        seconds = time.monotonic() - began
        heard.append([])
        for sound in sounds:
            recognizer.reset()
            recognizer.accept(sound)
            heard[-1].append(recognizer.finish().text)
        recognizer.close()
    rows = [
        {**_row(phrase), "heard_before": before, "heard": after, "understood": phrase.text in after}
        for phrase, before, after in zip(phrases, *heard, strict=True)
    ]
    if args.json:
        print(json.dumps({"phrases": rows, "load_s": round(seconds, 2)}, ensure_ascii=False))
    else:
        for row in rows:
            mark = "understood" if row["understood"] else "not understood"
            print(f"{row['phrase']}: {mark} (heard {row['heard']!r}, without teaching {row['heard_before']!r})")
    return EXIT_OK if all(row["understood"] for row in rows) else EXIT_FAILURE


def _phrase(entry: str) -> Phrase:
    """A phrase from the command line, where a wrong one is no fault of the settings."""
    try:
        return parse_phrase(entry)
    except SettingsError as error:
        raise UsageError(error.what, error.why, error.mend) from error


def _row(phrase: Phrase) -> dict[str, Any]:
    words = phrase.text.split()
    spoken = [" ".join(PHONES[phone - 1] for phone in pronunciations(word)[0]) for word in words]
    return {
        "phrase": phrase.text,
        "weight": phrase.weight,
        "pronunciation": " | ".join(spoken),
        "new_words": [word for word in words if not known(word)],
    }


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"phrases": rows}, ensure_ascii=False))
        return
    width = max((len(row["phrase"]) for row in rows), default=0)
    for row in rows:
        print(f"{row['phrase']:<{width}}  {row['weight']:>4g}  {row['pronunciation']}")
    if not rows:
        print("nothing taught yet; `edgevoice vocabulary add PHRASE` teaches one")
