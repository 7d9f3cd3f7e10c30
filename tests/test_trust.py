"""A service takes settings only from files that nobody else could have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgevoice import config
from edgevoice.errors import SettingsError
from edgevoice.trust import check_trusted, is_service

AS_SERVICE = {"NOTIFY_SOCKET": "/run/systemd/notify"}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def settings_file(tmp_path: Path) -> Path:
    file = tmp_path / "edgevoice.toml"
    file.write_text("[llm]\nmax_tokens = 7\n")
    file.chmod(0o644)
    return file


def test_an_own_file_is_taken(settings_file: Path) -> None:
    check_trusted(settings_file)
    assert config.load(settings_file, environment=AS_SERVICE).llm.max_tokens == 7


def test_a_world_writable_file_is_refused_by_the_service_only(settings_file: Path) -> None:
    settings_file.chmod(0o666)
    with pytest.raises(SettingsError, match="anybody may write") as caught:
        config.load(settings_file, environment=AS_SERVICE)
    assert caught.value.exit_code == 78 and "chmod" in caught.value.mend
    assert config.load(settings_file, environment={}).llm.max_tokens == 7


def test_a_file_in_a_folder_that_anybody_may_change_is_refused(tmp_path: Path, settings_file: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(SettingsError, match="anybody may write"):
        check_trusted(settings_file)
    tmp_path.chmod(0o1777)
    check_trusted(settings_file)


@needs_root
@pytest.mark.parametrize("target", ["file", "folder"])
def test_a_file_of_another_user_is_refused(tmp_path: Path, settings_file: Path, target: str) -> None:
    os.chown(settings_file if target == "file" else tmp_path, 12345, -1)
    with pytest.raises(SettingsError, match="belongs to user 12345"):
        check_trusted(settings_file)


@needs_root
def test_a_file_that_another_group_may_write_is_refused(settings_file: Path) -> None:
    os.chown(settings_file, 0, 12345)
    settings_file.chmod(0o664)
    with pytest.raises(SettingsError, match="group 12345 may write"):
        check_trusted(settings_file)


def test_a_link_is_judged_by_what_it_points_to(tmp_path: Path, settings_file: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(settings_file)
    check_trusted(link)
    settings_file.chmod(0o666)
    with pytest.raises(SettingsError, match="anybody"):
        check_trusted(link)


def test_a_shell_inside_a_service_is_no_service() -> None:
    assert is_service({"SYSTEMD_EXEC_PID": str(os.getpid())})
    assert not is_service({"SYSTEMD_EXEC_PID": "1", "INVOCATION_ID": "x"})
