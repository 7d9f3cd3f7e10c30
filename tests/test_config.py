"""Settings from defaults, file, environment and flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgevoice import config
from edgevoice.errors import InputMissingError, SettingsError
from edgevoice.settings import CHOICES, RANGES, Settings


def test_later_wins(tmp_path: Path) -> None:
    file = tmp_path / "edgevoice.toml"
    file.write_text("[asr]\nchunk_ms = 640\nthreads = 2\n[llm]\nmax_tokens = 20\n")
    settings = config.load(file, ["llm.max_tokens=30"], {"EDGEVOICE_ASR_CHUNK_MS": "160"})
    assert (settings.asr.chunk_ms, settings.asr.threads, settings.llm.max_tokens) == (160, 2, 30)


def test_defaults_stand_without_any_source() -> None:
    assert config.load(None, (), {"HOME": "/nonexistent"}) == Settings()


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("asr.chunkms=160", "did you mean asr.chunk_ms"),
        ("ars.chunk_ms=160", "did you mean asr.chunk_ms"),
        ("asr.chunk_ms=170", "choices: 160, 320, 640"),
        ("asr.backend=ctx", "did you mean ctc"),
        ("llm.threads=two", "a whole number"),
        ("vad.threshold=7", "out of range"),
        ("vad.threshold=nan", "out of range"),
        ("dialog.speculate=perhaps", "true or false"),
        ("nonsense", "section.key=value"),
    ],
)
def test_a_wrong_setting_is_named_with_its_mend(override: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says) as caught:
        config.load(None, [override], {})
    assert caught.value.exit_code == 78


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[asr]\nchunk_ms = '160'", "a whole number"),
        ("[asr]\nthreads = true", "a whole number"),
        ("[asr]\nvocabulary = 'one'", "list of strings"),
        ("chunk_ms = 3", "outside of a section"),
        ("[asr\n", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_named_with_its_mend(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=says) as caught:
        config.load(file, (), {})
    assert "bad.toml" in str(caught.value)


def test_a_missing_file_and_a_binary_file(tmp_path: Path) -> None:
    with pytest.raises(InputMissingError):
        config.load(tmp_path / "none.toml", (), {})
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="UTF-8"):
        config.load(tmp_path / "binary.toml", (), {})


def test_an_unknown_environment_variable_is_an_error() -> None:
    with pytest.raises(SettingsError, match="EDGEVOICE_ARS_CHUNK_MS"):
        config.load(None, (), {"EDGEVOICE_ARS_CHUNK_MS": "160"})


def test_choices_and_ranges_name_settings_that_exist_and_admit_the_defaults() -> None:
    known = {f"{section}.{key}": default for section, key, _, default in config.fields()}
    for name, choices in CHOICES.items():
        assert known[name] in choices, name
    for name, (low, high) in RANGES.items():
        assert low <= known[name] <= high, name


def test_every_setting_has_a_docstring() -> None:
    source = (Path(config.__file__).parent / "settings.py").read_text()
    for _, key, _, _ in config.fields():
        assert f"    {key}: " in source
    assert source.count('    """') >= len(list(config.fields()))
