"""Turn-taking rules, without sound."""

from __future__ import annotations

from edgevoice.audio.echo_guard import EchoGuard
from edgevoice.dialog.ledger import Point
from edgevoice.dialog.rules.overlap import OverlapRules
from edgevoice.llm.generator import Exchange
from edgevoice.messages import REDUCED
from edgevoice.settings import DialogSettings
from tests.dialog.world import World


def test_a_question_is_answered_and_remembered() -> None:
    world = World()
    world.asks("what is the capital of france")
    assert world.state == "thinking"
    world.audible()
    world.ended("The capital of France is Paris.")
    assert world.state == "idle"
    assert world.conversation.history == (Exchange("what is the capital of france", "The capital of France is Paris."),)


def test_stable_words_are_prefilled_once_each() -> None:
    world = World()
    world.starts()
    world.words("what is", "what")
    world.words("what is the", "what")
    world.words("what is the cap", "what is the")
    assert world.brain.prefilled == ["what", "what is the"]


def test_a_pause_begins_an_answer_that_is_held_until_the_endpoint() -> None:
    world = World()
    world.starts()
    world.heard("turn it off", final=False)
    assert len(world.brain.asked) == 1 and world.voice.released == []
    world.heard("turn it off")
    assert len(world.brain.asked) == 1, "the speculative answer is used, not made again"
    assert world.voice.released == [world.brain.asked[0].generation]


def test_speech_that_goes_on_withdraws_the_attempt() -> None:
    world = World()
    world.starts()
    world.heard("turn it", final=False)
    first = world.brain.asked[0].generation
    world.conversation.on_resumed(world.segment)
    assert world.ledger.stale(first)
    world.heard("turn it off", attempt=2)
    assert world.brain.asked[-1].words == "turn it off"
    assert world.voice.released == [world.brain.asked[-1].generation]
    assert world.conversation.history == ()


def test_a_different_final_transcript_makes_a_new_answer() -> None:
    world = World()
    world.starts()
    world.heard("turn it of", final=False)
    world.heard("turn it off")
    assert [a.words for a in world.brain.asked] == ["turn it of", "turn it off"]
    assert world.ledger.stale(world.brain.asked[0].generation)


def test_the_first_pass_begins_an_answer_that_the_second_pass_confirms() -> None:
    world = World()
    world.starts()
    world.heard("turn it off", final=False, tentative=True)
    world.heard("turn it off", final=False)
    world.heard("turn it off")
    assert len(world.brain.asked) == 1
    assert world.voice.released == [world.brain.asked[0].generation]


def test_an_answer_to_what_the_first_pass_misheard_is_never_released() -> None:
    world = World()
    world.starts()
    world.heard("turn it of", final=False, tentative=True)
    world.heard("turn it off", final=False)
    world.heard("turn it off")
    assert [a.words for a in world.brain.asked] == ["turn it of", "turn it off"]
    assert world.voice.released == [world.brain.asked[1].generation]


def test_the_last_attempts_are_kept_for_the_second_pass_and_for_a_long_silence() -> None:
    world = World()
    world.starts()
    for attempt in range(1, 4):
        world.heard(f"first {attempt}", final=False, attempt=attempt, tentative=True)
        world.heard(f"second {attempt}", final=False, attempt=attempt)
        world.conversation.on_resumed(world.segment)
    world.heard("second 4", final=False, attempt=4)
    world.heard("second 4", final=False, attempt=4, settled=True)
    world.heard("second 4", final=True, attempt=4)
    assert [a.words for a in world.brain.asked] == ["first 1", "second 1", "second 4"]
    assert world.voice.released == [world.brain.asked[2].generation]


def test_at_most_max_attempts_speculations_per_turn() -> None:
    world = World()
    world.starts()
    for attempt in range(1, 7):
        world.heard(f"words {attempt}", final=False, attempt=attempt)
        world.heard(f"words {attempt}", final=False, attempt=attempt, settled=True)
        world.conversation.on_resumed(world.segment)
    assert len(world.brain.asked) == 3


def test_d2_nothing_said_asks_nothing() -> None:
    world = World()
    world.starts()
    world.heard("")
    assert world.brain.asked == [] and world.events == ["no_input"] and world.state == "idle"


def test_b3_at_the_cap_what_was_heard_is_answered() -> None:
    world = World()
    world.starts()
    world.heard("a very long story", attempt=0, reason="too_long")
    assert world.brain.asked[-1].words == "a very long story" and "too_long" in world.events


def test_b4_a_cough_while_it_thinks_cancels_nothing() -> None:
    world = World()
    generation = world.asks("what time is it")
    world.starts()
    world.heard("")
    assert not world.ledger.stale(generation)
    world.audible()
    assert world.state == "speaking"


