"""Bad input on the command line: one clear line with the thing, the reason and the mend; the documented exit code."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from edgevoice.cli import main
from edgevoice.errors import (
    EXIT_CANT_CREATE,
    EXIT_CONFIG,
    EXIT_DATA,
    EXIT_IO,
    EXIT_NO_INPUT,
    EXIT_OK,
)
from edgevoice.models import store
from tests.asr.conftest import tiny_lm  # noqa: F401  (a fixture)
from tests.conftest import DATA, ROOT, needs_espeak
from tests.e2e.conftest import edgevoice, one_clear_line, set_flags

LIGHT = set_flags("asr.second_pass=off")
QUESTION = DATA / "question.flac"


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command line, run in this process."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# --- settings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb", [("config", "check"), ("say", "hello"), ("replay", QUESTION), ("transcribe", QUESTION)]
)
@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("asr.chunk=160", "did you mean asr.chunk_ms?"),
        ("llm.max_tokens=many", "whole number"),
        ("asr.backend=ctcc", "did you mean ctc?"),
        ("vad.threshold=7", "give 0.01 to 0.99"),
    ],
)
def test_a_wrong_setting(
    capsys: pytest.CaptureFixture[str], verb: tuple[str | Path, ...], setting: str, says: str
) -> None:
    code, out, error = run(capsys, *verb, "--set", setting)
    assert code == EXIT_CONFIG and out == ""
    assert one_clear_line(error) and setting.split("=")[0] in error and says in error


# --- sound files -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The bundled question in many formats, and sounds that are none."""
    folder = Path(tmp_path_factory.mktemp("recordings"))
    sound, _ = soundfile.read(QUESTION, dtype="float32")
    made: dict[str, Path] = {}
    for name, rate, channels, subtype in (
        ("8-bit", 16_000, 1, "PCM_U8"),
        ("24-bit", 48_000, 2, "PCM_24"),
        ("float", 44_100, 1, "FLOAT"),
        ("8 kHz", 8_000, 1, "PCM_16"),
        ("192 kHz", 192_000, 1, "PCM_16"),
        ("8 channels", 16_000, 8, "PCM_16"),
    ):
        made[name] = folder / f"{name}.wav"
        samples = np.clip(soxr.resample(sound, 16_000, rate), -1, 1)
        soundfile.write(made[name], np.repeat(samples[:, None], channels, axis=1), rate, subtype)
    made["silent"] = folder / "silent.wav"
    soundfile.write(made["silent"], np.zeros(32_000, np.int16), 16_000)
    contents = {"not audio": b"this is a letter, not a sound\n" * 50, "empty": b"", "cut": QUESTION.read_bytes()[:20]}
    for name, content in contents.items():
        made[name] = folder / f"{name}.wav"
        made[name].write_bytes(content)
    made["no samples"] = folder / "none.wav"
    soundfile.write(made["no samples"], np.zeros(0, np.int16), 16_000)
    made["nan"] = folder / "nan.wav"
    soundfile.write(made["nan"], np.where(np.arange(16_000) == 9_000, np.nan, sound[:16_000]), 16_000, "FLOAT")
    made["absent"] = folder / "absent.wav"
    return made


def test_every_format_is_understood_and_bad_files_do_not_hide_good_ones(
    capsys: pytest.CaptureFixture[str], recordings: dict[str, Path]
) -> None:
    good = ("8-bit", "24-bit", "float", "8 kHz", "192 kHz", "8 channels", "silent")
    bad = {"not audio": "no sound file", "empty": "no sound file", "cut": "no sound file", "no samples": "0 samples"}
    bad |= {"nan": "NaN", "absent": "no such file"}
    files = [recordings[name] for name in (*bad, *good)]
    code, out, error = run(capsys, "transcribe", "--json", *LIGHT, *files)
    assert code == EXIT_DATA, "the code of the first error"
    rows = {Path(row["file"]).stem: row for row in json.loads(out)["files"]}
    assert set(rows) == set(good)
    assert rows["silent"]["transcript"] == ""
    for name in set(good) - {"silent"}:
        assert "think of my" in rows[name]["transcript"], f"{name}: {rows[name]}"
        assert rows[name]["seconds"] == pytest.approx(soundfile.info(QUESTION).duration, abs=0.01)
    lines = error.splitlines()
    assert len(lines) == len(bad) and "Traceback" not in error
    for line, (name, says) in zip(lines, bad.items(), strict=True):
        assert str(recordings[name]) in line and says in line and " — " in line


