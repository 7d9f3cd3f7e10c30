"""Recognisers by name. A back end is taken out by deleting its file and its line here."""

from __future__ import annotations

import importlib
from dataclasses import replace

from edgevoice.asr.recognizer import Recognizer
from edgevoice.asr.two_pass import SecondPass
from edgevoice.errors import SettingsError
from edgevoice.runtime.cores import plan
from edgevoice.settings import AsrSettings, Settings

BACKENDS = {
    "ctc": "edgevoice.asr.ctc:StreamingCtc",
    "whisper": "edgevoice.asr.whisper:WhisperRecognizer",
    "sherpa": "edgevoice.asr.sherpa:SherpaRecognizer",
}
"""name -> module:class; the class takes `AsrSettings`."""


def build_recognizer(settings: Settings) -> Recognizer:
    """The recogniser `asr.backend` names, not loaded yet. Raises SettingsError."""
    name = settings.asr.backend
    if name not in BACKENDS:
        raise SettingsError("asr.backend", f"{name!r} is unknown", f"use one of {', '.join(BACKENDS)}")
    module, _, cls = BACKENDS[name].partition(":")
    recognizer: Recognizer = getattr(importlib.import_module(module), cls)(_planned(settings))
    return recognizer


def build_second_pass(settings: Settings) -> SecondPass | None:
    """The second pass that `asr.second_pass` names, not loaded yet; None when it is off or would repeat the first."""
    name = settings.asr.second_pass
    if name not in ("whisper", "off"):
        raise SettingsError("asr.second_pass", f"{name!r} is unknown", "use whisper or off")
    return None if name == "off" or settings.asr.backend == "whisper" else SecondPass(_planned(settings))


def _planned(settings: Settings) -> AsrSettings:
    """The recognisers' settings with the threads that the core plan gives them."""
    cores = plan(settings)
    return replace(settings.asr, threads=cores.asr, second_pass_threads=cores.second_pass)
