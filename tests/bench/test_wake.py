"""How `bench wake` chooses thresholds and what it reports: on made-up candidates, and once on real engines."""

from __future__ import annotations

import numpy as np

from edgevoice.audio.wake import ENGINES
from edgevoice.bench.wake import COSTS, Thresholds, Trials, false_accepts, judged, tuned
from edgevoice.bench.wake_material import Clip
from edgevoice.bench.wake_traces import Bank, Candidate, activations

NO_SOUND = np.zeros(1, np.float32)


def clip(held_out: bool, kind: str = "natural") -> Clip:
    return Clip("voice", kind, held_out, NO_SOUND, 3.0)


def trials(good: Candidate, bad: Candidate, held_out_bad: Candidate | None = None) -> Trials:
    """Every word is found as `good`; an hour of other speech has one `bad`."""
    spoken = [(clip(held_out), [good]) for held_out in (False, True)]
    return Trials(spoken, [[bad]], 3600.0, [[held_out_bad or bad]], 3600.0)


def test_thresholds_lie_between_words_and_other_speech() -> None:
    chosen = tuned(trials(Candidate(3.2, 0.8, 0.4), Candidate(9.0, 0.5, 1.6)), COSTS)
    assert chosen.score <= 0.8 and chosen.cost >= 0.4
    assert chosen.score > 0.5 or chosen.cost < 1.6


def test_thresholds_are_chosen_without_looking_at_what_is_held_out() -> None:
    ours = trials(Candidate(3.2, 0.8, 0.4), Candidate(9.0, 0.05, 1.6), held_out_bad=Candidate(9.0, 0.9, 0.1))
    row = judged(ours, tuned(ours, COSTS))
    assert row["tuning_false_accepts"] == 0 and row["false_accepts"] == 1 and row["false_per_hour"] == 1.0


def test_a_word_that_is_found_too_late_is_not_found() -> None:
    late = Trials([(clip(True), [Candidate(4.5, 0.9, 0.1)])], [], 3600.0, [], 3600.0)
    assert judged(late, Thresholds(0.1, 1.0))["detected"] == 0.0


def test_activations_respect_the_refractory_time() -> None:
    found = [Candidate(at, 0.9, 0.1) for at in (1.0, 1.5, 2.9, 3.1)]
    assert activations(found, 0.5, 1.0) == 2
    assert false_accepts([found, found], Thresholds(0.5, 1.0)) == 4
    assert activations(found, 0.95, 1.0) == activations(found, 0.5, 0.05) == 0


def test_engines_can_share_their_features() -> None:
    """A bank scores as each engine alone would."""
    sound = 0.05 * np.random.default_rng(3).standard_normal(32_000).astype(np.float32)
    for name in ENGINES:
        both = Bank(name, ["alexa", "okay_nabu"]).candidates(sound)
        assert both["okay_nabu"] == Bank(name, ["okay_nabu"]).candidates(sound)["okay_nabu"]
