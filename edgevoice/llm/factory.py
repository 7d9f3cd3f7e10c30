"""Chooses the generator that the settings name."""

from __future__ import annotations

from edgevoice.errors import SettingsError
from edgevoice.llm.generator import Generator
from edgevoice.llm.template import TemplateGenerator
from edgevoice.runtime.cores import plan
from edgevoice.settings import Settings

BACKENDS = ("llama", "template")


def build_generator(settings: Settings) -> Generator:
    """A generator that is not loaded yet. Raises SettingsError for an unknown back end."""
    if settings.llm.backend == "llama":
        # Imported here: the template generator must work where llama.cpp cannot be built.
        from edgevoice.llm.llama import LlamaGenerator

        return LlamaGenerator(settings.llm, plan(settings).llm)
    if settings.llm.backend == "template":
        return TemplateGenerator(settings.asr.language)
    raise SettingsError("llm.backend", f"unknown back end {settings.llm.backend!r}", f"one of {', '.join(BACKENDS)}")
