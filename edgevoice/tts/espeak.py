"""eSpeak NG, the last resort: a program of the system, robotic, every language, a few milliseconds."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Iterator

import numpy as np
import soundfile

from edgevoice.errors import DeadlineError, UnavailableError
from edgevoice.tts import shaping
from edgevoice.tts.parts import parts_of
from edgevoice.tts.speakable import speakable
from edgevoice.tts.synthesizer import Cancelled, PcmChunk
from edgevoice.tts.vits.arrays import Floats

PROGRAM = "espeak-ng"
DEADLINE_S = 10.0
"""Seconds a part of a few hundred characters may take."""
WORDS_PER_MINUTE = 165


class EspeakSynthesizer:
    """The program `espeak-ng` behind the synthesiser contract. Gives no word timing."""

    name = "espeak"

    def __init__(self, language: str = "en", speed: float = 1.0, gain_db: float = 0.0) -> None:
        self.sample_rate = 22050
        self._language, self._speed = language, speed
        self._gain = 10 ** (gain_db / 20)

    def load(self) -> None:
        """Look for the program. Raises UnavailableError."""
        if shutil.which(PROGRAM) is None:
            raise UnavailableError(
                "tts.backend = espeak", f"the program {PROGRAM} is not installed", f"apt install {PROGRAM}"
            )

    def warm(self) -> None:
        """Run it once, so that it is in the page cache."""
        for _ in self.synthesize("yes"):
            pass

    def close(self) -> None:
        """Nothing to release."""

    def synthesize(self, clause: str, cancelled: Cancelled = lambda: False) -> Iterator[PcmChunk]:
        """Speak one clause of plain text of any length. Raises UnavailableError or DeadlineError."""
        checked = speakable(clause, self._language)
        if checked.empty:
            return
        for part in parts_of(checked.text):
            if cancelled():
                return
            sound, rate = self._run(part.text)
            sound = sound[shaping.onset(sound, self._gain, rate) : shaping.ending(sound, self._gain, rate)].copy()
            if len(sound):
                shaping.fade_in(sound, rate)
                shaping.fade_out(sound, rate)
                silence = int(shaping.pause_after(part.text.rstrip("\"'”’)] \n")[-1:]) * rate)
                yield PcmChunk(shaping.to_pcm(np.concatenate([sound, np.zeros(silence, np.float32)]), self._gain), rate)

    def _run(self, text: str) -> tuple[Floats, int]:
        command = [
            PROGRAM,
            "--stdout",
            "-v",
            self._language,
            "-s",
            str(round(WORDS_PER_MINUTE * self._speed)),
            "--stdin",
        ]
        try:
            done = subprocess.run(
                command, input=text.encode("utf-8"), capture_output=True, timeout=DEADLINE_S, check=True
            )
        except subprocess.TimeoutExpired as error:
            raise DeadlineError(PROGRAM, f"did not answer within {DEADLINE_S:.0f} s", "try again") from error
        except (OSError, subprocess.CalledProcessError) as error:
            raise UnavailableError(PROGRAM, f"cannot be run ({error})", f"apt install {PROGRAM}") from error
        # The length in the header of a streamed WAV is a placeholder: read the samples behind it.
        with soundfile.SoundFile(io.BytesIO(done.stdout)) as file:
            rate = int(file.samplerate)
        samples = np.frombuffer(done.stdout[44 : len(done.stdout) - len(done.stdout) % 2], np.int16)
        return samples.astype(np.float32) / 32768.0, rate
