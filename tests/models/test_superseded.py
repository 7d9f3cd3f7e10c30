"""What a newer prepared form has replaced is deleted, and what killed processes left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgevoice.models.checksum import atomic_write
from edgevoice.models.superseded import remove_superseded


def forms(folder: Path, count: int) -> list[Path]:
    """Folders with a file in each, the first the oldest."""
    made = [folder / f"form-{number}" for number in range(count)]
    for age, form in enumerate(made):
        form.mkdir()
        (form / "graph").write_bytes(b"x")
        os.utime(form, (1000 + age, 1000 + age))
    return made


def test_the_newest_two_are_kept(tmp_path: Path) -> None:
    made = forms(tmp_path, 4)
    remove_superseded(tmp_path.glob("form-*"), in_use=made[3])
    assert sorted(tmp_path.iterdir()) == made[2:]


def test_the_one_in_use_is_kept_however_old_it_is(tmp_path: Path) -> None:
    made = forms(tmp_path, 4)
    remove_superseded(tmp_path.glob("form-*"), in_use=made[0])
    assert sorted(tmp_path.iterdir()) == [made[0], made[3]]


def test_one_that_another_process_has_deleted_is_no_error(tmp_path: Path) -> None:
    made = forms(tmp_path, 3)
    gone = [tmp_path / "form-gone", tmp_path / "form-gone-too"]
    remove_superseded([*gone, *made], in_use=made[2])
    assert sorted(tmp_path.iterdir()) == made[1:]


def test_one_that_cannot_be_deleted_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    made = forms(tmp_path, 3)
    monkeypatch.setattr(os, "unlink", refuse)
    remove_superseded(made, in_use=made[2])
    assert made[0].exists()


def test_what_a_killed_process_left_of_a_file_goes_when_it_is_written_again(tmp_path: Path) -> None:
    old, young, strange = (tmp_path / name for name in (".model.bin.ab_c1234", ".model.bin.zzzzzzzz", ".model.bin.swp"))
    for path in (old, young, strange):
        path.write_bytes(b"half")
    for path in (old, strange):
        os.utime(path, (1000, 1000))
    with atomic_write(tmp_path / "model.bin") as file:
        file.write(b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".model.bin.swp", ".model.bin.zzzzzzzz", "model.bin"]
