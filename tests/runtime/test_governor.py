"""The quality governor against simulated machines: no clock, no thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgevoice.runtime.governor import Governor, Health, TurnReport
from edgevoice.settings import GovernorSettings

FLOOR = 3
TURN_S = 8.0


@dataclass
class Machine:
    """A board whose answers take `latency` s and whose busiest stage has this `rtf` at full quality and speed."""

    latency: float = 0.5
    rtf: float = 0.3
    costs: tuple[float, ...] = (1.0, 0.7, 0.5, 0.3)
    """Work of each level relative to full quality."""
    governor: Governor = field(default_factory=lambda: Governor(FLOOR))
    now: float = 1000.0
    slow: float = 1.0
    health: dict[str, object] = field(default_factory=dict)
    levels: list[int] = field(default_factory=list)

    def turns(self, count: int, jitter: Callable[[], float] = lambda: 1.0) -> list[int]:
        """Live through `count` turns; the level after each."""
        for _ in range(count):
            for second in range(int(TURN_S)):
                load = self.costs[self.governor.level] * self.slow
                self.governor.observe(
                    self.now + second,
                    Health(rtf={"recognise": self.rtf * load}, yardstick=0.02 * self.slow, **self.health),
                )
            self.now += TURN_S
            load = self.costs[self.governor.level] * self.slow
            self.governor.turn(self.now, TurnReport(self.latency * load * jitter()))
            self.levels.append(self.governor.level)
        return self.levels[-count:]


def changes(levels: list[int]) -> list[int]:
    """The levels without repeats."""
    return [level for i, level in enumerate(levels) if i == 0 or level != levels[i - 1]]


def swings(levels: list[int]) -> int:
    """How often A-B-A-B occurs."""
    path = changes(levels)
    return sum(path[i] == path[i + 2] and path[i + 1] == path[i + 3] for i in range(len(path) - 3))


machines = st.builds(
    Machine,
    latency=st.floats(0.05, 5.0),
    rtf=st.floats(0.01, 3.0),
    costs=st.lists(st.floats(0.1, 1.0), min_size=3, max_size=3).map(lambda c: (1.0, *sorted(c, reverse=True))),
)


@settings(max_examples=60, deadline=None)
@given(machines, st.floats(0.5, 10))
def test_constant_load_never_oscillates(machine: Machine, slow: float) -> None:
    machine.slow = slow
    levels = machine.turns(200)
    assert swings([0, *levels]) == 0
    assert len(changes([0, *levels])) <= FLOOR + 1
    assert len(set(levels[-150:])) == 1


@settings(max_examples=60, deadline=None)
@given(machines, st.floats(0.5, 10), st.randoms(use_true_random=False))
def test_noisy_constant_load_changes_ever_more_rarely(machine: Machine, slow: float, random: object) -> None:
    machine.slow = slow
    levels = machine.turns(200, jitter=lambda: random.uniform(0.8, 1.25))  # type: ignore[attr-defined]
    assert len(changes(levels)) <= 2 * FLOOR + 8
    assert len(changes(levels[100:])) <= FLOOR + 3


@settings(max_examples=60, deadline=None)
@given(machines, st.lists(st.floats(0.5, 10), min_size=1, max_size=5))
def test_comes_to_rest_after_any_history(machine: Machine, speeds: list[float]) -> None:
    for slow in speeds:
        machine.slow = slow
        machine.turns(30)
    rest = machine.turns(150)
    assert swings(rest) == 0
    assert len(changes(rest)) <= 2 * FLOOR + 1


@given(st.floats(0.05, 0.9))
def test_a_fast_machine_keeps_full_quality(latency: float) -> None:
    assert set(Machine(latency=latency).turns(50)) == {0}


def test_two_slow_answers_take_one_step_and_not_more_once_it_helps() -> None:
    machine = Machine(latency=1.5)
    assert machine.turns(1) == [0]
    assert machine.turns(10) == [1] * 10
    assert "1.5 s" in machine.governor.reason


def test_an_answer_of_the_model_that_is_a_little_late_is_better_than_a_fixed_sentence() -> None:
    slow = Machine(latency=1.9, costs=(1.0, 0.9, 0.8, 0.1))
    assert slow.turns(30)[-1] == FLOOR - 1, "1.9 s x 0.8 is above 1.2 s, but below twice that"
    hopeless = Machine(latency=4.0, costs=(1.0, 0.9, 0.8, 0.1))
    assert hopeless.turns(30)[-1] == FLOOR


def test_overload_acts_within_seconds_without_a_turn() -> None:
    governor = Governor(FLOOR)
    assert governor.observe(0.0, Health(rtf={"synthesise": 1.3}))
    assert governor.level == 1 and "synthesise" in governor.reason
    assert not governor.observe(1.0, Health(rtf={"synthesise": 1.3})), "the window still holds the old level's figures"
    assert governor.observe(13.0, Health(rtf={"synthesise": 1.2}))
    assert governor.level == 2


def test_an_old_figure_of_a_stage_that_rests_is_no_overload() -> None:
    governor = Governor(FLOOR)
    assert not governor.observe(0.0, Health(rtf={"listen": 2.7}, resting=frozenset({"listen"})))


@pytest.mark.parametrize(
    "health", [Health(queues={"frames": 0.9}), Health(memory_mb=50), Health(rtf={"recognise": 1.0})], ids=str
)
def test_each_overload_is_one_step(health: Health) -> None:
    governor = Governor(FLOOR)
    governor.observe(0.0, health)
    assert governor.level == 1


def test_quality_returns_when_the_load_has_gone() -> None:
    machine = Machine(latency=0.9)
    machine.slow = 6.0
    assert machine.turns(20)[-1] == 3, "0.9 s x 6 x 0.5 is more than twice too late"
    machine.slow = 1.0
    back = machine.turns(60)
    assert back[-1] == 0
    assert back[:4] == [back[0]] * 4, "not before five good turns"


def test_g5_throttled_board_steps_down_within_three_turns_and_recovers() -> None:
    machine = Machine(latency=0.4)
    machine.turns(10)
    machine.slow, machine.health = 2.0, {"throttled": True}
    hot = machine.turns(60)
    assert hot[2] == 1 and set(hot[2:]) == {1}, "one step, within three turns, no further while answers are in time"
    assert "throttled" in machine.governor.reason
    machine.slow, machine.health = 1.0, {"throttled": False}
    cool = machine.turns(30)
    assert cool[3] == 1 and cool[-1] == 0
    assert swings(machine.levels) == 0


def test_a_board_that_heats_up_at_full_quality_swings_ever_more_slowly() -> None:
    machine = Machine(latency=0.4)
    for _ in range(1000):
        hot = machine.governor.level == 0
        machine.slow, machine.health = (2.0 if hot else 1.0), {"throttled": hot}
        machine.turns(1)
    assert len(changes(machine.levels[:100])) > len(changes(machine.levels[900:]))
    assert len(changes(machine.levels)) < 20


def test_rare_bad_spells_do_not_add_up() -> None:
    machine = Machine(latency=0.4)
    seconds_low = []
    for _ in range(8):
        machine.slow = 10.0
        machine.turns(3)
        machine.slow = 1.0
        after = machine.turns(1500)
        seconds_low.append(TURN_S * sum(level > 0 for level in after))
    assert seconds_low[0] > 0 and max(seconds_low[1:]) <= seconds_low[0] + 60, seconds_low


def test_a_level_that_was_kept_is_tried_again_after_an_hour_not_after_days() -> None:
    machine = Machine(latency=0.4)
    for _ in range(3):
        # Overload of a queue says nothing about the level: it is left and comes back by the hour only.
        machine.governor.observe(machine.now, Health(queues={"frames": 1.0}))
        assert machine.governor.level == 1
        low = sum(level > 0 for level in machine.turns(1000))
        assert low * TURN_S < 1.2 * 3600, low * TURN_S


def test_without_a_yardstick_a_level_is_tried_again_after_an_hour_only() -> None:
    governor = Governor(FLOOR)
    governor.observe(0.0, Health(queues={"frames": 1.0}))
    now, climbed = 0.0, []
    while now < 4000:
        now += 10
        governor.observe(now, Health())
        if governor.turn(now, TurnReport(0.2)):
            climbed.append(now)
    assert climbed and climbed[0] >= 3600
    assert governor.level == 0


def test_switched_off_it_never_moves() -> None:
    governor = Governor(FLOOR, GovernorSettings(enabled=False))
    governor.observe(0.0, Health(memory_mb=1, rtf={"recognise": 5.0}))
    for second in range(20):
        governor.turn(second, TurnReport(9.0, failed=True))
    assert governor.level == 0


def test_failed_answers_count_as_bad() -> None:
    governor = Governor(FLOOR)
    governor.turn(1.0, TurnReport(None, failed=True))
    assert governor.turn(2.0, TurnReport(None, failed=True))
    assert governor.level == 1
