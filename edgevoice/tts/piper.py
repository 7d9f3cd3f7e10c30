"""The Piper voice, streaming: the first sound of any text comes after a fixed small piece of work.

A text is spoken in parts of a few hundred characters. Each part's phonemes are encoded at once (when they are many,
first only the beginning); its sound is then made in pieces, the first one small, later ones growing, each with exactly
the context that the networks' receptive fields need, so that joined they are the sound of the whole. With several
threads, pieces are made side by side.
"""

from __future__ import annotations

import logging
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgevoice.models import store
from edgevoice.tts import shaping
from edgevoice.tts.alignment import spoken_words
from edgevoice.tts.parts import Part, parts_of
from edgevoice.tts.speakable import speakable
from edgevoice.tts.synthesizer import Cancelled, PcmChunk, SpokenWord
from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.phonemes import Phonemes, Phonemizer
from edgevoice.tts.vits.prepare import PreparedVoice, prepare
from edgevoice.tts.vits.runner import Encoding, SoundStream, VitsRunner
from edgevoice.tts.vits.workers import Work, Workers

log = logging.getLogger(__name__)

GAIN = 2.0
"""Fixed gain on the voice's own level, which is low (about -26 dBFS); the leveller takes the loudest back."""
LARGEST_PIECE = 96
"""Frames of the longest piece the vocoder makes at a time."""
SHORTEST_PIECE = 4
"""Frames of the first piece, at least."""
LONG = 110
"""Phoneme ids (about nine words) above which a part's beginning is encoded first, by itself."""
BEGINNING = 84
"""Ids of that beginning, at most; it ends between two words."""
LOOKAHEAD = 14
"""Ids at its end that only serve as context and are taken from the full encoding instead."""


def never() -> bool:
    """The `cancelled` of someone who wants it all."""
    return False


class PiperSynthesizer:
    """A Piper voice behind the synthesiser contract. The same text always sounds the same.

    `voice` is a name of the catalogue or an .onnx file with its .json beside it; `speed` 1 is the voice's own pace;
    `gain_db` comes on top of the voice's fixed gain. Timing of words comes with the first chunk of each part; of a long
    clause the later words are estimates there, replaced by the exact times with a later chunk. `threads` pieces of sound
    are made at a time.
    """

    name = "piper"

    def __init__(
        self,
        voice: str = "en_US-joe-medium",
        threads: int = 1,
        speed: float = 1.0,
        gain_db: float = 0.0,
        first_chunk_ms: int = 120,
        tier: str = "fine",
        seed: int = 0,
    ) -> None:
        self.sample_rate = 0
        self.tier = tier
        self.speed = speed
        self._voice_name, self._threads, self._seed = voice, threads, seed
        self._gain = GAIN * 10 ** (gain_db / 20)
        self._first_chunk_ms = first_chunk_ms
        self._voice: PreparedVoice | None = None
        self._workers: Workers | None = None
        self._runner: VitsRunner | None = None
        self._phonemizer: Phonemizer | None = None
        self._warned = ""

    # --- life --------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Find, prepare and open the voice. Raises ModelMissingError, ModelDataError, StorageError."""
        self._voice = prepare(Path(store.find(self._voice_name, "tts")))
        self._phonemizer = Phonemizer(self._voice.config)
        self._runner = VitsRunner(self._voice, self.tier)
        self._workers = Workers(self._threads)
        self.sample_rate = self._voice.config.sample_rate

    def warm(self) -> None:
        """Speak sentences of different length unheard, so that memory is laid out and every session has run."""
        for text in (
            "Yes.",
            "The quick brown fox jumps over the lazy dog.",
            "Well, " + "this is one more sentence, " * 6 + "really.",
        ):
            for _ in self.synthesize(text):
                pass

    def close(self) -> None:
        """Release the voice's memory and threads."""
        if self._workers is not None:
            self._workers.close()
        self._runner = self._workers = None

    @property
    def form(self) -> str:
        """Which preparation speaks: it names the voice's contents, its tiers, and how they were made."""
        return self._voice.folder.name if self._voice else ""

    def set_tier(self, name: str) -> None:
        """Use another vocoder from the next clause on: `fine`, `standard` or `light`. Unknown to the voice: the
        nearest.
        """
        self.tier = name

    # --- speaking ----------------------------------------------------------------------------------------------------

    def synthesize(self, clause: str, cancelled: Cancelled = never) -> Iterator[PcmChunk]:
        """Speak one clause of plain text of any length. See the contract."""
        runner, phonemizer, voice = self._runner, self._phonemizer, self._voice
        if runner is None or phonemizer is None or voice is None:
            raise RuntimeError("load() first")
        runner.set_tier(self.tier)
        checked = speakable(clause, voice.config.language)
        self._warn(checked.warning)
        if checked.empty:
            return
        position = 0
        for part in parts_of(checked.text):
            if cancelled():
                return
            phonemes = phonemizer.phonemize(part.text)
            if not phonemes.speakable:
                continue
            for chunk in self._speak(part, phonemes, position):
                position += len(chunk.samples)
                yield chunk
                if cancelled():
                    return

    def _warn(self, warning: str) -> None:
        if warning and warning != self._warned:
            log.warning("%s", warning)
        self._warned = warning

    def _speak(self, part: Part, phonemes: Phonemes, position: int) -> Iterator[PcmChunk]:
        """The sound of one part that begins `position` samples into the clause."""
        assert self._runner is not None and self._workers is not None
        rate = self.sample_rate
        speaking = _Speaking(self._runner, self._workers, phonemes, part, self._rng(part.text), self.speed)
        first_frames = max(SHORTEST_PIECE, round(self._first_chunk_ms * rate / 1000 / self._runner.voice.hop))
        waiting = np.zeros(0, np.float32)
        leveller = shaping.Leveller(rate, self._gain)
        started = False
        for sound, last in speaking.pieces(first_frames):
            if not started:
                sound = np.concatenate([waiting, sound])
                skip = shaping.onset(sound, self._gain, rate)
                if skip == len(sound) and not last:
                    waiting = sound
                    continue
                started = True
                sound = sound[skip:].copy()
                shaping.fade_in(sound, rate)
                speaking.skipped = skip
            sound = leveller.level(sound)
            if last:
                sound = sound[: shaping.ending(sound, self._gain, rate)].copy()
                shaping.fade_out(sound, rate)
                silence = int(shaping.pause_after(phonemes.ends) * rate)
                sound = np.concatenate([sound, np.zeros(silence, np.float32)])
            if len(sound):
                yield PcmChunk(shaping.to_pcm(sound, self._gain), rate, speaking.take_words(position))

    def _rng(self, text: str) -> np.random.Generator:
        """Noise that depends on the text alone, so that a cached phrase and a new one are the same."""
        return np.random.Generator(np.random.PCG64([self._seed, zlib.crc32(text.encode("utf-8", "replace"))]))


