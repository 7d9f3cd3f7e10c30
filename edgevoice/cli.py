"""The command line: an ordered table of verbs, and a dispatcher that turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from edgevoice import __version__
from edgevoice.errors import EXIT_CODES, EXIT_INTERRUPTED, EXIT_IO, EXIT_OK, EXIT_SOFTWARE, EdgeVoiceError
from edgevoice.runtime.allocator import limit_arenas
from edgevoice.trust import is_service

VERBS: dict[str, tuple[str, str]] = {
    "run": ("edgevoice.commands.run", "listen on the microphone and answer on the speaker"),
    "replay": ("edgevoice.commands.replay", "run the same daemon with sound files as the microphone"),
    "say": ("edgevoice.commands.say", "speak a text"),
    "voices": ("edgevoice.commands.voices", "list, optimise and compare voices"),
    "transcribe": ("edgevoice.commands.transcribe", "write down what is said in sound files"),
    "vocabulary": ("edgevoice.commands.vocabulary", "teach the recogniser names and phrases"),
    "eval": ("edgevoice.commands.eval", "measure error rates, speed and memory on recordings with known words"),
    "chat": ("edgevoice.commands.chat", "type to the language model instead of speaking"),
    "bench": ("edgevoice.commands.bench", "measure this machine: latency, recognition, voice, room, load"),
    "devices": ("edgevoice.commands.devices", "show microphones and speakers, and which would be used"),
    "models": ("edgevoice.commands.models", "list and verify models"),
    "doctor": ("edgevoice.commands.doctor", "examine this machine: devices, models, speed, service"),
    "config": ("edgevoice.commands.config", "show and check settings"),
}
"""verb -> (module with `configure` and `run`, help)."""


def build_parser(verb: str | None) -> argparse.ArgumentParser:
    """The parser; only the module of the chosen `verb` is imported, so that `--help` stays instant."""
    codes = "\n".join(f"  {code:3}  {meaning}" for code, meaning in sorted(EXIT_CODES.items()))
    parser = argparse.ArgumentParser(
        prog="edgevoice",
        description="A voice assistant that lives entirely on this computer.",
        epilog=f"exit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"edgevoice {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, (module, text) in VERBS.items():
        sub = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.add_argument("--config", metavar="FILE", help="settings file (TOML)")
        sub.add_argument(
            "--set",
            metavar="SECTION.KEY=VALUE",
            action="append",
            default=[],
            help="override one setting; may be repeated",
        )
        if name == verb:
            importlib.import_module(module).configure(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the process's exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    verb = next((a for a in argv if not a.startswith("-")), None)
    args = build_parser(verb).parse_args(argv)
    limit_arenas()
    try:
        code = importlib.import_module(VERBS[args.verb][0]).run(args)
        sys.stdout.flush()
        return int(code)
    except EdgeVoiceError as error:
        print(f"edgevoice: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader went away (`| head`): not an error. Stdout now leads nowhere, so that the last flush is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as error:
        print(f"edgevoice: {error.filename or 'system'}: {error.strerror or error}", file=sys.stderr)
        return EXIT_IO
    except Exception as error:  # noqa: BLE001 - a person gets one line and a documented exit code, whatever it was
        _tell_defect(error, args)
        return EXIT_SOFTWARE


def _tell_defect(error: Exception, args: argparse.Namespace) -> None:
    """One line; the trace as well for whoever debugs, and in a service's log, where nobody can simply try again."""
    if is_service(os.environ) or _debugging(args):
        traceback.print_exception(error)
    mend = "a defect of edgevoice: please report it with the trace that EDGEVOICE_RUNTIME_LOG_LEVEL=debug shows"
    text = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"edgevoice: internal error: {text} — {mend}", file=sys.stderr)


def _debugging(args: argparse.Namespace) -> bool:
    from edgevoice import config

    try:
        return config.load(args.config, args.set).runtime.log_level == "debug"
    except EdgeVoiceError:
        return False