@pytest.mark.parametrize(
    ("name", "code"),
    [("not audio", EXIT_DATA), ("empty", EXIT_DATA), ("absent", EXIT_NO_INPUT)],
)
def test_replay_names_an_unreadable_file_before_loading_anything(
    capsys: pytest.CaptureFixture[str], recordings: dict[str, Path], tmp_path: Path, name: str, code: int
) -> None:
    out = tmp_path / "out.wav"
    arguments = ("replay", QUESTION, recordings[name], "--out", out, "--set", "llm.model=/absent.gguf")
    got, stdout, error = run(capsys, *arguments)
    assert (got, stdout) == (code, "") and one_clear_line(error) and str(recordings[name]) in error
    assert not list(tmp_path.iterdir())


def test_replay_of_a_damaged_sound_in_the_middle_keeps_its_exit_code(
    capsys: pytest.CaptureFixture[str], recordings: dict[str, Path], tmp_path: Path
) -> None:
    """NaN is found only while playing: the daemon stops in order and says why."""
    light = set_flags("llm.backend=template", "asr.second_pass=off", "tts.backend=off")
    code, _, error = run(capsys, "replay", recordings["nan"], "--pace", "fast", *light)
    assert code == EXIT_DATA and one_clear_line(error) and "NaN" in error


def test_an_hour_streams_through_with_flat_memory(tmp_path: Path) -> None:
    """In a process of its own, whose peak memory is its own: one hour against one minute of the same noise."""
    noise = (np.random.default_rng(1).standard_normal(60 * 16_000) * 300).astype(np.int16)
    peaks, seconds = [], []
    for minutes in (1, 60):
        path = tmp_path / f"{minutes}.wav"
        with soundfile.SoundFile(path, "w", 16_000, 1, "PCM_16") as file:
            for _ in range(minutes):
                file.write(noise)
        code = (
            "import resource, sys; from edgevoice.cli import main\n"
            "code = main(sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
        )
        command = [sys.executable, "-c", code, "transcribe", str(path), "--json", *LIGHT]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=170, check=True)
        report, peak = done.stdout.splitlines()
        peaks.append(int(peak) / 1024)
        seconds.append(json.loads(report)["files"][0]["seconds"])
        assert json.loads(report)["files"][0]["transcript"] == ""
    assert seconds == [60.0, 3600.0]
    assert peaks[1] < peaks[0] + 60, "an hour as 32-bit floats would be 230 MB"


# --- models ------------------------------------------------------------------------------------------------------


def damaged(original: Path, target: Path, kind: str) -> Path:
    """A damaged copy: cut in the middle, bytes changed in the middle, or other content altogether."""
    data = bytearray(original.read_bytes())
    if kind == "truncated":
        data = data[: len(data) // 2]
    elif kind == "corrupt":
        middle = len(data) // 2
        random = np.random.default_rng(0)
        data[64:4096] = random.bytes(4032)
        data[middle : middle + 65_536] = random.bytes(65_536)
    else:
        data = bytearray(b"<html>404 not found</html>" * 20)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


@pytest.mark.parametrize("kind", ["truncated", "corrupt", "other"])
def test_a_damaged_language_model(tmp_path: Path, kind: str) -> None:
    """In a process of its own: the library must refuse the file, not die of it."""
    model = damaged(store.find("gemma3-270m", "llm"), tmp_path / "model.gguf", kind)
    done = edgevoice("chat", "hello", "--set", f"llm.model={model}")
    assert done.returncode == EXIT_DATA, (done.returncode, done.stderr[-500:])
    assert one_clear_line(done.stderr) and str(model) in done.stderr


@pytest.mark.parametrize("kind", ["truncated", "corrupt", "other"])
def test_a_damaged_voice(tmp_path: Path, kind: str) -> None:
    original = store.find("en_US-joe-medium", "tts")
    voice = damaged(original, tmp_path / "voice.onnx", kind)
    shutil.copy(original.with_name(original.name + ".json"), tmp_path / "voice.onnx.json")
    out = tmp_path / "out.wav"
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = edgevoice("say", "hello", "--voice", voice, "--out", out, env=env)
    assert done.returncode == EXIT_DATA, (done.returncode, done.stderr[-500:])
    assert one_clear_line(done.stderr) and str(voice) in done.stderr and not out.exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"audio": {"sample_rate": "fast"}}'])