def test_b5_a_backchannel_never_stops_the_voice() -> None:
    world = World()
    generation = world.asks("tell me a story")
    world.audible()
    world.starts()
    world.words("yeah")
    world.heard("yeah")
    assert "cut" not in world.voice.calls and not world.ledger.stale(generation)
    assert world.state == "speaking"
    world.ended("Once upon a time.")
    assert world.conversation.history[-1].assistant == "Once upon a time."


def test_b5_a_lone_word_pauses_and_the_voice_resumes_when_none_follow() -> None:
    world = World()
    world.asks("tell me a story")
    world.audible()
    world.starts()
    world.words("but")
    assert world.voice.calls[-1] == "pause"
    world.conversation.tick(world.time + 1.9)
    assert world.voice.calls[-1] == "pause"
    world.conversation.tick(world.time + 2.1)
    assert world.voice.calls[-1] == "resume" and world.events[-1] == "false_interruption"


def falsely_alarmed(word: str = "the", **dialog: object) -> World:
    """Music or a television holds the segment open; one word of it has paused the voice in vain."""
    world = World(**dialog)
    world.asks("tell me a story")
    world.audible()
    world.starts()
    world.words(word)
    world.conversation.tick(world.time + 2.1)
    assert world.voice.calls[-2:] == ["pause", "resume"]
    return world


def test_b9_after_a_false_alarm_further_words_of_the_segment_still_interrupt() -> None:
    for following in ("the stop stop please be quiet", "the stop"):
        world = falsely_alarmed()
        world.words("the")
        assert world.voice.calls[-1] == "resume", "the same word does not silence it again"
        world.words(following)
        assert world.voice.calls[-1] == "cut" and world.state == "listening"
        world.heard(following)
        assert world.brain.asked[-1].words == following


def test_b9_after_a_false_alarm_the_final_words_of_the_segment_still_interrupt() -> None:
    world = falsely_alarmed()
    world.heard("the whole town")
    assert "cut" in world.voice.calls and world.brain.asked[-1].words == "the whole town"


def test_b5_after_a_false_alarm_a_further_word_pauses_again_and_the_segments_record_is_dropped() -> None:
    world = falsely_alarmed()
    rules = world.conversation._rules
    rules.interrupts = lambda *_, **__: False  # type: ignore[method-assign]
    world.words("the um")
    assert world.voice.calls[-1] == "pause"
    world.time += 1.5
    world.words("the um")
    world.conversation.tick(world.time + 0.6)
    assert world.voice.calls[-1] == "resume", "the same words do not begin the wait again"
    world.words("the um er")
    world.heard("the um er")
    assert world.voice.calls[-1] == "resume" and world.state == "speaking" and "no_match" in world.events
    assert world.segment not in world.ledger._open


def test_b5_new_words_begin_the_wait_again() -> None:
    world = World()
    world.conversation._rules.interrupts = lambda *_, **__: False  # type: ignore[method-assign]
    world.asks("tell me a story")
    world.audible()
    world.starts()
    world.words("but")
    world.time += 1.5
    world.words("but um")
    world.conversation.tick(world.time + 1.9)
    assert world.voice.calls[-1] == "pause"
    world.conversation.tick(world.time + 2.1)
    assert world.voice.calls[-1] == "resume"


def test_c1_what_came_to_nothing_over_the_answer_is_not_answered_after_it() -> None:
    world = falsely_alarmed()
    world.conversation._rules.interrupts = lambda text, *_, **__: len(text.split()) > 2  # type: ignore[method-assign]
    world.ended("The end.")
    world.heard("the")
    assert len(world.brain.asked) == 1 and world.state == "idle" and world.segment not in world.ledger._open
    world = falsely_alarmed()
    world.ended("The end.")
    world.heard("the another one please")
    assert world.brain.asked[-1].words == "the another one please", "further words are"


def test_b5_sounds_of_speech_pause_before_their_words_are_known_and_it_goes_on_when_there_are_none() -> None:
    world = World()
    generation = world.asks("tell me a story")
    world.audible()
    world.starts()
    world.words("", phones=1)
    assert "pause" not in world.voice.calls
    world.words("", phones=4)
    assert world.voice.calls[-1] == "pause"
    world.heard("yeah", final=False)
    assert world.voice.calls[-1] == "resume", "at the first short silence, not at the end of the segment"
    world.words("yeah", phones=5)
    world.words("", phones=6)
    assert world.voice.calls[-1] == "resume", "the same sounds do not silence it again"
    world.heard("yeah")
    assert world.state == "speaking"
    assert "cut" not in world.voice.calls and not world.ledger.stale(generation)


def test_b6_b7_words_cut_the_answer_and_history_holds_what_was_heard() -> None:
    world = World()
    first = world.asks("tell me about france")
    world.audible()
    world.starts()
    world.words("what about")
    assert world.voice.calls[-1] == "cut" and world.ledger.stale(first) and world.state == "listening"
    world.heard("what about spain")
    assert world.brain.asked[-1].history == (Exchange("tell me about france", "the capital of", interrupted=True),)


