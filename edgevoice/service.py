"""The assistant as a process that runs for months: signals, systemd, supervisor, governor, metrics."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from edgevoice.assistant import Assistant
from edgevoice.audio.device_speaker import DeviceSpeaker
from edgevoice.audio.microphone import Microphone
from edgevoice.audio.ptt import terminal_key
from edgevoice.dialog.ledger import INTERVALS, TurnRecord
from edgevoice.errors import EXIT_OK, EXIT_SOFTWARE, DeviceError, EdgeVoiceError, InternalError
from edgevoice.runtime import logs
from edgevoice.runtime.governor import Governor, TurnReport
from edgevoice.runtime.ladder import ladder
from edgevoice.runtime.metrics import Metrics
from edgevoice.runtime.monitor import Monitor
from edgevoice.runtime.notify import SystemdNotifier
from edgevoice.runtime.pool import Pool
from edgevoice.runtime.supervisor import Supervisor
from edgevoice.runtime.watchdog import HealthCheck, Watchdog
from edgevoice.serve.metrics import MetricsServer
from edgevoice.settings import Settings
from edgevoice.trust import is_service

log = logging.getLogger(__name__)

FIRST_FRAME_DEADLINE_S = 10.0
"""Seconds after opening in which the microphone has to deliver its first sound."""


class Service:
    """Runs the assistant on microphone and speaker until SIGTERM or SIGINT; SIGHUP reads the settings again.

    `load_settings` is called at the start and at each reload. One object runs once, on the main thread.
    """

    def __init__(self, load_settings: Callable[[], Settings]) -> None:
        self._load_settings = load_settings
        self._notifier = SystemdNotifier()
        self._stop = threading.Event()
        self._reload = threading.Event()
        self._wake = threading.Event()
        """Set with any of the others: the main thread waits on this one."""
        self._new_settings: Settings | None = None
        """What the next session begins with, once there is something new."""
        self._loading = self._listening = False
        self._on_talk: Callable[[], None] = lambda: None

    def run(self) -> int:
        """The exit code. Raises EdgeVoiceError for what a person has to mend."""
        handlers = {
            signal.SIGTERM: self._signalled,
            signal.SIGINT: self._signalled,
            signal.SIGHUP: self._signalled,
            signal.SIGUSR1: self._signalled,
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            settings = self._load_settings()
            while True:
                code = self._run_once(settings)
                if self._reload.is_set():  # asked for (again) while the session was ending
                    self._read_settings()
                if code != EXIT_OK or self._stop.is_set() or self._new_settings is None:
                    return code
                settings, self._new_settings = self._new_settings, None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _run_once(self, settings: Settings) -> int:
        watchdog = Watchdog(self._notifier)
        watchdog.start()
        try:
            return self._session(settings, watchdog)
        finally:
            watchdog.stop()

    def _session(self, settings: Settings, watchdog: Watchdog) -> int:
        microphone, speaker = Microphone(settings.audio), DeviceSpeaker(settings.audio)
        metrics = Metrics()
        levels = ladder(settings)
        governor = Governor(len(levels) - 1, settings.governor)
        monitor: Monitor | None = None

        def on_turn(record: TurnRecord) -> None:
            record.facts.update(level=governor.level, level_reason=governor.reason)
            report = count_turn(record, metrics)
            if report is None:
                return
            with logs.turn(record.segment):
                log.info("%s", in_words(record))
                if monitor is not None:
                    monitor.turn(report)

        assistant = Assistant(settings, microphone, speaker, on_turn, lambda name, facts: metrics.event(name))
        self._on_talk = assistant.push_to_talk
        self._notifier.status("loading models")
        self._loading = True
        assistant.load()
        self._loading = False
        monitor = Monitor(
            governor,
            levels,
            metrics,
            [stage.rtf for stage in assistant.measured],
            assistant.queues,
            watched=(assistant.frames, assistant.speech),
            apply=assistant.apply,
            problems=lambda: health.problems(),
        )
        health = HealthCheck(lambda: assistant.stages, assistant.capture, settings.runtime)
        supervisor = Supervisor(
            assistant.stages,
            on_death=lambda name, error: self._died(assistant, metrics, name),
            on_give_up=self._wake.set,
        )
        page = MetricsServer(metrics.registry, health.problems, settings.metrics) if settings.metrics.enabled else None
        follow(metrics, microphone, speaker, supervisor)
        supervisor.start()
        try:
            if self._open(assistant, settings, supervisor):
                if page is not None:
                    page.start()
                monitor.start()
                watchdog.ready(health, monitor.status)
                log.info("listening")
                self._listening = True
                with terminal_key(assistant.hearing.talk_key):
                    self._wait_for_the_end(assistant, supervisor)
        finally:
            began, cpu = time.monotonic(), time.process_time()
            self._listening = False
            if self._stop.is_set() or not (self._reload.is_set() or self._new_settings):
                self._notifier.stopping()
            supervisor.stop()
            stopped = assistant.stop()
            monitor.stop()
            if page is not None:
                page.stop()
            spent = (time.monotonic() - began, time.process_time() - cpu)
            log.info("stopped in %.1f s (%.1f s of processor time)", *spent)
        supervisor.raise_failure()
        if assistant.source_error:
            raise assistant.source_error
        return EXIT_OK if stopped else EXIT_SOFTWARE

    def _open(self, assistant: Assistant, settings: Settings, supervisor: Supervisor) -> bool:
        """Open the devices and start the stages; True once sound comes in, False when the session has to end meanwhile.

        A service waits for devices that come late. Raises DeviceError.
        """
        if not self._devices_opened(assistant, settings, supervisor):
            return False
        assistant.start()
        deadline = time.monotonic() + FIRST_FRAME_DEADLINE_S
        while not assistant.capture.heard.wait(0.2):
            if self._wake.is_set() and self._has_to_end(supervisor):
                return False
            if time.monotonic() > deadline:
                mend = "unmute or replug it, or choose another (edgevoice devices)"
                raise DeviceError("microphone", f"is open but silent for {FIRST_FRAME_DEADLINE_S:.0f} s", mend)
        return not (self._wake.is_set() and self._has_to_end(supervisor))

    def _devices_opened(self, assistant: Assistant, settings: Settings, supervisor: Supervisor) -> bool:
        wait_s = settings.runtime.device_wait_limit_s if is_service(os.environ) else 0.0
        opener = Pool(1, "open")
        try:
            opening = opener.submit(assistant.open_devices, wait_s)
            while not opening.done():
                if self._wake.wait(0.2) and self._has_to_end(supervisor):
                    assistant.close_devices()
                    return False
                if waiting := assistant.waiting_for:
                    self._notifier.status(f"waiting for {waiting}")
            opening.result(0)
            return True
        finally:
            if not opener.close(settings.runtime.stop_deadline_s):
                raise InternalError(
                    "sound devices", "opening them does not end", "the sound server may hang: restart it"
                )

    def _wait_for_the_end(self, assistant: Assistant, supervisor: Supervisor) -> None:
        """Wait until told to stop or to start again with new settings, or until source or stage are lost for good."""
        while not assistant.ended.is_set():
            if self._wake.wait(1.0) and self._has_to_end(supervisor):
                return

    def _has_to_end(self, supervisor: Supervisor) -> bool:
        """Whether the session is over: told to stop, a stage lost for good, or new settings to begin again with."""
        self._wake.clear()  # before looking: what comes meanwhile sets it again
        if self._reload.is_set() and not self._stop.is_set():
            self._read_settings()
        return self._stop.is_set() or supervisor.give_up.is_set() or self._new_settings is not None

    def _read_settings(self) -> None:
        """Read the settings again; wrong ones are refused, and those in force (or read last) stay."""
        self._reload.clear()  # before reading: another signal meanwhile asks for another reading
        if self._listening:
            self._notifier.reloading()
        try:
            self._new_settings = self._load_settings()
        except EdgeVoiceError as error:
            log.error("the old settings stay in force: %s", error)
            if self._listening:
                self._notifier.ready()
        else:
            log.info("settings read again")

    def _died(self, assistant: Assistant, metrics: Metrics, name: str) -> None:
        metrics.failure(name)
        assistant.stage_died(name)

    def _signalled(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGUSR1:
            self._on_talk()
            return
        if self._loading and number != signal.SIGHUP:
            # Loading cannot be interrupted. Nothing is open yet, and files are written atomically.
            self._notifier.stopping()
            os._exit(EXIT_OK)
        (self._reload if number == signal.SIGHUP else self._stop).set()
        self._wake.set()


def follow(metrics: Metrics, microphone: Microphone, speaker: DeviceSpeaker, supervisor: Supervisor) -> None:
    """Publish the counters that the parts keep themselves."""
    metrics.follow("audio_open_retries", lambda: microphone.open_retries + speaker.open_retries)
    metrics.follow("audio_reopens", lambda: microphone.reopened + speaker.reopened)
    metrics.follow("audio_overflows", lambda: microphone.overruns)
    metrics.follow("audio_underruns", lambda: speaker.playout.underruns + speaker.underflows)
    metrics.follow("stage_restarts", lambda: supervisor.restarts)


def count_turn(record: TurnRecord, metrics: Metrics) -> TurnReport | None:
    """Count a finished turn; what the governor judges of it, or None: a notice is nobody's turn."""
    if record.notice:
        return None
    intervals = {name: record.interval(name) for name in INTERVALS}
    metrics.turn(outcome(record), intervals, record.facts, len(record.attempts) - record.apologies)
    return TurnReport(record.interval("e2e"), failed=bool(record.facts.get("failed")))


def in_words(record: TurnRecord) -> str:
    """One line for the log: how the turn ended and how long the person waited. None of the person's words."""
    e2e = record.interval("e2e")
    waited = "nothing was heard of an answer" if e2e is None else f"first sound after {e2e * 1000:.0f} ms"
    return f"turn {outcome(record)}: {waited}"


def outcome(record: TurnRecord) -> str:
    """How a turn ended, in the metrics' words."""
    if record.complete:
        return "complete"
    return "merged" if record.facts.get("merged") else "interrupted" if record.reply else "failed"
