"""Values that cannot be read are usage errors; whatever else goes wrong inside is one line and exit code 70."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgevoice.cli import main
from edgevoice.commands import config as verb
from edgevoice.errors import EXIT_CODES, EXIT_INTERRUPTED, EXIT_SOFTWARE, EXIT_USAGE
from tests.e2e.conftest import one_clear_line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("bench governor --caps abc", "'abc' is no number above 0"),
        ("bench governor --caps ,", "holds no number"),
        ("bench governor --caps nan", "'nan' is no number above 0"),
        ("bench governor --imitate pi3", "'pi3' is none of pi4, pi5"),
        ("bench latency --runs 0", "'0' is no whole number of 1 or more"),
        ("bench latency --limit -1", "'-1' is no whole number of 0 or more"),
        ("bench llm --threads two", "'two' is no whole number"),
        ("bench idle --seconds 0", "'0' is no number above 0"),
        ("voices compare --sentences 0", "'0' is no whole number of 1 or more"),
        ("eval asr x.jsonl --limit -1", "'-1' is no whole number of 0 or more"),
    ],
)
def test_a_value_that_cannot_be_used(capsys: pytest.CaptureFixture[str], arguments: str, says: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments.split())
    assert end.value.code == EXIT_USAGE and says in capsys.readouterr().err


@pytest.mark.parametrize("line", ['["a.wav"]', '{"audio": 5}', "7", '{"text": "no sound"}'])
def test_a_manifest_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str) -> None:
    manifest = tmp_path / "m.jsonl"
    manifest.write_text(line)
    assert main(["bench", "latency", str(manifest)]) == EXIT_USAGE
    error = capsys.readouterr().err
    assert one_clear_line(error) and str(manifest) in error


def test_a_defect_is_one_line_and_its_trace_is_for_those_who_debug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(args: object) -> int:
        raise KeyError("pi3")

    monkeypatch.setattr(verb, "run", broken)
    assert main(["config", "check"]) == EXIT_SOFTWARE
    error = capsys.readouterr().err
    assert one_clear_line(error) and "KeyError: 'pi3'" in error and "report" in error
    monkeypatch.setenv("EDGEVOICE_RUNTIME_LOG_LEVEL", "debug")
    assert main(["config", "check"]) == EXIT_SOFTWARE
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_has_its_documented_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(verb, "run", interrupted)
    assert main(["config", "check"]) == EXIT_INTERRUPTED and EXIT_INTERRUPTED in EXIT_CODES
