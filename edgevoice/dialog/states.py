"""The states of a conversation and the transitions between them; the drawing in the docs is made from this table."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """What the conversation is doing."""

    IDLE = "idle"
    """Nobody speaks."""
    LISTENING = "listening"
    """The user speaks; an answer may be in the making but is not audible."""
    THINKING = "thinking"
    """The user has finished; the answer is not audible yet."""
    SPEAKING = "speaking"
    """The answer is audible."""
    OVERLAP = "overlap"
    """Something like speech is heard over the answer; it is not decided yet whether it interrupts."""


class Event(StrEnum):
    """What can happen to a conversation."""

    SPEECH = "speech"
    """A segment of speech has started."""
    WORDS = "words"
    """Words of a segment that is still going on."""
    PAUSE = "pause"
    """The speaker pauses: a transcript that may be final."""
    RESUME = "resume"
    """The speaker goes on after a pause."""
    REQUEST = "request"
    """The segment has ended and holds words to be answered."""
    NOTHING = "nothing"
    """The segment has ended and holds nothing to be answered: no words, an echo, a back-channel."""
    INTERRUPT = "interrupt"
    """Words that are meant to stop the voice."""
    AUDIBLE = "audible"
    """The first sample of the answer was audible."""
    ENDED = "ended"
    """The answer's sound has left the device."""
    FAILED = "failed"
    """A stage could not answer."""
    SAY = "say"
    """The assistant has something to say on its own account (a spoken error)."""
    WAKE = "wake"
    """The wake word was heard."""
    FALSE_ALARM = "false alarm"
    """No words followed whatever paused the voice; the segment still goes on, and its further words count."""


TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.IDLE, Event.SPEECH): State.LISTENING,
    (State.IDLE, Event.SAY): State.THINKING,
    (State.LISTENING, Event.WORDS): State.LISTENING,
    (State.LISTENING, Event.PAUSE): State.LISTENING,
    (State.LISTENING, Event.RESUME): State.LISTENING,
    (State.LISTENING, Event.REQUEST): State.THINKING,
    (State.LISTENING, Event.NOTHING): State.IDLE,
    (State.THINKING, Event.SPEECH): State.THINKING,
    (State.THINKING, Event.INTERRUPT): State.LISTENING,
    (State.THINKING, Event.NOTHING): State.THINKING,
    (State.THINKING, Event.AUDIBLE): State.SPEAKING,
    (State.THINKING, Event.ENDED): State.IDLE,
    (State.THINKING, Event.FAILED): State.THINKING,
    (State.SPEAKING, Event.SPEECH): State.OVERLAP,
    (State.SPEAKING, Event.ENDED): State.IDLE,
    (State.SPEAKING, Event.FAILED): State.SPEAKING,
    (State.LISTENING, Event.WAKE): State.IDLE,
    (State.THINKING, Event.WAKE): State.IDLE,
    (State.SPEAKING, Event.WAKE): State.IDLE,
    (State.OVERLAP, Event.WAKE): State.IDLE,
    (State.OVERLAP, Event.WORDS): State.OVERLAP,
    (State.OVERLAP, Event.INTERRUPT): State.LISTENING,
    (State.OVERLAP, Event.NOTHING): State.SPEAKING,
    (State.OVERLAP, Event.FALSE_ALARM): State.OVERLAP,
    (State.OVERLAP, Event.ENDED): State.LISTENING,
    (State.OVERLAP, Event.FAILED): State.OVERLAP,
}
"""(state, event) -> next state. An event that is not listed for a state leaves it unchanged and has no effect."""


def mermaid() -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.IDLE}"]
    lines += [f"    {start} --> {end}: {event}" for (start, event), end in TRANSITIONS.items()]
    return "\n".join(lines)
