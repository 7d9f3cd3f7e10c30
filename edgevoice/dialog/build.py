"""A conversation with everything it needs, as the settings say."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from edgevoice.asr.normalize import plain_words
from edgevoice.audio.echo_guard import EchoGuard
from edgevoice.dialog.conversation import Brain, Conversation, Voice
from edgevoice.dialog.ledger import TurnLedger
from edgevoice.dialog.rules.overlap import OverlapRules
from edgevoice.llm.intents import Intents
from edgevoice.llm.phrases import phrase
from edgevoice.settings import Settings


def build_conversation(
    settings: Settings,
    ledger: TurnLedger,
    voice: Voice,
    brain: Brain,
    intents: Intents,
    guard: EchoGuard | None,
    on_event: Callable[[str, dict[str, object]], None],
) -> Conversation:
    """The conversation, its rules of overlap, its intents and its fixed sentences."""
    language = settings.asr.language
    return Conversation(
        ledger,
        voice,
        brain,
        OverlapRules(settings.dialog, guard, time.monotonic, language),
        plain_words,
        settings.dialog,
        settings.endpoint,
        on_event=on_event,
        intent=intents.reply,
        template=lambda name: phrase(name, language),
    )


def build_intents(settings: Settings) -> Intents:
    """The built-in intents and the person's own. Raises InputMissingError or SettingsError."""
    return Intents(settings.asr.language, Path(settings.llm.intents) if settings.llm.intents else None)
