"""What a turn looks like as JSON and as a waterfall."""

from __future__ import annotations

from edgevoice.dialog.ledger import INTERVALS, Point, TurnLedger
from edgevoice.report import turn_json, waterfall


def test_the_keys_are_stable_and_the_bars_are_in_order() -> None:
    ledger = TurnLedger()
    ledger.mark_turn(1, Point.SPEECH_END, 10.0)
    ledger.mark_turn(1, Point.ENDPOINT, 10.2)
    generation = ledger.new_attempt(1)
    ledger.commit(generation)
    ledger.mark(generation, Point.FIRST_TOKEN, 10.15)
    ledger.mark(generation, Point.FIRST_AUDIBLE, 10.25)
    record = ledger.record(1)
    record.transcript, record.partials = "Hi.", [("hi", 0.5)]
    shown = turn_json(record)
    assert {"transcript", "first_pass", "partials", "reply", "ledger"} <= set(shown)
    assert set(shown["ledger"]) == {f"{name}_ms" for name in INTERVALS}
    assert shown["partials"] == [{"text": "hi", "ms": 500}] and shown["ledger"]["e2e_ms"] == 250.0
    lines = waterfall(record).splitlines()[1:]
    assert [line.split("  ")[2] for line in lines] == ["first token", "endpoint decided", "first sound heard"]
