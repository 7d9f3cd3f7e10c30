"""Loading settings: defaults, then a TOML file, then the environment, then flags; later wins.

Unknown keys are errors that name the nearest known key. In the environment `asr.chunk_ms` is `EDGEVOICE_ASR_CHUNK_MS`.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgevoice.errors import InputMissingError, SettingsError
from edgevoice.settings import CHOICES, RANGES, Settings
from edgevoice.trust import check_trusted, is_service

ENV_PREFIX = "EDGEVOICE_"
ENV_RESERVED = frozenset({"EDGEVOICE_CONFIG", "EDGEVOICE_MODELS", "EDGEVOICE_CORPUS"})
"""Variables with the prefix that are no settings (paths that must be known before settings are read)."""


def fields() -> Iterator[tuple[str, str, Any, Any]]:
    """Every setting as (section, key, type, default), in the order of `Settings`."""
    for section in dataclasses.fields(Settings):
        kind = typing.get_type_hints(Settings)[section.name]
        hints = typing.get_type_hints(kind)
        default = kind()
        for key in dataclasses.fields(kind):
            yield section.name, key.name, hints[key.name], getattr(default, key.name)


def load(
    file: Path | str | None = None,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Settings from the default places.

    `file`: a TOML file (must exist when given); else `$EDGEVOICE_CONFIG`, else the first existing of `default_files`.
    `overrides`: `section.key=value` strings. A service refuses a file that others may write (`check_trusted`).
    Raises SettingsError or InputMissingError.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, dict[str, Any]] = {}
    source = _settings_file(file, environment)
    if source is not None:
        if is_service(environment):
            check_trusted(source)
        _merge(values, _read_toml(source), str(source))
    for name in sorted(environment):
        if name.startswith(ENV_PREFIX) and name not in ENV_RESERVED and (key := _environment_key(name)):
            _set(values, *key, environment[name], f"environment variable {name}", text=True)
    for item in overrides:
        name, equals, value = item.partition("=")
        section, dot, key_name = name.strip().partition(".")
        if not (equals and dot):
            raise SettingsError(f"--set {item}", "not of the form section.key=value", "e.g. --set asr.chunk_ms=160")
        _set(values, section, key_name, value, f"--set {item}", text=True)
    return _build(values)


def default_files(environment: Mapping[str, str]) -> list[Path]:
    """Where a settings file is looked for when none is named, first hit wins."""
    home = Path(environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "/")) / ".config")
    return [home / "edgevoice" / "edgevoice.toml", Path("/etc/edgevoice/edgevoice.toml")]


def replace(settings: Settings, **sections: Mapping[str, Any]) -> Settings:
    """A copy with some keys changed: `replace(settings, asr={"chunk_ms": 160})`."""
    changed = {name: dataclasses.replace(getattr(settings, name), **keys) for name, keys in sections.items()}
    return dataclasses.replace(settings, **changed)


def _settings_file(file: Path | str | None, environment: Mapping[str, str]) -> Path | None:
    named = file or environment.get("EDGEVOICE_CONFIG")
    if named:
        if not Path(named).is_file():
            raise InputMissingError(str(named), "no such settings file", "check the path given with --config")
        return Path(named)
    return next((place for place in default_files(environment) if place.is_file()), None)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(str(path), f"not valid TOML ({error})", "mend the line it names") from error
    except UnicodeDecodeError as error:
        raise SettingsError(str(path), "not UTF-8 text", "save the file as UTF-8") from error
    except OSError as error:
        raise InputMissingError(str(path), error.strerror or str(error), "make the file readable") from error


def _merge(values: dict[str, dict[str, Any]], table: Mapping[str, Any], where: str) -> None:
    for section, keys in table.items():
        if not isinstance(keys, dict):
            raise SettingsError(f"{where}: {section}", "a setting outside of a section", "put it under [section]")
        sections = list(dict.fromkeys(known for known, _, _, _ in fields()))
        if section not in sections:
            near = difflib.get_close_matches(section, sections, n=1, cutoff=0.0)[0]
            raise SettingsError(f"{where}: [{section}]", "unknown section", f"did you mean [{near}]?")
        for key, value in keys.items():
            _set(values, section, key, value, f"{where}: {section}.{key}", text=False)


def _environment_key(name: str) -> tuple[str, str] | None:
    rest = name[len(ENV_PREFIX) :].lower()
    section, _, key = rest.partition("_")
    known = {s for s, _, _, _ in fields()}
    if section not in known:
        raise SettingsError(
            f"environment variable {name}",
            "names no section of the settings",
            f"sections: {', '.join(sorted(known))}",
        )
    return section, key


def _set(values: dict[str, dict[str, Any]], section: str, key: str, value: Any, where: str, text: bool) -> None:
    known = {(s, k): kind for s, k, kind, _ in fields()}
    if (section, key) not in known:
        near = difflib.get_close_matches(f"{section}.{key}", [f"{s}.{k}" for s, k in known], n=1, cutoff=0.0)
        raise SettingsError(where, "unknown setting", f"did you mean {near[0]}?")
    kind = known[section, key]
    converted = _from_text(value, kind, where) if text else _typed(value, kind, where)
    _check(f"{section}.{key}", converted, where)
    values.setdefault(section, {})[key] = converted


def _typed(value: Any, kind: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if typing.get_origin(kind) is tuple:
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return tuple(value)
        raise SettingsError(where, "not a list of strings", 'write it as ["one", "two"]')
    if type(value) is not kind:
        raise SettingsError(where, f"{value!r} is not {_kind_name(kind)}", f"give {_kind_name(kind)}")
    return value


def _from_text(value: str, kind: Any, where: str) -> Any:
    value = value.strip()
    if typing.get_origin(kind) is tuple:
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if kind is bool:
        words = {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }
        if value.lower() not in words:
            raise SettingsError(where, f"{value!r} is not true or false", "give true or false")
        return words[value.lower()]
    try:
        return kind(value)
    except ValueError as error:
        raise SettingsError(where, f"{value!r} is not {_kind_name(kind)}", f"give {_kind_name(kind)}") from error


def _kind_name(kind: Any) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}.get(kind, str(kind))


def _check(name: str, value: Any, where: str) -> None:
    if name in CHOICES and value not in CHOICES[name]:
        near = difflib.get_close_matches(str(value), [str(c) for c in CHOICES[name]], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise SettingsError(
            where, f"{value!r} is not among the choices", f"{hint}choices: {', '.join(map(str, CHOICES[name]))}"
        )
    if name in RANGES:
        low, high = RANGES[name]
        if not low <= value <= high:  # also refuses NaN
            raise SettingsError(where, f"{value} is out of range", f"give {low:g} to {high:g}")


def _build(values: Mapping[str, Mapping[str, Any]]) -> Settings:
    kinds = typing.get_type_hints(Settings)
    return Settings(**{name: kinds[name](**keys) for name, keys in values.items()})
