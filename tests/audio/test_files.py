"""Reading sound files as microphone."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile

from edgevoice.audio.files import FileSource, read_all, read_frames
from edgevoice.errors import AudioDataError, InputMissingError

RATE = 16_000


def tone(rate: int, seconds: float = 1.0, hertz: float = 440.0) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(round(rate * seconds)) / rate)).astype(np.float32)


def pitch(samples: np.ndarray, rate: int = RATE) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 1 << 18))
    return float(np.argmax(spectrum)) * rate / (1 << 18)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000, 192_000])
def test_every_rate_keeps_length_and_pitch(tmp_path: Path, rate: int) -> None:
    soundfile.write(tmp_path / "a.wav", tone(rate), rate, "PCM_16")
    heard = read_all(tmp_path / "a.wav")
    assert heard.dtype == np.float32
    assert abs(len(heard) - RATE) <= 1
    assert pitch(heard[1000:-1000]) == pytest.approx(440.0, abs=0.5)
    assert np.sqrt(np.mean(heard[1000:-1000] ** 2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.02)


@pytest.mark.parametrize("channels", [1, 2, 6, 8])
@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_every_width_and_channel_count(tmp_path: Path, channels: int, subtype: str) -> None:
    soundfile.write(tmp_path / "a.wav", np.tile(tone(RATE)[:, None], (1, channels)), RATE, subtype)
    heard = read_all(tmp_path / "a.wav")
    assert np.max(np.abs(heard - tone(RATE))) < 0.01


@pytest.mark.parametrize("name", ["a.flac", "a.ogg", "a.mp3"])
def test_other_formats(tmp_path: Path, name: str) -> None:
    soundfile.write(tmp_path / name, tone(RATE), RATE)
    assert pitch(read_all(tmp_path / name)[2000:-2000]) == pytest.approx(440.0, abs=0.5)


def test_blocks_are_equal_and_lose_nothing(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(RATE, 1.234), RATE, "FLOAT")
    blocks = list(read_frames(tmp_path / "a.wav", block_ms=20))
    assert {len(block) for block in blocks[:-1]} == {320}
    assert np.array_equal(np.concatenate(blocks), tone(RATE, 1.234))


def test_floats_beyond_full_scale_are_clipped(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", 4 * tone(RATE), RATE, "FLOAT")
    assert np.max(np.abs(read_all(tmp_path / "a.wav"))) == 1.0


def test_silent_file_is_fine(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(RATE), RATE)
    assert not read_all(tmp_path / "a.wav").any()


def test_one_hour_streams_with_flat_memory(tmp_path: Path) -> None:
    minute = (tone(8_000, 60.0) * 32767).astype(np.int16)
    with soundfile.SoundFile(tmp_path / "hour.wav", "w", 8_000, 1, "PCM_U8") as file:
        for _ in range(60):
            file.write(minute)
    process = psutil.Process()
    count, after_minute = 0, 0
    for block in read_frames(tmp_path / "hour.wav", block_ms=100):
        count += len(block)
        if count == 60 * RATE:
            after_minute = process.memory_info().rss
    assert abs(count - 3600 * RATE) <= 1
    assert process.memory_info().rss - after_minute < 8e6


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no sound file"),
        (b"this is text, not sound", "no sound file"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", "no sound file"),
        (b"\x00" * 5000, "no sound file"),
    ],
)
def test_what_is_no_sound_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    with pytest.raises(AudioDataError, match=reason) as caught:
        read_all(path)
    assert str(path) in str(caught.value)
    assert caught.value.exit_code == 65


def test_file_without_samples_is_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(0), RATE)
    with pytest.raises(AudioDataError, match="holds no sound"):
        read_all(tmp_path / "a.wav")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_samples_that_are_no_numbers_are_refused(tmp_path: Path, bad: float) -> None:
    samples = tone(RATE)
    samples[12_345] = bad
    soundfile.write(tmp_path / "a.wav", samples, RATE, "FLOAT")
    with pytest.raises(AudioDataError, match="not numbers"):
        read_all(tmp_path / "a.wav")


def test_truncated_data_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(RATE), RATE, "PCM_16")
    whole = (tmp_path / "a.wav").read_bytes()
    (tmp_path / "a.wav").write_bytes(whole[: len(whole) // 2])
    assert RATE // 2 - 100 < len(read_all(tmp_path / "a.wav")) <= RATE // 2


@pytest.mark.parametrize("where", ["absent.wav", "."])
def test_missing_file_and_folder(tmp_path: Path, where: str) -> None:
    with pytest.raises(InputMissingError) as caught:
        read_all(tmp_path / where)
    assert caught.value.exit_code == 66


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soundfile.write(tmp_path / "a.wav", tone(RATE), RATE, "PCM_16")
    stdin = io.TextIOWrapper(io.BytesIO((tmp_path / "a.wav").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert len(read_all("-")) == RATE


def test_source_plays_files_with_silences_and_steady_times(tmp_path: Path) -> None:
    for name in ("a.wav", "b.wav"):
        soundfile.write(tmp_path / name, tone(RATE, 0.5), RATE)
    source = FileSource([tmp_path / "a.wav", tmp_path / "b.wav"], pace="fast", lead_s=0.1, gap_s=0.2, tail_s=0.3)
    source.open()
    frames = list(source.frames())
    steps = np.diff([frame.time for frame in frames])
    assert np.allclose(steps, [len(frame.samples) / RATE for frame in frames[1:]], atol=1e-6)
    sound = np.concatenate([frame.samples for frame in frames])
    assert len(sound) == round((0.1 + 0.5 + 0.3 + 0.2 + 0.5 + 0.3) * RATE)
    loud = np.flatnonzero(np.abs(sound) > 0.1)
    assert loud[0] / RATE == pytest.approx(0.1, abs=0.01)
    assert np.max(np.diff(loud)) / RATE == pytest.approx(0.5, abs=0.01)


def test_real_pace_delivers_like_a_microphone(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(RATE, 0.4), RATE)
    source = FileSource([tmp_path / "a.wav"], pace="real", lead_s=0.0, tail_s=0.0)
    began = time.monotonic()
    early = [frame.time - time.monotonic() for frame in source.frames()]
    assert max(early) < 0.001, "no frame comes before its sound is over"
    assert time.monotonic() - began >= 0.4


def test_next_file_waits_for_the_answer(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(RATE, 0.1), RATE)
    answers = iter([True, True, True, False, False])
    source = FileSource([tmp_path / "a.wav"] * 2, "fast", gap_s=0.0, tail_s=0.0, lead_s=0.0, busy=lambda: next(answers))
    assert len(list(source.frames())) == 5 + 3 + 5


def test_close_ends_the_source_at_once(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(RATE, 30.0), RATE)
    source = FileSource([tmp_path / "a.wav"], pace="real")
    taken = 0
    for _ in source.frames():
        taken += 1
        if taken == 3:
            source.close()
    assert taken == 3


def test_open_names_the_unreadable_file_before_anything_runs(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(RATE), RATE)
    with pytest.raises(InputMissingError, match=r"absent\.wav"):
        FileSource([tmp_path / "a.wav", tmp_path / "absent.wav"]).open()