def test_a_damaged_description_of_a_voice(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str) -> None:
    voice = tmp_path / "voice.onnx"
    voice.symlink_to(store.find("en_US-joe-medium", "tts"))
    (tmp_path / "voice.onnx.json").write_text(content)
    code, _, error = run(capsys, "say", "hello", "--voice", voice, "--out", tmp_path / "out.wav")
    assert code == EXIT_DATA and one_clear_line(error) and "voice.onnx" in error


@pytest.mark.parametrize("kind", ["truncated", "corrupt", "other"])
@pytest.mark.parametrize("file", ["ctc.int8.onnx", "turn_end.onnx", "lm.arpa.gz"])
def test_a_damaged_recogniser(tmp_path: Path, file: str, kind: str) -> None:
    folder = tmp_path / "recogniser"
    shutil.copytree(store.find("asr-en-ctc", "asr"), folder)
    damaged(folder / file, folder / file, kind)
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = edgevoice("transcribe", QUESTION, "--set", f"asr.model={folder}", *LIGHT, env=env)
    assert done.returncode == EXIT_DATA, (done.returncode, done.stderr[-500:])
    assert one_clear_line(done.stderr) and file in done.stderr


@pytest.mark.parametrize("kind", ["truncated", "other"])
def test_a_damaged_second_pass(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "whisper"
    shutil.copytree(store.find("whisper-tiny-en", "asr"), folder)
    damaged(folder / "model.bin", folder / "model.bin", kind)
    done = edgevoice("transcribe", QUESTION, "--set", f"asr.second_pass_model={folder}")
    assert done.returncode == EXIT_DATA, (done.returncode, done.stderr[-500:])
    assert one_clear_line(done.stderr) and str(folder) in done.stderr


@pytest.mark.parametrize(
    ("arguments", "thing"),
    [
        (("chat", "hello", "--set", "llm.model=/absent/m.gguf"), "/absent/m.gguf"),
        (("say", "hello", "--voice", "/absent/v.onnx", "--out", "x.wav"), "/absent/v.onnx"),
        (("transcribe", QUESTION, "--set", "asr.model=/absent/folder"), "/absent/folder"),
        (("replay", QUESTION, "--set", "asr.second_pass_model=/absent/whisper"), "/absent/whisper"),
        (("say", "hello", "--voice", "en_US-joe-mediun", "--out", "x.wav"), "did you mean 'en_US-joe-medium'"),
    ],
)
def test_an_absent_model(capsys: pytest.CaptureFixture[str], arguments: tuple[str | Path, ...], thing: str) -> None:
    code, _, error = run(capsys, *arguments)
    assert code == EXIT_NO_INPUT and one_clear_line(error) and thing in error


@pytest.mark.parametrize("verb", ["transcribe", "replay"])
def test_a_damaged_word_graph_is_made_again(tmp_path: Path, tiny_lm: Path, verb: str) -> None:  # noqa: F811
    """The recogniser's graph is kept in the cache folder; with a small language model it is made in a second."""
    folder, cache = tmp_path / "recogniser", tmp_path / "cache"
    shutil.copytree(store.find("asr-en-ctc", "asr"), folder)
    with gzip.open(folder / "lm.arpa.gz", "wt") as file:
        file.write(tiny_lm.read_text())
    light = set_flags(f"asr.model={folder}", "llm.backend=template", "tts.backend=off")
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    arguments = (verb, QUESTION, "--json", *light, *LIGHT, *(["--pace", "fast"] if verb == "replay" else []))
    assert edgevoice(*arguments, env=env).returncode == EXIT_OK
    (graph,) = cache.rglob("HLG.fst")
    whole = graph.read_bytes()
    damaged(graph, graph, "truncated")
    done = edgevoice(*arguments, env=env)
    assert done.returncode == EXIT_OK and "Traceback" not in done.stderr
    assert graph.read_bytes() == whole


# --- output ------------------------------------------------------------------------------------------------------


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if (
        os.geteuid()
        or not shutil.which("mount")
        or subprocess.run(command, capture_output=True, check=False).returncode
    ):
        pytest.skip("mounting needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


LONG_TEXT = "This sentence is spoken again and again until the disk is full. " * 4


def test_a_full_disk_leaves_nothing_behind(capsys: pytest.CaptureFixture[str], tiny_disk: Path) -> None:
    kept = tiny_disk / "out.wav"
    kept.write_bytes(b"an older file")
    code, out, error = run(capsys, "say", LONG_TEXT, "--out", kept)
    assert code == EXIT_IO and out == "" and one_clear_line(error) and str(kept) in error and "disk" in error
    assert list(tiny_disk.iterdir()) == [kept] and kept.read_bytes() == b"an older file"


def test_replay_to_a_full_disk(capsys: pytest.CaptureFixture[str], tiny_disk: Path) -> None:
    out = tiny_disk / "reply.wav"
    arguments = ("--pace", "fast", "--set", "llm.backend=template", *LIGHT)
    # The answer is a fixed sentence of more than two seconds: 100 kB.
    code, _, error = run(capsys, "replay", QUESTION, QUESTION, "--out", out, *arguments)
    assert code == EXIT_IO and str(out) in error and "Traceback" not in error
    assert list(tiny_disk.iterdir()) == []


def test_a_full_device(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run(capsys, "say", LONG_TEXT, "--out", "/dev/full")
    assert code == EXIT_IO and one_clear_line(error) and "/dev/full" in error


@pytest.mark.parametrize("name", ["absent-folder/out.wav", "out.unknown", "."])
def test_an_output_that_cannot_be_made(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    code, _, error = run(capsys, "say", "hello", "--out", out)
    assert code == EXIT_CANT_CREATE and one_clear_line(error) and str(out) in error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    ["config show", "models list", f"transcribe {LIGHT[0]} {LIGHT[1]} {QUESTION} {QUESTION} {QUESTION} --json"],
)
def test_a_reader_that_goes_away_is_no_error(command: str) -> None:
    """As `edgevoice … | true`: the pipe is closed before the first byte."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "edgevoice", *command.split()],
            cwd=ROOT,
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(write)
    assert done.returncode == EXIT_OK and done.stderr == ""


# --- text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " \n\t", "…!?", "***"])
def test_nothing_to_say_is_said_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    out = tmp_path / "out.wav"
    code, stdout, error = run(capsys, "say", text, "--out", out)
    assert (code, stdout, error) == (EXIT_OK, "", "nothing to speak\n") and not list(tmp_path.iterdir())


def test_one_character_is_spoken(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out.wav"
    code, stdout, _ = run(capsys, "say", "a", "--out", out, "--json")
    assert code == EXIT_OK and json.loads(stdout)["seconds"] == pytest.approx(soundfile.info(out).duration, abs=0.001)
    assert 0.1 < soundfile.info(out).duration < 2


@pytest.mark.parametrize(
    "voice", [pytest.param("espeak", marks=needs_espeak), pytest.param("piper", marks=pytest.mark.slow)]
)
def test_f6_twenty_thousand_characters_in_flat_memory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, voice: str
) -> None:
    text = "The old house by the river has been empty for many years, and nobody knows why. "
    text = (text * (20_000 // len(text) + 1))[:20_000]
    out = tmp_path / "out.flac"
    assert run(capsys, "say", text[:200], "--voice", voice, "--out", tmp_path / "warm.wav")[0] == EXIT_OK
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    code, stdout, _ = run(capsys, "say", text, "--voice", voice, "--out", out, "--json")
    assert code == EXIT_OK
    report = json.loads(stdout)
    assert report["clauses"] > 200 and report["seconds"] > 600, "all of it is spoken"
    assert soundfile.info(out).duration == pytest.approx(report["seconds"], abs=0.1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 < before + 150