def test_b8_interrupted_before_any_sound_the_two_turns_are_merged() -> None:
    world = World()
    world.asks("what is the weather")
    world.starts()
    world.words("in paris tomorrow")
    world.heard("in paris tomorrow")
    assert world.brain.asked[-1].words == "what is the weather in paris tomorrow"
    assert world.conversation.history == ()
    world.audible()
    world.ended("Sunny.")
    assert world.conversation.history == (Exchange("what is the weather in paris tomorrow", "Sunny."),)


def test_b9_a_question_over_the_voice_is_answered() -> None:
    world = World()
    world.asks("tell me a story")
    world.audible()
    world.starts()
    world.heard("why")
    assert world.brain.asked[-1].words == "why" and world.state == "thinking"


def test_the_answer_ends_while_the_user_already_speaks() -> None:
    world = World()
    world.asks("tell me a story")
    world.audible()
    world.starts()
    world.ended("The end.")
    assert world.state == "listening"
    world.heard("another one please")
    assert world.brain.asked[-1].words == "another one please"
    assert world.brain.asked[-1].history[-1].assistant == "The end."


def test_a_failure_is_said_once_and_never_loops() -> None:
    world = World()
    world.asks("tell me a story")
    world.failed()
    assert world.brain.asked[-1].fixed_reply == "sorry"
    world.failed()
    assert len(world.brain.asked) == 2 and world.state == "idle"
    record = world.ledger.finished[-1]
    assert len(record.attempts) == 2 and record.apologies == 1


def test_a_voice_that_fails_in_the_middle_falls_silent_and_the_record_ends_now() -> None:
    world = World()
    generation = world.asks("tell me a story")
    world.audible()
    world.starts()
    world.words("but")
    world.failed("synthesise")
    assert world.voice.calls[-2:] == ["pause", "cut"] and world.ledger.stale(generation)
    assert world.conversation.history[-1] == Exchange("tell me a story", "the capital of", interrupted=True)
    record = world.ledger.finished[-1]
    assert record.time(Point.END) == world.time and record.facts["failed"] == "synthesise"
    assert world.state == "listening"
    world.heard("but why")
    world.audible()
    world.starts()
    world.conversation.tick(world.time + 10)
    assert "false_interruption" not in world.events, "the old pause is forgotten"


def test_a_merged_question_that_could_not_be_spoken_is_not_asked_again_with_the_next() -> None:
    world = World()
    world.asks("tell me about")
    world.starts()
    world.words("about whales")
    world.heard("about whales")
    world.failed("synthesise")
    assert world.state == "idle" and world.conversation.history == ()
    world.asks("what time is it")
    assert world.brain.asked[-1].words == "what time is it"


def test_b9_words_said_while_an_answer_is_made_that_fails_are_answered() -> None:
    world = World()
    world.asks("tell me a story")
    world.starts()
    world.failed("synthesise")
    world.heard("why")
    assert world.brain.asked[-1].words == "why"


def test_a_speculative_answer_that_failed_is_made_again_at_the_endpoint() -> None:
    world = World()
    world.starts()
    world.heard("turn it off", final=False)
    world.failed()
    assert len(world.brain.asked) == 1 and world.state == "listening", "nobody has waited for it yet"
    world.heard("turn it off")
    assert len(world.brain.asked) == 2 and not world.brain.asked[-1].fixed_reply
    assert world.voice.released == [world.brain.asked[-1].generation]
    world.failed()
    assert world.brain.asked[-1].fixed_reply == "sorry", "said aloud once somebody waits"


def test_reduced_to_fixed_sentences_is_no_failure_in_the_record() -> None:
    world = World()
    world.asks("tell me a story")
    world.failed(reason=REDUCED)
    record = world.ledger.record_of(world.brain.asked[-1].generation)
    assert record is not None and record.facts == {"reduced": 1}
    assert world.brain.asked[-1].fixed_reply == "sorry, reduced"


def test_with_no_attempts_left_by_the_governor_only_intents_are_answered_early() -> None:
    world = World()
    world.conversation.attempts = 0
    world.starts()
    world.heard("tell me a story", final=False)
    assert not world.brain.asked
    world.conversation._intent = lambda words, history: "Done." if words == "turn it off" else None
    world.heard("turn it off", final=False, attempt=2)
    assert [ask.fixed_reply for ask in world.brain.asked] == ["Done."]


