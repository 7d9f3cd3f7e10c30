"""`edgevoice bench room`: the daemon in a simulated room. Does it answer itself, can it be interrupted, does a cough
stop it, and does it understand who interrupts? In real time, so it takes some minutes."""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jiwer
import numpy as np

from edgevoice import config
from edgevoice.asr.normalize import scoring_form
from edgevoice.asr.recognizer import SAMPLE_RATE, Recognizer, Samples
from edgevoice.assistant import Assistant
from edgevoice.audio.files import read_all
from edgevoice.audio.resample import MonoResampler
from edgevoice.audio.room_loop import RoomSpec
from edgevoice.bench.room_session import LONG_ANSWER, RoomSession
from edgevoice.bench.room_sounds import disturbances
from edgevoice.bench.statistics import percentiles
from edgevoice.commands.options import count
from edgevoice.errors import InputMissingError
from edgevoice.settings import Settings

MODES = ("auto", "cancel", "half_duplex", "off")
QUESTION = "Please tell me about the harbour."
log = logging.getLogger(__name__)

SHORT_ANSWER = "All right."
SETTLE_S = 2.5
"""Seconds of the answer before somebody interrupts: the canceller has to learn the room first."""
BETWEEN_S = 3.5
"""Seconds between two disturbances: the voice may be silent for two of them."""
USER_DBFS = -26.0
"""Level of the user at the microphone."""
ANSWER_DEADLINE_S = 20.0
LONGEST_PAUSE_S = 0.2
"""Utterances with a longer pause inside would be two questions."""


@dataclass(frozen=True)
class Utterance:
    """Somebody's words."""

    text: str
    samples: Samples
    second_word_s: float
    """Seconds from the first sample to the begin of the second word, by alignment of the sound with its words."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subject's arguments."""
    parser.add_argument("--mode", action="append", choices=MODES, help="echo modes for its own voice; default: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of its own voice (default 60; 0: skip)")
    parser.add_argument("--questions", type=count, default=20, help="interrupting questions (default 20; 0: skip)")
    parser.add_argument("--first", type=count, default=0, help="begin with this question or sound")
    parser.add_argument("--sounds", type=count, default=50, help="coughs, clicks, `mm-hmm` (default 50; 0: skip)")
    parser.add_argument(
        "--room", default="", metavar="DELAY_MS,GAIN_DB,RT60_S,NOISE_DBFS", help="default 80,-12,0.3,-60"
    )
    parser.add_argument("--corpus", default=os.environ.get("EDGEVOICE_CORPUS", ""), help="folder with dev/ recordings")


def run(settings: Settings, args: argparse.Namespace) -> dict[str, Any]:
    """Measure. `goals`: one row each; the other keys hold what they were made of."""
    spec = RoomSpec.parse(args.room)
    result: dict[str, Any] = {}
    goals: list[dict[str, Any]] = []
    if args.seconds:
        result["own_voice"] = [own_voice(settings, mode, args.seconds, spec) for mode in args.mode or MODES]
        safe = [row["self_turns"] for row in result["own_voice"] if row["mode"] != "off"]
        goals.append(_goal("self-turns, all modes but off", sum(safe), 0))
    if args.questions:
        result["barge_in"] = barge_in(_with_mode(settings, "cancel"), _corpus(args.corpus), args, spec)
        p95 = result["barge_in"]["silent_after"]["p95_ms"]
        goals.append(_goal("barge-in p95 (ms)", p95, 350))
        goals.append(_goal("word errors over the voice / in silence", result["barge_in"]["ratio"], 1.3))
    if args.sounds:
        result["disturbances"] = false_stops(_with_mode(settings, "cancel"), args.sounds, spec, args.first)
        goals.append(_goal("answers lost to coughs, clicks, mm-hmm", result["disturbances"]["answers_lost"], 0))
    return {"goals": goals, **result}


# --- its own voice -------------------------------------------------------------------------------------------------


