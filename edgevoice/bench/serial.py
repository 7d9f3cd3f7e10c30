"""The usual serial pipeline with the same models, for comparison: each step waits for the one before.

    500 ms of silence -> Whisper over the whole segment -> the whole answer -> the whole of its sound -> play

Run by `python benchmarks/serial.py RECORDING…` and by `edgevoice bench latency --serial`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgevoice import config
from edgevoice.asr.normalize import plain_words
from edgevoice.asr.whisper import WhisperRecognizer
from edgevoice.audio.files import FileSource
from edgevoice.audio.vad import SpeechDetector
from edgevoice.llm.factory import build_generator
from edgevoice.settings import Settings
from edgevoice.tts.factory import build_synthesizer
from edgevoice.tts.normalize import for_speech

ENDPOINT_S = 0.5
"""Seconds of silence that end the utterance."""


@dataclass
class SerialTurn:
    """One turn of the serial pipeline; seconds after the last speech sample."""

    transcript: str
    reply: str
    e2e: float


class SerialPipeline:
    """One thread, one step after the other, nothing begun before the step before is complete."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.recognizer = WhisperRecognizer(settings.asr)
        self.generator = build_generator(settings)
        self.synthesizer = build_synthesizer(settings)

    def load(self) -> None:
        """Load and warm, like the daemon."""
        for model in (self.recognizer, self.generator, self.synthesizer):
            model.load()
            model.warm()

    def close(self) -> None:
        """Release the models."""
        for model in (self.recognizer, self.generator, self.synthesizer):
            model.close()

    def turns(self, path: str) -> list[SerialTurn]:
        """Play one recording in real time; one turn for each utterance in it."""
        detector = SpeechDetector(self.settings.vad)
        heard: list[np.ndarray] = []
        found: list[SerialTurn] = []
        speaking = False
        for frame in FileSource([path], pace="real", tail_s=1.0).frames():
            speech = detector.accept(frame.samples)
            speaking = speaking or speech
            heard.append(frame.samples)
            if not speaking:
                del heard[: -int(0.4 * 1000 / self.settings.audio.block_ms)]
            elif detector.silence_s >= ENDPOINT_S:
                turn = self._answer(np.concatenate(heard), frame.time - detector.silence_s)
                if turn:
                    found.append(turn)
                heard, speaking = [], False
        return found

    def _answer(self, samples: np.ndarray, speech_end: float) -> SerialTurn | None:
        self.recognizer.reset()
        self.recognizer.accept(samples)
        words = plain_words(self.recognizer.finish().text)
        if not words:
            return None
        reply = "".join(token.text for token in self.generator.generate((), words, lambda: False)).strip()
        chunks = [chunk.samples for chunk in self.synthesizer.synthesize(for_speech(reply), lambda: False)]
        return SerialTurn(words, reply, time.monotonic() - speech_end) if chunks else None


def main(argv: Sequence[str] | None = None) -> int:
    """Print every turn as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args(argv)
    pipeline = SerialPipeline(config.load())
    pipeline.load()
    for path in args.files:
        for turn in pipeline.turns(path):
            row = {"file": path, "transcript": turn.transcript, "reply": turn.reply, "e2e_ms": round(turn.e2e * 1000)}
            print(json.dumps(row))
    pipeline.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