def test_d6_lost_sound_is_told_after_the_words_once_a_minute() -> None:
    world = World()
    world.conversation._template = lambda reason: reason
    generation = world.asks("what time is it")
    for second in range(5):
        world.conversation.on_missed(1000.0 + second)
    assert len(world.brain.asked) == 1, "not into the turn"
    world.audible(generation)
    world.ended("It is noon.", generation)
    assert world.brain.asked[-1].fixed_reply == "missed" and world.state == "thinking"
    world.audible()
    world.ended("")
    world.conversation.on_missed(1030.0)
    assert world.state == "idle", "told not long ago"
    world.conversation.on_missed(1061.0)
    assert world.state == "thinking" and world.brain.asked[-1].fixed_reply == "missed"


def test_d6_lost_sound_is_told_too_when_no_words_were_left() -> None:
    world = World()
    world.conversation._template = lambda reason: reason
    world.starts()
    world.conversation.on_missed(1000.0)
    assert not world.brain.asked
    world.heard("")
    assert world.brain.asked[-1].fixed_reply == "missed"


def test_feedback_of_an_old_generation_is_ignored() -> None:
    world = World()
    first = world.asks("one")
    world.audible()
    world.starts()
    world.words("no not that")
    world.heard("no not that")
    world.audible(first)
    world.ended("old", first)
    assert world.state == "thinking"
    assert all(e.assistant != "old" for e in world.conversation.history)


def test_history_is_trimmed_in_blocks_so_that_the_prefix_survives() -> None:
    world = World(history_pairs=4)
    lengths = []
    for n in range(12):
        world.asks(f"question {n}")
        world.audible()
        world.ended(f"answer {n}")
        lengths.append(len(world.conversation.history))
    assert max(lengths) == 4 and lengths[4] == 2
    assert world.conversation.history[-1].assistant == "answer 11"


def test_the_turn_record_holds_the_intervals() -> None:
    world = World()
    world.asks("what time is it")
    world.audible()
    world.ended("Noon.")
    record = world.ledger.finished[-1]
    assert record.reply == "Noon." and record.complete
    assert record.interval("e2e") is not None and record.interval("eou_to_ttfa") is not None


def test_words_too_doubtful_to_stop_for_are_no_match_and_the_voice_goes_on() -> None:
    world = World()
    generation = world.asks("tell me a story")
    world.audible()
    world.starts()
    rules = world.conversation._rules
    rules.interrupts = lambda *_, **__: False  # type: ignore[method-assign]
    world.heard("them")
    assert "no_match" in world.events and world.state == "speaking" and not world.ledger.stale(generation)


def test_too_quiet_is_told_once_after_the_answer() -> None:
    world = World()
    world.conversation._template = lambda reason: reason
    for _ in range(3):  # the default level of a test's words is far below what can be heard
        generation = world.asks("what time is it")
        world.audible(generation)
        world.ended("It is noon.", generation)
        if world.state == "thinking":
            world.audible()
            world.ended("")
    advice = [request.fixed_reply for request in world.brain.asked if request.segment == -1]
    assert advice == ["too_quiet"] and world.events.count("too_quiet") == 3
    assert len(world.conversation.history) == 3, "the advice is no exchange"


def test_c1_an_echo_that_outlasts_the_answer_is_not_answered() -> None:
    """Also when the end of the sound overtakes the words: they are late on a busy machine."""
    for late in (False, True):
        world, guard = World(), EchoGuard()
        world.conversation._rules = OverlapRules(DialogSettings(), guard, now=lambda world=world: world.time)
        world.asks("what do you think of my statue")
        world.audible()
        guard.said("i like it very much", world.time, world.time + 1.2)
        if not late:
            world.starts()
            world.ended("I like it very much.")
        else:
            world.time += 1.5
            world.ended("I like it very much.")
            world.time -= 2.0
            world.starts()
            world.time += 0.7
        world.heard("very much", final=False, tentative=True)
        world.heard("very much", final=False)
        world.heard("very much")
        assert len(world.brain.asked) == 1 and world.state == "idle" and world.segment not in world.ledger._open
        world.asks("very much what about spain")
        assert world.brain.asked[-1].words == "very much what about spain"


def test_c3_a_short_yes_to_a_sentence_that_held_yes_is_accepted() -> None:
    """Right behind it, while the sentence's words may still come back as an echo; over it, "yes" just says go on."""
    world, guard = World(), EchoGuard()
    world.conversation._rules = OverlapRules(DialogSettings(), guard, now=lambda: world.time)
    world.asks("shall we go")
    world.audible()
    guard.said("is that a no or a yes", world.time, world.time + 2.4)
    world.starts()
    world.words("yes", "yes")
    world.heard("yes")
    assert world.state == "speaking" and "cut" not in world.voice.calls
    world.ended("Is that a no or a yes?")
    assert guard.is_echo("yes", world.time + 0.2, world.time + 0.5), "by its words alone it could be an echo"
    world.asks("yes")
    assert world.brain.asked[-1].words == "yes" and world.state == "thinking"
