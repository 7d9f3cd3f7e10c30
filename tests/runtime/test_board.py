"""Reading the board: heat, memory, cores. The files are laid out as Linux does, under a root of the test's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edgevoice import config
from edgevoice.runtime import memory
from edgevoice.runtime.cores import cpu_quota, plan, usable_cores
from edgevoice.runtime.thermal import ThermalReader
from edgevoice.settings import Settings
from tests.conftest import ROOT


def lay(root: Path, **files: str) -> None:
    """Write `a__b__c="text"` as root/a/b/c."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


ZONE = "sys__class__thermal__thermal_zone0__"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    lay(
        tmp_path,
        **{
            f"{ZONE}temp": "45000",
            f"{ZONE}type": "cpu-thermal",
            f"{ZONE}trip_point_0_type": "passive",
            f"{ZONE}trip_point_0_temp": "80000",
            f"{ZONE}trip_point_1_type": "critical",
            f"{ZONE}trip_point_1_temp": "110000",
        },
    )
    return tmp_path


def test_g5_a_cool_board_is_not_throttled(board: Path) -> None:
    heat = ThermalReader(board).read()
    assert heat.celsius == 45.0 and not heat.throttled


def test_g5_the_thermal_zone_is_read_against_its_own_trip_point(board: Path) -> None:
    reader = ThermalReader(board)
    lay(board, **{f"{ZONE}temp": "79000"})
    heat = reader.read()
    assert heat.throttled and "cpu-thermal at 79" in heat.reasons[0]
    lay(board, **{f"{ZONE}temp": "70000"})
    assert not reader.read().throttled


@pytest.mark.parametrize(
    ("bits", "words"), [("0", []), ("50005", ["undervoltage", "throttled"]), ("50000", []), ("8", ["soft"])]
)
def test_g5_a_raspberry_pi_reports_its_present_state_only(board: Path, bits: str, words: list[str]) -> None:
    # Bits 16 and up say "has happened since boot" and must not hold the level down for ever.
    lay(board, **{"sys__devices__platform__soc__soc:firmware__get_throttled": bits})
    reasons = ThermalReader(board).read().reasons
    assert len(reasons) == len(words) and all(any(w in r for r in reasons) for w in words)


def test_a_lowered_clock_counts_only_if_a_cooling_device_did_it(board: Path) -> None:
    policy = "sys__devices__system__cpu__cpufreq__policy0__"
    lay(board, **{f"{policy}scaling_max_freq": "1200000", f"{policy}cpuinfo_max_freq": "2400000"})
    assert not ThermalReader(board).read().throttled, "a person's power-saving profile is no heat"
    cooling = "sys__class__thermal__cooling_device0__"
    lay(board, **{f"{cooling}type": "cpufreq-cpu0", f"{cooling}cur_state": "2"})
    assert "1.2 of 2.4 GHz" in ThermalReader(board).read().reasons[0]


def test_throttle_counters_count_while_they_grow(board: Path) -> None:
    counter = "sys__devices__system__cpu__cpu0__thermal_throttle__core_throttle_count"
    reader = ThermalReader(board)
    lay(board, **{counter: "7"})
    assert not reader.read().throttled
    lay(board, **{counter: "9"})
    assert reader.read().throttled
    assert not reader.read().throttled


def test_a_board_without_sensors_or_with_broken_ones_reads_as_cool(tmp_path: Path) -> None:
    assert ThermalReader(tmp_path).read().celsius is None
    lay(tmp_path, **{f"{ZONE}temp": "garbage"})
    assert not ThermalReader(tmp_path).read().throttled


def test_this_machine_can_be_read() -> None:
    assert isinstance(ThermalReader().read().reasons, tuple)
    assert 10 < memory.rss_mb() < 100_000
    assert 0 < memory.headroom_mb() <= memory.total_mb()
    assert usable_cores() >= 1


def test_memory_headroom_knows_the_control_group(tmp_path: Path) -> None:
    group = "sys__fs__cgroup__system.slice__edgevoice.service__"
    lay(
        tmp_path,
        proc__self__cgroup="0::/system.slice/edgevoice.service",
        **{
            f"{group}memory.max": str(600 * 2**20),
            f"{group}memory.current": str(550 * 2**20),
            f"{group}memory.stat": f"anon 1\ninactive_file {20 * 2**20}",
        },
    )
    assert memory.headroom_mb(tmp_path) == pytest.approx(70)
    assert memory.total_mb(tmp_path) == pytest.approx(600)


@pytest.mark.parametrize(("text", "cores"), [("150000 100000", 1.5), ("max 100000", None), ("garbage", None)])
def test_a_cpu_quota_of_a_parent_group_counts(tmp_path: Path, text: str, cores: float | None) -> None:
    lay(
        tmp_path,
        proc__self__cgroup="0::/kiosk.slice/edgevoice.service",
        **{
            "sys__fs__cgroup__kiosk.slice__cpu.max": text,
            "sys__fs__cgroup__kiosk.slice__edgevoice.service__cpu.max": "max 100000",
        },
    )
    assert cpu_quota(tmp_path) == cores


def test_a_cpu_quota_of_version_1_counts(tmp_path: Path) -> None:
    lay(
        tmp_path,
        proc__self__cgroup="4:cpu,cpuacct:/docker/x\n0::/",
        **{"sys__fs__cgroup__cpu__cpu.cfs_quota_us": "50000", "sys__fs__cgroup__cpu__cpu.cfs_period_us": "100000"},
    )
    assert cpu_quota(tmp_path) == 0.5
    assert usable_cores(tmp_path) == 1


@pytest.mark.parametrize(
    ("cores", "llm", "shared", "tts"), [(1, 1, 1, 1), (2, 1, 1, 2), (3, 2, 1, 2), (4, 3, 2, 2), (8, 7, 6, 2)]
)
def test_core_plan(cores: int, llm: int, shared: int, tts: int) -> None:
    found = plan(Settings(), cores)
    assert (found.asr, found.llm, found.llm_shared, found.tts) == (1, llm, shared, tts)
    assert found.second_pass <= cores


def test_the_page_shows_the_plan() -> None:
    page = (ROOT / "docs" / "cores.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert len(rows) >= 4
    for row in rows:
        cores, asr, second, llm, shared, tts = map(int, row)
        found = plan(Settings(), cores)
        assert (found.asr, found.second_pass, found.llm, found.llm_shared, found.tts) == (asr, second, llm, shared, tts)


def test_core_plan_lets_the_settings_win() -> None:
    found = plan(config.replace(Settings(), llm={"threads": 5}, tts={"threads": 1}), cores=2)
    assert (found.llm, found.tts) == (5, 1)
