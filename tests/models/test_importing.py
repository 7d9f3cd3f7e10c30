"""Models from a folder: the offline way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from edgevoice.errors import InputMissingError, ModelDataError, StorageError
from edgevoice.models import joining, places, store
from edgevoice.models.checksum import atomic_write
from edgevoice.models.importing import import_folder


def test_imports_a_whole_model_and_finds_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = store.find("en_US-joe-medium", "tts")
    stick = home / "stick" / "any name"
    stick.mkdir(parents=True)
    for name in (source.name, source.name + ".json"):
        shutil.copy(source.with_name(name), stick / name)
    assert import_folder(home / "stick") == ["en_US-joe-medium"]
    monkeypatch.setattr(joining, "package_folder", lambda module: None)
    assert store.find("en_US-joe-medium", "tts").is_relative_to(places.data_dir())


def test_refuses_incomplete_and_absent_folders(home: Path) -> None:
    source = store.find("en_US-joe-medium", "tts")
    (home / "stick").mkdir()
    shutil.copy(source, home / "stick" / source.name)
    with pytest.raises(ModelDataError, match="no complete model"):
        import_folder(home / "stick")
    with pytest.raises(InputMissingError):
        import_folder(home / "nowhere")


def test_a_failed_write_leaves_nothing_and_names_the_file(home: Path) -> None:
    target = home / "x" / "file"
    with pytest.raises(StorageError, match=r"x/file.*No space"), atomic_write(target) as file:
        file.write(b"half")
        raise OSError(28, "No space left on device")
    assert list(target.parent.iterdir()) == []
