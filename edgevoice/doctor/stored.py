"""The models the settings name: there, whole, and of the right kind."""

from __future__ import annotations

from collections.abc import Iterator

from edgevoice.audio.wake import make_wake_word
from edgevoice.doctor.finding import Finding, fail, ok
from edgevoice.errors import EdgeVoiceError
from edgevoice.models import store
from edgevoice.settings import Settings


def models(settings: Settings) -> Iterator[Finding]:
    """Each model by its setting; every file is held against its SHA-256 (remembered where nothing changed)."""
    wanted = [("asr.model", settings.asr.model, "asr")]
    if settings.asr.second_pass != "off":
        wanted.append(("asr.second_pass_model", settings.asr.second_pass_model, "asr"))
    if settings.llm.backend == "llama":
        wanted.append(("llm.model", settings.llm.model, "llm"))
    if voice := voice_model(settings):
        wanted.append(("tts.voice" if settings.tts.backend == "piper" else "tts.backend", voice, "tts"))
    for setting, name, kind in wanted:
        subject = f"model {name}"
        try:
            path = store.find(name, kind)
        except EdgeVoiceError as error:
            yield fail(subject, f"{setting}: {error.what}: {error.why}", error.mend)
        else:
            yield ok(subject, f"verified ({path})")
    yield from _wake_word(settings)


def voice_model(settings: Settings) -> str:
    """The voice's model: what `tts.voice` names for Piper, hibari's own for hibari; empty for voices without one."""
    return {"piper": settings.tts.voice, "hibari": "hibari"}.get(settings.tts.backend, "")


def _wake_word(settings: Settings) -> Iterator[Finding]:
    """Its models come with the engines' packages and are in no catalogue: they are opened as the daemon opens them."""
    subject = f"wake word {settings.wake.word}"
    try:
        wake = make_wake_word(settings.wake)
        if wake is None:
            return
        wake.load()
        wake.close()
    except EdgeVoiceError as error:
        yield fail(subject, f"wake.word: {error.what}: {error.why}", error.mend)
    else:
        yield ok(subject, f"loads ({settings.wake.engine})")
