"""`edgevoice voices`: its list, and what is written wrong on its command line."""

from __future__ import annotations

import json

import pytest

from edgevoice.cli import main
from edgevoice.errors import EXIT_OK, EXIT_USAGE
from tests.documented import documented, leaves


@pytest.mark.parametrize("keep", ["20", "=standard", "20=", "many=standard"])
def test_a_form_to_keep_that_cannot_be_read_is_a_usage_error(capsys: pytest.CaptureFixture[str], keep: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(["voices", "optimize", "--keep", keep])
    assert end.value.code == EXIT_USAGE
    assert f"{keep!r} is not PERCENT=TIER" in capsys.readouterr().err


def test_the_list_is_an_object_with_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["voices", "list", "--json"]) == EXIT_OK
    assert leaves(json.loads(capsys.readouterr().out)) == documented("voices list")
