"""A private PulseAudio server with a microphone one can speak into and a speaker one can listen to.

    mic_feed (null sink) --monitor--> virtmic (source, the default microphone)
    speaker (null sink, the default sink) --monitor--> recordings

The server has its own XDG_RUNTIME_DIR, HOME and .asoundrc, so it works as root, in containers, and beside a real one.
`PulseServer.environment` has to be the environment of whatever shall use it; `use_in_process` sets it here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

TOOLS = ("pulseaudio", "pactl", "pacat", "parec")
ASOUNDRC = "pcm.!default { type pulse }\nctl.!default { type pulse }\n"
START_DEADLINE_S = 10.0


def missing_reason() -> str:
    """Why the server cannot run here; empty if it can."""
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"{', '.join(absent)} not installed (Debian: pulseaudio pulseaudio-utils)" if absent else ""


class PulseServer:
    """`start`, use, `stop`. All files live in one folder that `stop` removes."""

    def __init__(self, rate: int = 48_000, channels: int = 2) -> None:
        self.rate, self.channels = rate, channels
        self.home = Path()
        self._process: subprocess.Popen[bytes] | None = None
        self._players: list[subprocess.Popen[bytes]] = []

    @property
    def environment(self) -> dict[str, str]:
        """Environment of a process that uses this server."""
        env = {key: value for key, value in os.environ.items() if not key.startswith(("PULSE_", "DBUS_"))}
        env |= {
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
        }
        env |= {"PULSE_SERVER": f"unix:{self.home}/run/pulse/native", "PULSE_COOKIE": str(self.home / "cookie")}
        return env

    def prepare(self) -> None:
        """Make the folder without starting a server (for tests of a server that is not there, or comes late)."""
        if self.home == Path():
            self.home = Path(tempfile.mkdtemp(prefix="edgevoice-pulse-"))
            (self.home / "run" / "pulse").mkdir(parents=True, mode=0o700)
            (self.home / "run").chmod(0o700)
            (self.home / ".asoundrc").write_text(ASOUNDRC)

    def start(self) -> None:
        """Start the server with its microphone and speaker; returns once it answers."""
        self.prepare()
        format_ = f"rate={self.rate} channels={self.channels}"
        modules = [
            f"module-native-protocol-unix auth-anonymous=1 socket={self.home}/run/pulse/native",
            f"module-null-sink sink_name=mic_feed {format_}",
            f"module-null-sink sink_name=speaker {format_}",
            f"module-remap-source master=mic_feed.monitor source_name=virtmic {self._remap()}",
        ]
        loads = [argument for module in modules for argument in ("--load", module)]
        command = [
            "pulseaudio",
            "-n",
            "--daemonize=no",
            "--exit-idle-time=-1",
            "--use-pid-file=no",
            "--disable-shm=yes",
        ]
        self._process = subprocess.Popen(
            [*command, "--log-target=stderr", *loads],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_DEADLINE_S
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.stop()
                raise RuntimeError("pulseaudio does not start")
            time.sleep(0.05)
        self.pactl("set-default-source", "virtmic")
        self.pactl("set-default-sink", "speaker")
        # A null sink nobody listens to asks for sound every two seconds; a real card does so every few milliseconds.
        for source in ("speaker.monitor", "virtmic"):
            listener = ["parec", f"--device={source}", "--channels=1", "--rate=8000", "--latency-msec=20"]
            self._spawn(*listener, "/dev/null")

    def stop(self) -> None:
        """Stop players and server and remove all files."""
        self.stop_server()
        if self.home != Path():
            shutil.rmtree(self.home, ignore_errors=True)
            self.home = Path()

    def stop_server(self) -> None:
        """Stop the server but keep its folder: it can be started again."""
        for process in [*self._players, self._process]:
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(5)
        self._players.clear()
        self._process = None

    def pactl(self, *arguments: str) -> str:
        """Run pactl; its output."""
        command = ["pactl", *arguments]
        return subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True, timeout=10
        ).stdout.strip()

    def say(
        self, samples: NDArray[np.int16] | NDArray[np.float32] | Path, rate: int = 16_000, wait: bool = True
    ) -> None:
        """Play samples at `rate` Hz or a sound file into the microphone; with `wait` until all was played."""
        if isinstance(samples, Path):
            samples, rate = soundfile.read(samples, dtype="int16", always_2d=True)
            samples = samples[:, 0]
        if samples.dtype != np.int16:
            samples = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype(np.int16)
        raw = self.home / f"say{len(self._players)}.raw"
        raw.write_bytes(samples.tobytes())
        command = [
            "pacat",
            "--playback",
            "--device=mic_feed",
            f"--rate={rate}",
            "--channels=1",
            "--format=s16le",
            "--latency-msec=200",
            str(raw),
        ]
        player = self._spawn(*command)
        if wait:
            player.wait(len(samples) / rate + 15)

    @contextmanager
    def recording(self, source: str = "speaker.monitor", rate: int = 48_000) -> Iterator[Recording]:
        """Record a source (the speaker) while the block runs: mono at `rate` Hz."""
        raw = self.home / f"recording{time.monotonic_ns()}.raw"
        command = [
            "parec",
            f"--device={source}",
            f"--rate={rate}",
            "--channels=1",
            "--format=s16le",
            "--latency-msec=20",
            str(raw),
        ]
        recorder = self._spawn(*command)
        recording = Recording(raw, rate)
        deadline = time.monotonic() + 5
        while not (raw.exists() and raw.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.02)
        try:
            yield recording
        finally:
            time.sleep(0.1)
            recorder.terminate()
            recorder.wait(5)

    def unload(self, module: str, match: str = "") -> None:
        """Unload the module whose line in the server's list holds `match`."""
        for line in self.pactl("list", "short", "modules").splitlines():
            number, name, *rest = line.split("\t")
            if name == module and match in " ".join(rest):
                self.pactl("unload-module", number)

    def load_virtmic(self, name: str = "virtmic") -> None:
        """Plug the microphone in (again)."""
        self.pactl(
            "load-module",
            "module-remap-source",
            "master=mic_feed.monitor",
            f"source_name={name}",
            *self._remap().split(),
        )

    def unload_virtmic(self, name: str = "virtmic") -> None:
        """Unplug the microphone."""
        self.unload("module-remap-source", f"source_name={name}")

    def _spawn(self, *command: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._players.append(process)
        return process

    def _remap(self) -> str:
        return f"rate={self.rate} channels={self.channels}"

    def _answers(self) -> bool:
        done = subprocess.run(["pactl", "info"], env=self.environment, capture_output=True, timeout=10, check=False)
        return done.returncode == 0


class Recording:
    """What the speaker played; complete after the `recording` block."""

    def __init__(self, raw: Path, rate: int) -> None:
        self.raw, self.rate = raw, rate

    def samples(self) -> NDArray[np.float32]:
        """Mono float32 [n] at `rate`."""
        data = self.raw.read_bytes()
        return np.frombuffer(data[: len(data) // 2 * 2], np.int16).astype(np.float32) / 32768


@contextmanager
def pulse_server(rate: int = 48_000, channels: int = 2, start: bool = True) -> Iterator[PulseServer]:
    """A running server, or a skipped test with the reason."""
    if reason := missing_reason():
        pytest.skip(f"no PulseAudio: {reason}")
    server = PulseServer(rate, channels)
    try:
        server.prepare()
        if start:
            server.start()
        yield server
    finally:
        server.stop()


@contextmanager
def environment_of(server: PulseServer) -> Iterator[None]:
    """Let this process use the server."""
    before = dict(os.environ)
    _replace_environment(server.environment)
    try:
        yield
    finally:
        _replace_environment(before)


def _replace_environment(env: Mapping[str, str]) -> None:
    for key in set(os.environ) - set(env):
        del os.environ[key]
    os.environ.update(env)
