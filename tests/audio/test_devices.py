"""Names to devices."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from edgevoice.audio import portaudio
from edgevoice.audio.device import Device
from edgevoice.audio.devices import Inventory, inventory, resolve
from edgevoice.errors import DeviceError
from tests.audio.pulse import PulseServer, pulse_server
from tests.documented import documented, leaves

CARD = Device("USB Mic: Audio (hw:1,0)", "USB Mic: Audio (hw:1,0)", "input", "ALSA", 44_100, 2, False)
OTHER = replace(CARD, name="USB Mic: Audio (hw:2,0)", description="USB Mic: Audio (hw:2,0)")
BUILTIN = replace(CARD, name="HDA Intel: ALC (hw:0,0)", description="HDA Intel: ALC (hw:0,0)", default=True)
SERVED = Device("alsa_input.usb-mic", "USB Mic", "input", "PulseAudio", 48_000, 1, True)
MONITOR = replace(SERVED, name="speaker.monitor", description="Monitor of USB Mic", default=False, monitor=True)


def seen(*devices: Device) -> Inventory:
    return Inventory(devices, "", ("ALSA",))


def test_empty_setting_means_the_systems_default() -> None:
    choice = resolve("input", "", seen(CARD, BUILTIN))
    assert choice.device == BUILTIN
    assert "default" in choice.reason


def test_part_of_a_name_is_enough_and_case_does_not_matter() -> None:
    assert resolve("input", "usb mic", seen(CARD, BUILTIN)).device == CARD


def test_a7_ambiguous_name_lists_the_candidates() -> None:
    with pytest.raises(DeviceError) as caught:
        resolve("input", "USB Mic", seen(CARD, OTHER, BUILTIN))
    assert CARD.name in str(caught.value)
    assert OTHER.name in str(caught.value)
    assert BUILTIN.name not in str(caught.value)
    assert caught.value.exit_code == 69


def test_a7_full_name_is_never_ambiguous() -> None:
    longer = replace(CARD, name=CARD.name + " 2", description=CARD.name + " 2")
    assert resolve("input", CARD.name, seen(longer, CARD)).device == CARD


def test_unknown_name_says_what_there_is() -> None:
    with pytest.raises(DeviceError, match="is not there; there is 'HDA Intel"):
        resolve("input", "Kinect", seen(BUILTIN))


def test_no_device_at_all() -> None:
    with pytest.raises(DeviceError, match="no microphone"):
        resolve("input", "", seen())


@pytest.mark.audio
def test_the_servers_view_of_a_card_wins_and_monitors_are_no_microphones(pulse: PulseServer) -> None:
    everything = seen(CARD, SERVED, MONITOR)
    choice = resolve("input", "USB Mic", everything)
    assert choice.device == SERVED
    assert choice.pulse_name == SERVED.name
    assert resolve("input", "", everything).pulse_name == "", "the default is left to the server"


@pytest.mark.audio
def test_inventory_of_a_real_server(pulse: PulseServer) -> None:
    found = inventory()
    assert found.server.startswith("PulseAudio")
    names = {device.name: device for device in found.devices}
    assert names["virtmic"].default
    assert names["speaker"].default
    assert names["speaker.monitor"].monitor
    assert resolve("input", "virtmic", found).pulse_name == "virtmic"


@pytest.mark.audio
def test_a2_verb_shows_what_would_be_used_and_why() -> None:
    command = [sys.executable, "-m", "edgevoice", "devices", "--json", "--set", "audio.output_device=speaker"]
    with pulse_server() as server:
        done = subprocess.run(command, env=server.environment, capture_output=True, text=True, timeout=60, check=False)
        calm = subprocess.run(
            command[:4], env=server.environment, capture_output=True, text=True, timeout=60, check=False
        )
        runtime = server.environment["XDG_RUNTIME_DIR"]
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert leaves(result) == documented("devices")
    assert result["input"]["device"] == "virtmic"
    assert "default" in result["input"]["reason"]
    assert result["output"]["device"] == "speaker"
    assert "audio.output_device" in result["output"]["reason"]
    assert runtime in result["seen_by"]
    assert "→ virtmic" in calm.stdout
    assert not calm.stderr, "ALSA's and PortAudio's own chatter is not for users"


def test_a3_verb_without_sound_server_is_one_error_and_exit_69(tmp_path: object) -> None:
    environment = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": f"{tmp_path}/run", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "edgevoice", "devices"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 69
    (line,) = done.stderr.splitlines()
    for part in ("no microphone", "user ", f"XDG_RUNTIME_DIR {tmp_path}/run", "default device none"):
        assert part in line


def test_portaudio_that_failed_to_initialise_once_is_initialised_the_next_time(
    no_sound: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sd = portaudio.library()

    def fail() -> None:
        raise sd.PortAudioError("Error initializing PortAudio", -9999)

    with monkeypatch.context() as once:
        once.setattr(sd, "_initialize", fail)
        portaudio.rescan()
    assert "cannot be initialised" in caplog.text
    questions = (inventory, lambda: portaudio.index_of("any", "input"), lambda: portaudio.formats(0, "input", 16_000))
    for ask in questions:
        with pytest.raises(DeviceError, match="PortAudio: cannot tell about devices"):
            ask()
    portaudio.rescan()
    assert inventory().host_apis
