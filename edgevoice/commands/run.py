"""`edgevoice run`: listen on the microphone and answer on the speaker, until told to stop."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
import traceback

from edgevoice import config
from edgevoice.errors import EXIT_SOFTWARE, EdgeVoiceError
from edgevoice.runtime import logs
from edgevoice.service import Service
from edgevoice.settings import Settings
from edgevoice.trust import is_service


def configure(parser: argparse.ArgumentParser) -> None:
    """The verb has no arguments of its own."""


def run(args: argparse.Namespace) -> int:
    """Run until SIGINT or SIGTERM; SIGHUP reads the settings again."""

    def load() -> Settings:
        settings = config.load(args.config, args.set)
        logs.set_up(settings.runtime)
        return settings

    before = set(threading.enumerate())
    try:
        code = Service(load).run()
    except Exception as error:
        if not _left_since(before):
            raise
        _tell(error)
        code = error.exit_code if isinstance(error, EdgeVoiceError) else EXIT_SOFTWARE
    if is_service(os.environ) or _left_since(before):
        # Taking the interpreter and its libraries apart would take longer than stopping did; with a thread that hangs,
        # for which the interpreter would wait, for ever.
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _left_since(before: set[threading.Thread]) -> list[threading.Thread]:
    """Threads that hang: they have not ended with the service, and the interpreter would wait for them."""
    return [thread for thread in threading.enumerate() if not thread.daemon and thread not in before]


def _tell(error: Exception) -> None:
    """What the command line says of an error."""
    if isinstance(error, EdgeVoiceError):
        print(f"edgevoice: {error}", file=sys.stderr)
    else:
        traceback.print_exception(error)