def own_voice(settings: Settings, mode: str, seconds: float, spec: RoomSpec) -> dict[str, Any]:
    """It is asked once, answers for `seconds`, and everything else it does is a mistake."""
    with RoomSession(_with_mode(settings, mode), spec, _text_of(seconds)) as session:
        session.say(spoken(session.assistant, QUESTION), 0.5)
        begun = time.monotonic()
        session.wait(lambda: session.audible_since > begun, ANSWER_DEADLINE_S)
        asked = len(session.script.asked)
        first = session.audible_since
        session.wait(lambda: bool(session.turns) or session.count("barge_in") > 0, seconds * 1.5 + 10)
        session.wait(lambda: False, 3.0)  # the echo of the end
        return {
            "mode": mode,
            "self_turns": max(session.count("barge_in"), len({w for _, w in session.script.asked[asked:]})),
            "seconds": round(session.last_audible - first, 1),
            "paused": session.count("false_interruption"),
            "no_words": session.count("no_words") + session.count("no_input"),
            "echo_words": session.count("backchannel"),
            "mode_at_end": session.assistant.hearing.echo.mode,
            "erle_db": round(session.assistant.hearing.echo.erle_db, 1),
            "late_blocks": session.microphone.late,
        }


def _text_of(seconds: float) -> str:
    """About as much text as is spoken in `seconds` (3.5 words a second)."""
    words = (LONG_ANSWER * (1 + int(seconds // 30))).split()[: round(seconds * 3.5)]
    return " ".join(words).rstrip(",.") + "."


# --- interruptions -------------------------------------------------------------------------------------------------


def barge_in(settings: Settings, corpus: Path, args: argparse.Namespace, spec: RoomSpec) -> dict[str, Any]:
    """Each utterance is said in silence, then again over the answer that it got."""
    utterances: list[Utterance] = []

    def align(assistant: Assistant) -> None:
        utterances.extend(questions(corpus, args.questions, args.first, assistant.models.recognizer))

    silent_after: list[float] = []
    rows: list[tuple[str, str, str]] = []
    missed = 0
    with RoomSession(settings, spec, prepare=align) as session:
        for utterance in utterances:
            heard = _said_twice(session, utterance)
            if heard is None:
                continue
            rows.append((utterance.text, heard[0], heard[1]))
            log.debug("%s | %s | %s | %s", utterance.text, *heard)
            if heard[2] is None:
                missed += 1
            else:
                silent_after.append(heard[2])
    alone, over = (_errors([(row[0], row[column]) for row in rows]) for column in (1, 2))
    return {
        "interruptions": len(rows),
        "not_interrupted": missed,
        "silent_after": percentiles([s * 1000 for s in silent_after]),
        "wer_in_silence": alone,
        "wer_over_voice": over,
        "ratio": round(over / alone, 2) if alone else None,
        "late_blocks": session.microphone.late,
    }


def _said_twice(session: RoomSession, utterance: Utterance) -> tuple[str, str, float | None] | None:
    """What was understood in silence and over the voice; seconds from second word to silence (None: no stop)."""
    session.wait_idle(60.0)
    turns, begun = len(session.turns), time.monotonic()
    session.script.text = LONG_ANSWER
    session.say(utterance.samples)
    if not session.wait(lambda: session.audible_since > begun and session.speaking, ANSWER_DEADLINE_S):
        return None  # not a word was recognised in silence
    session.wait(lambda: False, SETTLE_S)
    session.script.text = SHORT_ANSWER
    moment = session.say(utterance.samples)
    alone = session.assistant.ledger.record_of(session.assistant.ledger.generation)
    in_silence = alone.transcript if alone else ""
    stopped = session.wait(lambda: session.count("barge_in", begun) > 0, len(utterance.samples) / SAMPLE_RATE + 4)
    silent = session.last_audible
    if not stopped:
        session.wait_idle(90.0)
        return in_silence, "", None
    session.wait(lambda: len(session.turns) >= turns + 2, ANSWER_DEADLINE_S)
    over = session.turns[turns + 1].transcript if len(session.turns) > turns + 1 else ""
    return in_silence, over, silent - moment - utterance.second_word_s


def questions(corpus: Path, count: int, first: int, recognizer: Recognizer) -> list[Utterance]:
    """Utterances of the development recordings, 1.5 to 5 s long, of at least four words, all speakers in turn."""
    manifest = corpus / "dev" / "libri5dev" / "manifest.jsonl"
    rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
    fit = [row for row in rows if 1.5 <= row["seconds"] <= 5.0 and len(row["text"].split()) >= 4]
    speakers = sorted({row["speaker"] for row in fit})
    by_speaker = [[row for row in fit if row["speaker"] == speaker] for speaker in speakers]
    turns = [rows[i] for i in range(max(map(len, by_speaker))) for rows in by_speaker if i < len(rows)]
    found: list[Utterance] = []
    for row in turns[first:]:
        if len(found) == count:
            break
        samples = _levelled(read_all(manifest.parent / row["audio"]))
        recognizer.reset()
        recognizer.accept(samples)
        words = recognizer.finish().words
        if len(words) > 1 and _longest_pause_s(samples) <= LONGEST_PAUSE_S:
            found.append(Utterance(row["text"], samples, words[1].start))
    recognizer.reset()
    return found


def _longest_pause_s(samples: Samples) -> float:
    """Seconds of the longest quiet stretch (30 dB below the loudest 20 ms) between the first and last loud one."""
    blocks = samples[: len(samples) // 320 * 320].reshape(-1, 320)
    power = np.mean(np.square(blocks), axis=1)
    loud = np.flatnonzero(power > 1e-3 * np.max(power))
    return float(np.max(np.diff(loud), initial=1) - 1) * 0.02


def _errors(pairs: list[tuple[str, str]]) -> float:
    if not pairs:
        return 0.0
    return round(float(jiwer.wer([scoring_form(a) for a, _ in pairs], [scoring_form(b) or "-" for _, b in pairs])), 4)


# --- disturbances --------------------------------------------------------------------------------------------------


def false_stops(settings: Settings, count: int, spec: RoomSpec, first: int = 0) -> dict[str, Any]:
    """Coughs, clicks and back-channels over long answers; none of them may end one."""
    lost: dict[str, int] = {}
    with RoomSession(settings, spec) as session:
        question = spoken(session.assistant, QUESTION)
        for name, samples in disturbances(first + count)[first:]:
            # After a false stop it answers anew by itself.
            if not session.wait(lambda: _settled(session), 12.0 if lost else 4.0):
                session.wait_idle(60.0)
                session.say(question)
                session.wait(lambda: _settled(session), ANSWER_DEADLINE_S)
            moment = session.say(samples)
            session.wait(_stopped_since(session, moment), BETWEEN_S)
            log.debug("%s: %s", name, [event.name for event in session.events if event.time >= moment])
            if session.count("barge_in", moment):
                lost[name] = lost.get(name, 0) + 1
        return {
            "sounds": count,
            "answers_lost": sum(lost.values()),
            "lost_to": ", ".join(f"{name} ({number})" for name, number in lost.items()),
            "paused_and_resumed": session.count("false_interruption"),
            "heard_as_backchannel": session.count("backchannel"),
            "heard_without_words": session.count("no_words"),
        }


def _settled(session: RoomSession) -> bool:
    return session.speaking and time.monotonic() - session.audible_since > SETTLE_S


def _stopped_since(session: RoomSession, moment: float) -> Callable[[], bool]:
    return lambda: session.count("barge_in", moment) > 0


# --- helpers -------------------------------------------------------------------------------------------------------


def spoken(assistant: Assistant, text: str) -> Samples:
    """`text` by the assistant's own voice, higher than it speaks itself, 16 kHz, at the user's level."""
    voice = assistant.models.synthesizer
    sound = np.concatenate([chunk.samples for chunk in voice.synthesize(text)]).astype(np.float32) / np.float32(32768)
    resampler = MonoResampler(round(voice.sample_rate * 1.12), SAMPLE_RATE)
    return _levelled(np.concatenate([resampler.accept(sound), resampler.finish()]))


def _levelled(samples: Samples) -> Samples:
    loud = samples[np.abs(samples) > 0.05 * float(np.max(np.abs(samples)))]
    gain = 10.0 ** (USER_DBFS / 20.0) / float(np.sqrt(np.mean(np.square(loud))))
    return np.asarray(np.clip(samples * np.float32(gain), -1.0, 1.0), np.float32)


def _with_mode(settings: Settings, mode: str) -> Settings:
    return config.replace(settings, echo={"mode": mode})


def _goal(name: str, measured: float | None, most: float) -> dict[str, Any]:
    return {"goal": name, "measured": measured, "at most": most, "met": measured is not None and measured <= most}


def _corpus(named: str) -> Path:
    corpus = Path(named) if named else Path()
    if not (corpus / "dev" / "libri5dev" / "manifest.jsonl").is_file():
        raise InputMissingError(named or "--corpus", "holds no dev/libri5dev", "name a corpus folder, or --questions 0")
    return corpus
