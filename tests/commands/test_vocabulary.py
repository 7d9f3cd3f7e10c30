from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgevoice import cli
from edgevoice.asr.vocabulary import all_phrases, vocabulary_file
from edgevoice.errors import EXIT_USAGE
from tests.documented import documented, leaves


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["vocabulary", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_add_list_remove(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "add", "Quattro Stagioni", "Fizzlechip=5")[0] == 0
    _, out, _ = run(capsys, "list", "--json")
    rows = {row["phrase"]: row for row in json.loads(out)["phrases"]}
    assert rows["fizzlechip"]["weight"] == 5
    assert rows["fizzlechip"]["new_words"] == ["fizzlechip"]
    assert rows["quattro stagioni"]["pronunciation"].startswith("K W")
    assert run(capsys, "remove", "fizzlechip")[0] == 0
    assert [phrase.text for phrase in all_phrases(())] == ["quattro stagioni"]


def test_adding_again_changes_the_weight(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "add", "Netley")
    run(capsys, "add", "netley=7")
    assert [(phrase.text, phrase.weight) for phrase in all_phrases(())] == [("netley", 7.0)]


def test_settings_win_over_what_was_taught(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "add", "netley=2")
    assert [(phrase.text, phrase.weight) for phrase in all_phrases(("netley=9",))] == [("netley", 9.0)]


def test_what_was_not_taught_cannot_be_removed(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "remove", "netley")
    assert code == EXIT_USAGE
    assert "netley" in err


@pytest.mark.parametrize("entry", ["netley=heavy", "netley=99", "..."])
def test_a_bad_phrase_leaves_the_file_as_it_was(capsys: pytest.CaptureFixture[str], entry: str) -> None:
    run(capsys, "add", "stagioni")
    before = vocabulary_file().read_text()
    code, _, err = run(capsys, "add", "fine", entry)
    assert code == EXIT_USAGE
    assert "phrase" in err
    assert vocabulary_file().read_text() == before


def test_an_empty_list_says_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert "vocabulary add" in out


def test_a_taught_word_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "test", "Fizzlechip=6", "--json")
    assert leaves(json.loads(out)) == documented("vocabulary")
    (row,) = json.loads(out)["phrases"]
    assert row["heard_before"] != "fizzlechip"
    assert (code, row["heard"]) == (0, "fizzlechip")
