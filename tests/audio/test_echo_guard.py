"""Words of the assistant's own are told from the user's."""

from __future__ import annotations

import pytest

from edgevoice.audio.echo_guard import EchoGuard

SENTENCE = "yes the weather in Paris is mild today with a light wind from the west"


@pytest.fixture
def guard() -> EchoGuard:
    guard = EchoGuard()
    guard.said(SENTENCE, 100.0, 105.0)
    return guard


@pytest.mark.parametrize(
    ("heard", "start", "end"),
    [
        ("the weather in paris is mild", 100.4, 102.4),
        ("whether in paris is mild today", 100.6, 103.0),
        ("a lite wind from the west", 103.4, 105.5),
        ("light wind from the vest", 103.4, 105.5),
        ("in parish is mild", 101.0, 102.4),
    ],
)
def test_c1_garbled_echo_is_recognised(guard: EchoGuard, heard: str, start: float, end: float) -> None:
    assert guard.is_echo(heard, start, end)


@pytest.mark.parametrize("heard", ["stop talking please", "what about london", "how tall is the eiffel tower", "no"])
def test_the_users_words_are_not_echo(guard: EchoGuard, heard: str) -> None:
    assert not guard.is_echo(heard, 102.0, 104.0)


def test_words_that_outlast_the_echo_are_the_users(guard: EchoGuard) -> None:
    heard = "is mild today what about tomorrow"
    assert not guard.is_echo(heard, 101.5, 105.0)
    assert guard.remove(heard, 105.0, 101.5) == "what about tomorrow"


def test_c3_a_short_yes_outside_the_window_is_accepted(guard: EchoGuard) -> None:
    assert guard.is_echo("yes", 100.1, 100.6)
    assert not guard.is_echo("yes", 103.2, 103.6)
    assert not guard.is_echo("yes", 107.0, 107.4)


def test_words_that_were_never_played_are_no_echo(guard: EchoGuard) -> None:
    guard.cut(102.0)
    assert guard.is_echo("the weather", 100.5, 101.2)
    assert not guard.is_echo("wind from the west", 104.0, 105.0)


def test_old_words_are_forgotten(guard: EchoGuard) -> None:
    for minute in range(200):
        guard.said("and so on and so on and so on", 200.0 + 10 * minute, 205.0 + 10 * minute)
    assert len(guard._played) < 200


def test_c1_words_after_a_pause_of_the_voice_come_later() -> None:
    guard = EchoGuard()
    guard.said("two fishing boats come back with nets", 10.0, 13.0)
    guard.delay(10.5, 4.0)
    assert guard.remove("fishing boats come back", 16.5) == ""
    assert guard.remove("come back with nets", 13.0) == "come back with nets", "not said yet at that time"
