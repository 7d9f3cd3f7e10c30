"""Writing sound files."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from edgevoice.audio.sink import FORMATS, FileSink, write
from edgevoice.errors import OutputError, StorageError

SOUND = (8000 * np.sin(2 * np.pi * 440 * np.arange(22_050) / 22_050)).astype(np.int16)


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_every_format_can_be_read_back(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / f"a{suffix}", SOUND, 22_050)
    samples, rate = soundfile.read(tmp_path / f"a{suffix}", dtype="float32")
    assert len(samples) / rate == pytest.approx(1.0, abs=0.1)
    assert np.sqrt(np.mean(samples**2)) == pytest.approx(8000 / 32768 / np.sqrt(2), rel=0.1)


def test_wav_is_exact_and_streams(tmp_path: Path) -> None:
    with FileSink(tmp_path / "a.wav", 22_050) as sink:
        for start in range(0, len(SOUND), 1000):
            sink.write(SOUND[start : start + 1000])
    samples, rate = soundfile.read(tmp_path / "a.wav", dtype="int16")
    assert rate == 22_050
    assert np.array_equal(samples, SOUND)


def test_nothing_appears_before_it_is_complete(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"old")
    sink = FileSink(tmp_path / "a.wav", 22_050)
    sink.open()
    sink.write(SOUND)
    assert (tmp_path / "a.wav").read_bytes() == b"old"
    sink.abort()
    assert (tmp_path / "a.wav").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.wav"]


def test_an_error_in_the_block_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), FileSink(tmp_path / "a.wav", 22_050) as sink:
        sink.write(SOUND)
        raise RuntimeError("half-way")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.xyz", "noextension", "absent-folder/a.wav"])
def test_what_cannot_be_made_is_said_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError) as caught:
        FileSink(tmp_path / name, 22_050).open()
    assert caught.value.exit_code == 73


def test_null_device_is_written_to_directly() -> None:
    write("/dev/null", SOUND, 22_050)
    assert Path("/dev/null").is_char_device()


def test_full_device() -> None:
    with pytest.raises(StorageError) as caught:
        write("/dev/full", np.tile(SOUND, 20), 22_050)
    assert caught.value.exit_code == 74


def test_full_disk_is_one_error_and_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import numpy as np, sys\n"
        "from edgevoice.audio.sink import write\n"
        "from edgevoice.errors import StorageError\n"
        "try:\n"
        "    write(sys.argv[1], np.ones(2_000_000, np.int16), 22050)\n"
        "except StorageError as error:\n"
        "    print('STORAGE', error)\n"
    )

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    command = [sys.executable, "-c", program, str(tmp_path / "a.wav")]
    done = subprocess.run(command, preexec_fn=small_files, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("STORAGE"), done.stderr
    assert str(tmp_path / "a.wav") in done.stdout
    assert os.listdir(tmp_path) == []