class _Speaking:
    """One part on its way: encoded in one or two goes, its sound made piece by piece."""

    def __init__(
        self,
        runner: VitsRunner,
        workers: Workers,
        phonemes: Phonemes,
        part: Part,
        rng: np.random.Generator,
        speed: float,
    ) -> None:
        self.skipped = 0
        """Samples of leading silence that were left out."""
        self._runner, self._workers, self._phonemes, self._part = runner, workers, phonemes, part
        self._speed = speed
        self._ids: NDArray[np.int64] = np.array(phonemes.ids, np.int64)
        self._duration_noise: Floats = rng.standard_normal((2, len(self._ids)), dtype=np.float32)
        self._rng = rng
        self._durations: NDArray[np.int64] = np.zeros(0, np.int64)
        self._words_due = True

    def pieces(self, first_frames: int) -> Iterator[tuple[Floats, bool]]:
        """(sound, whether it is the last piece). Before the first is made nothing but the encoding of the rest is begun."""
        stream, beginning, kept = self._begin(first_frames)
        made = stream.until(first_frames)
        # Another thread may have a core to itself meanwhile; where there is none, `rest` is worked out when it is asked for.
        rest = self._workers.submit(lambda: self._encode(len(self._ids))) if beginning else None
        yield stream.sound(0, made), stream.is_complete and made == stream.frames
        count = self._workers.count
        waiting: deque[tuple[Work[Floats], int]] = deque()
        planned, size = made, 2 * first_frames
        while planned < stream.frames or waiting:
            # One more than there are threads, so that none of them waits for this one.
            while planned < stream.frames and len(waiting) < (count + 1 if count > 1 else 1):
                # The last frames are shared out evenly.
                share = max(self._runner.reach, -(-(stream.frames - planned) // count))
                until = stream.until(planned + min(size, share))
                if beginning and rest and not stream.knows(until):
                    if waiting and not rest.ready:
                        break
                    full, rest = rest.result(), None
                    stream.complete(beginning.join(kept, full))
                    self._durations = np.concatenate([beginning.durations[:kept], full.durations[kept:]])
                    self._words_due = True
                    continue
                waiting.append((self._workers.submit(stream.piece(planned, until).make), until))
                planned, size = until, min(2 * size, LARGEST_PIECE)
            sound, until = waiting.popleft()
            yield sound.result(), stream.is_complete and until == stream.frames

    def take_words(self, position: int) -> tuple[SpokenWord, ...]:
        """Timing of the words, if it is new; `position` is where this part's sound begins in the clause."""
        if not self._words_due:
            return ()
        self._words_due = False
        hop = self._runner.voice.hop
        return spoken_words(
            self._phonemes.words,
            self._phonemes.word_of_id,
            self._durations,
            hop,
            position - self.skipped,
            self._part.begin,
        )

    def _begin(self, first_frames: int) -> tuple[SoundStream, Encoding | None, int]:
        """A stream that can give its first piece, the beginning's encoding if only that is known yet, and its ids
        kept.
        """
        cut = self._border(BEGINNING) if len(self._ids) > LONG else 0
        kept = self._border(cut - LOOKAHEAD) if cut else 0
        if kept:
            encoding = self._encode(cut)
            frames = int(encoding.durations[:kept].sum())
            if frames >= self._runner.context + first_frames:
                usual = max(1, round(float(encoding.durations[:kept].mean())))
                guess = np.full(len(self._ids) - kept, usual, np.int64)
                self._durations = np.concatenate([encoding.durations[:kept], guess])
                return SoundStream(self._runner, encoding.head(kept), self._rng, complete=False), encoding, kept
        encoding = self._encode(len(self._ids))
        self._durations = encoding.durations
        return SoundStream(self._runner, encoding, self._rng), None, 0

    def _border(self, limit: int) -> int:
        """The last border between two words at or before `limit`; 0 if there is none."""
        owners = self._phonemes.word_of_id
        return next((i for i in range(limit, 1, -1) if owners[i] != owners[i - 1] and owners[i] >= 0), 0)

    def _encode(self, count: int) -> Encoding:
        return self._runner.encode(self._ids[:count], self._duration_noise[:, :count], self._speed)
