"""Finding models: order, verification, and one clear error for each thing that can be wrong."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from edgevoice.errors import ModelDataError, ModelMissingError, SettingsError
from edgevoice.models import checksum, joining, store
from edgevoice.models.catalogue import catalogue, lookup


def test_finds_each_default_model_where_its_package_put_it(home: Path) -> None:
    voice = store.find("en_US-joe-medium", "tts")
    assert voice.name == "en_US-joe-medium.onnx"
    assert voice.with_name(voice.name + ".json").is_file()
    assert (store.find("whisper-tiny-en", "asr") / "model.bin").is_file()


def test_joins_a_model_in_pieces_once_even_when_two_ask(home: Path) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(store.find("gemma3-270m", "llm"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(set(found)) == 1 and len(found) == 2
    path = found[0]
    assert path.stat().st_size == lookup("gemma3-270m").files[0].size
    assert [p.name for p in path.parent.iterdir() if p.name != ".lock"] == [path.name], "no temporary file is left"

    # A damaged copy is noticed (its time changed) and joined again.
    with path.open("r+b") as file:
        file.seek(1000)
        file.write(b"damage")
    assert checksum.sha256(store.find("gemma3-270m", "llm")) == lookup("gemma3-270m").files[0].sha256


def _copy_voice(folder: Path) -> Path:
    source = store.find("en_US-joe-medium", "tts")
    folder.mkdir(parents=True)
    for name in (source.name, source.name + ".json"):
        shutil.copy(source.with_name(name), folder / name)
    return folder / source.name


def test_a_good_copy_stands_in_for_a_damaged_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = _copy_voice(home / "stick" / "en_US-joe-medium")
    broken = home / "broken"
    broken.mkdir()
    monkeypatch.setattr(joining, "package_folder", lambda module: broken)
    with pytest.raises(ModelDataError, match=r"missing.*edgevoice models fetch en_US-joe-medium"):
        store.find("en_US-joe-medium", "tts")
    monkeypatch.setenv("EDGEVOICE_MODELS", str(home / "stick"))
    assert store.find("en_US-joe-medium", "tts") == copy


def test_catches_truncated_and_changed_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = _copy_voice(home / "stick" / "en_US-joe-medium")
    monkeypatch.setattr(joining, "package_folder", lambda module: None)
    monkeypatch.setenv("EDGEVOICE_MODELS", str(home / "stick"))
    assert store.find("en_US-joe-medium", "tts") == copy
    size = copy.stat().st_size
    with copy.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\0\1\2\3")
    with pytest.raises(ModelDataError, match="SHA-256"):
        store.find("en_US-joe-medium", "tts")
    os.truncate(copy, size - 1)
    with pytest.raises(ModelDataError, match=f"{size - 1} bytes instead of {size}"):
        store.find("en_US-joe-medium", "tts")


def test_hashes_are_remembered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.find("whisper-tiny-en", "asr")
    hashed: list[Path] = []
    monkeypatch.setattr(checksum, "sha256", lambda path, progress=None: hashed.append(path) or "none")
    store.find("whisper-tiny-en", "asr")
    assert hashed == []
    (home / "cache" / "edgevoice" / "verified.json").write_text("{damaged")
    with pytest.raises(ModelDataError):
        store.find("whisper-tiny-en", "asr")
    assert hashed, "a damaged memory is dropped, and the files are read again"


@pytest.mark.parametrize(
    ("name", "kind", "error", "words"),
    [
        ("gemma3-270", "llm", ModelMissingError, "did you mean 'gemma3-270m'"),
        ("gemma3-270m", "tts", SettingsError, "of kind llm, not tts"),
        ("", "llm", ModelMissingError, "neither in the catalogue"),
        ("/nowhere/x.gguf", "llm", ModelMissingError, "no such file"),
    ],
)
def test_wrong_names(home: Path, name: str, kind: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        store.find(name, kind)


@pytest.mark.parametrize(
    ("file", "content", "kind", "words"),
    [
        ("m.gguf", b"", "llm", "empty"),
        ("m.gguf", b"GGUF\x03", "llm", "not a GGUF"),
        ("m.gguf", b"GGUF" + b"\xff" * 60, "llm", "header is damaged"),
        ("m.gguf", b"<html>" * 20, "llm", "not a GGUF"),
        ("m.onnx", b"<html>" * 20, "tts", "not an ONNX"),
        ("m.onnx", b"\x08\x08" + b"x" * 60, "llm", "not a .gguf"),
        ("m.pt", b"PK\x03\x04" * 20, "asr", "pickled models are never loaded"),
    ],
)
def test_files_that_are_no_models(home: Path, file: str, content: bytes, kind: str, words: str) -> None:
    (home / file).write_bytes(content)
    with pytest.raises(ModelDataError, match=words):
        store.find(str(home / file), kind)


def test_a_voice_needs_its_description(home: Path) -> None:
    (home / "v.onnx").write_bytes(b"\x08\x08" + b"x" * 60)
    with pytest.raises(ModelMissingError, match=r"v\.onnx\.json"):
        store.find(str(home / "v.onnx"), "tts")


def test_folders_of_the_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEVOICE_MODELS", str(home / "own"))
    (home / "own" / "my-model").mkdir(parents=True)
    with pytest.raises(ModelMissingError, match=r"expected one \.gguf file, found none"):
        store.find("my-model", "llm")
    assert store.find("my-model", "asr") == home / "own" / "my-model"


def test_a_package_is_found_without_running_its_code(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = home / "site" / "evil_model_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(textwrap.dedent("raise SystemExit('model packages must not run')"))
    monkeypatch.setattr(sys, "path", [str(home / "site"), *sys.path])
    assert joining.package_folder("evil_model_package") == package


def test_g2_nothing_is_fetched_when_a_model_is_absent(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was attempted")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    monkeypatch.setattr(joining, "package_folder", lambda module: None)
    for entry in catalogue().values():
        if not entry.shipped:
            with pytest.raises(ModelMissingError, match="edgevoice models fetch"):
                store.find(entry.name, entry.kind)
