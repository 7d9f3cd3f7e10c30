"""The streaming Piper voice, on the real voice."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from edgevoice.errors import ModelDataError, ModelMissingError
from edgevoice.models import store
from edgevoice.tts.optimize.measure import clicks
from edgevoice.tts.piper import PiperSynthesizer
from edgevoice.tts.vits import runner as vits
from edgevoice.tts.vits.phonemes import Phonemizer
from edgevoice.tts.vits.prepare import PreparedVoice, prepare

SENTENCE = "Tomorrow will be mostly sunny, with a light wind from the west."
LONG = (
    "The train from the north is twenty minutes late because of work on the line, so you will miss the first "
    "connection, but there is another one half an hour later from the same platform."
)


@pytest.fixture(scope="module")
def model() -> Path:
    return store.find("en_US-joe-medium", "tts")


@pytest.fixture(scope="module")
def prepared(model: Path) -> PreparedVoice:
    return prepare(model)


@pytest.fixture(scope="module")
def voice() -> PiperSynthesizer:
    synthesizer = PiperSynthesizer(threads=1)
    synthesizer.load()
    return synthesizer


def speak(voice: PiperSynthesizer, text: str) -> np.ndarray:
    chunks = [chunk.samples for chunk in voice.synthesize(text)]
    return np.concatenate(chunks) if chunks else np.zeros(0, np.int16)


def whole_graph(model: Path, encoding: vits.Encoding, noise: np.ndarray, scale: float) -> np.ndarray:
    """The exported flow and vocoder, cut out of the voice but otherwise untouched, on the same prior."""
    import onnx
    from onnx import TensorProto, helper

    from edgevoice.tts.vits.graph import GraphReader
    from edgevoice.tts.vits.split import split

    reader = GraphReader(onnx.load(str(model)), "voice")
    pieces = split(reader)
    prior, mask = pieces.flow.graph.input[0].name, pieces.flow.graph.input[1].name
    flow = onnxruntime.InferenceSession(pieces.flow.SerializeToString(), providers=["CPUExecutionProvider"])
    end = reader.of_type("Tanh")[-1].output[0]
    inputs = [helper.make_tensor_value_info(pieces.latents, TensorProto.FLOAT, [1, pieces.channels, "frames"])]
    vocoder = onnxruntime.InferenceSession(
        reader.cut(inputs, [end], "vocoder").SerializeToString(), providers=["CPUExecutionProvider"]
    )
    which = np.repeat(np.arange(len(encoding.durations)), encoding.durations)
    frames = encoding.mean[which] + noise[: len(which)] * encoding.deviation[which] * np.float32(scale)
    ones = np.ones((1, 1, len(which)), np.float32)
    latents = flow.run(None, {prior: np.ascontiguousarray(frames.T)[None].astype(np.float32), mask: ones})[0]
    return np.asarray(vocoder.run(None, {pieces.latents: latents})[0]).reshape(-1)


def test_pieces_joined_equal_the_whole_graph(model: Path, prepared: PreparedVoice) -> None:
    runner = vits.VitsRunner(prepared)
    ids = np.array(Phonemizer(prepared.config).phonemize(SENTENCE).ids)
    encoding = runner.encode(ids, np.random.default_rng(1).standard_normal((2, len(ids)), dtype=np.float32), 1.0)
    noise = np.random.default_rng(2).standard_normal((2000, prepared.channels), dtype=np.float32)
    expected = whole_graph(model, encoding, noise, prepared.config.noise_scale)
    for sizes in ([12], [12, 24, 48], [64], [31, 13]):
        stream = vits.SoundStream(runner, encoding, np.random.default_rng(2))
        joined, made, turn = [], 0, 0
        while made < stream.frames:
            until = stream.until(made + sizes[min(turn, len(sizes) - 1)])
            joined.append(stream.sound(made, until))
            made, turn = until, turn + 1
        sound = np.concatenate(joined)
        assert len(sound) == len(expected)
        error = 10 * np.log10(np.mean((sound - expected) ** 2) / np.mean(expected**2))
        assert error < -60, f"pieces of {sizes}: {error:.1f} dB"


def test_encoder_equals_the_exported_one(model: Path, prepared: PreparedVoice) -> None:
    import onnx

    from edgevoice.tts.vits.graph import GraphReader
    from edgevoice.tts.vits.split import split

    exported = onnxruntime.InferenceSession(
        split(GraphReader(onnx.load(str(model)), "voice")).encoder.SerializeToString(),
        providers=["CPUExecutionProvider"],
    )
    runner = vits.VitsRunner(prepared)
    ids = np.array(Phonemizer(prepared.config).phonemize(LONG).ids)
    noise = np.random.default_rng(3).standard_normal((2, len(ids)), dtype=np.float32)
    mine = runner.encode(ids, noise, 1.0)
    config = prepared.config
    scales = np.array([config.noise_scale, config.length_scale, config.duration_noise_scale], np.float32)
    mean, deviation, durations = exported.run(None, {"ids": ids[None], "scales": scales, "duration_noise": noise[None]})
    assert np.abs(mine.mean - mean).max() < 1e-3
    assert np.abs(mine.deviation - deviation).max() < 1e-3
    assert (mine.durations == durations).all()


def test_f5_first_chunk_is_small_however_long_the_text(voice: PiperSynthesizer) -> None:
    for text in ("Yes, of course I can.", SENTENCE, LONG):
        first = next(iter(voice.synthesize(text)))
        assert 0.01 < len(first.samples) / first.rate < 0.3


def test_no_clicks_at_the_seams(voice: PiperSynthesizer) -> None:
    for text in (SENTENCE, LONG):
        chunks = [chunk.samples for chunk in voice.synthesize(text)]
        assert len(chunks) > 3
        seams = np.cumsum([len(chunk) for chunk in chunks])[:-1]
        found = clicks(np.concatenate(chunks) / 32768, voice.sample_rate)
        assert not [at for at in found if np.abs(seams - at).min() < 22]


def test_same_text_same_sound(voice: PiperSynthesizer) -> None:
    assert (speak(voice, SENTENCE) == speak(voice, SENTENCE)).all()


def loudness(sound: np.ndarray, rate: int) -> float:
    """Level in dB of 400 ms blocks, those 10 dB below the mean left out (as ITU-R BS.1770, unfiltered)."""
    blocks = np.lib.stride_tricks.sliding_window_view(sound / 32768, int(0.4 * rate))[:: int(0.1 * rate)]
    power = (blocks**2).mean(axis=1)
    return float(10 * np.log10(power[power > power.mean() / 10].mean()))


def test_f7_loudness_of_clauses_stays_within_3_lu(voice: PiperSynthesizer) -> None:
    clauses = (
        "Yes, of course.",
        SENTENCE,
        "The kitchen light is on.",
        "I found three places nearby,",
        "and one is open.",
    )
    levels = [loudness(speak(voice, text), voice.sample_rate) for text in clauses]
    assert max(levels) - min(levels) < 3, [round(level, 1) for level in levels]


def test_words_come_with_the_first_chunk_and_cover_the_clause(voice: PiperSynthesizer) -> None:
    chunks = list(voice.synthesize(SENTENCE))
    words = chunks[0].words
    total = sum(len(chunk.samples) for chunk in chunks)
    assert [SENTENCE[w.begin : w.end] for w in words] == SENTENCE.split()
    assert all(a.end_sample <= b.start_sample for a, b in pairwise(words))
    assert words[-1].end_sample <= total
    # The sound is loud inside words and quiet after the comma.
    sound = np.concatenate([chunk.samples for chunk in chunks]) / 32768
    inside = np.mean([np.abs(sound[w.start_sample : w.end_sample]).mean() for w in words])
    gap = sound[words[4].end_sample : words[5].start_sample]
    assert len(gap) > 0
    assert np.abs(gap).mean() < inside


def test_long_clause_gets_exact_words_with_a_later_chunk(voice: PiperSynthesizer) -> None:
    given = [chunk.words for chunk in voice.synthesize(LONG) if chunk.words]
    assert len(given) == 2
    assert [(w.begin, w.end) for w in given[0]] == [(w.begin, w.end) for w in given[1]]
    assert given[0][0] == given[1][0]


def test_cancelled_between_chunks(voice: PiperSynthesizer) -> None:
    taken: list[int] = []
    for chunk in voice.synthesize(LONG, lambda: len(taken) == 2):
        taken.append(len(chunk.samples))
    assert len(taken) == 2


@pytest.mark.parametrize("text", ["", "🙂", "...", "\x00", "\ud800", "你好", "#"])
def test_nothing_speakable_yields_nothing(voice: PiperSynthesizer, text: str) -> None:
    assert list(voice.synthesize(text)) == []


@pytest.mark.parametrize("text", ["a", "no\x00pe", "hi \ud800 there", "x" * 10_000])
def test_odd_text_is_spoken_briefly(voice: PiperSynthesizer, text: str) -> None:
    taken = 0.0
    for chunk in voice.synthesize(text):
        taken += len(chunk.samples) / chunk.rate
        if taken > 3:
            break
    assert taken > 0.05


def test_speed_changes_the_length(voice: PiperSynthesizer) -> None:
    usual = len(speak(voice, SENTENCE))
    voice.speed = 1.5
    try:
        assert 0.55 < len(speak(voice, SENTENCE)) / usual < 0.85
    finally:
        voice.speed = 1.0


def test_tiers_change_between_clauses(voice: PiperSynthesizer) -> None:
    fine = len(speak(voice, SENTENCE))
    try:
        for tier in ("standard", "light"):
            voice.set_tier(tier)
            assert 0.8 < len(speak(voice, SENTENCE)) / fine < 1.25
    finally:
        voice.set_tier("fine")


def test_f6_long_text_is_spoken_with_flat_memory(voice: PiperSynthesizer) -> None:
    text = (LONG + " ") * 110
    assert len(text) > 20_000
    tracemalloc.start()
    try:
        heard = 0
        for count, _ in enumerate(voice.synthesize(text)):
            heard += 1
            if count > 60:
                break
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert heard > 60
    assert peak < 30e6


def test_damaged_preparation_is_made_again(model: Path, tmp_path: Path) -> None:
    first = prepare(model, tmp_path)
    flow = first.file("flow")
    flow.write_bytes(flow.read_bytes()[:1000])
    again = prepare(model, tmp_path)
    assert flow.stat().st_size > 1000
    vits.VitsRunner(again)
    assert not [path for path in (tmp_path / "voices").iterdir() if path.name.startswith(".")]


def test_voice_that_does_not_fit_its_json(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "voice.onnx"
    copy.symlink_to(model)
    data = json.loads(model.with_name(model.name + ".json").read_text())

    def expect(change: dict[str, object], reason: str) -> None:
        copy.with_name("voice.onnx.json").write_text(json.dumps({**data, **change}))
        with pytest.raises(ModelDataError, match=reason) as caught:
            prepare(copy)
        assert caught.value.exit_code == 65

    expect({"num_symbols": 400}, "does not fit")
    expect({"phoneme_id_map": {**data["phoneme_id_map"], "q": [300]}}, "does not fit")
    expect({"num_speakers": 4}, "speaker")
    expect({"phoneme_id_map": {}}, "no ids")
    expect({"audio": {}}, "sample_rate")
    copy.with_name("voice.onnx.json").write_text("{broken")
    with pytest.raises(ModelDataError, match="json"):
        prepare(copy)
    copy.with_name("voice.onnx.json").unlink()
    with pytest.raises(ModelMissingError, match="json"):
        prepare(copy)


def test_something_else_than_a_voice(tmp_path: Path, model: Path) -> None:
    other = tmp_path / "other.onnx"
    shutil.copy(model.with_name(model.name + ".json"), tmp_path / "other.onnx.json")
    other.write_bytes(b"no onnx at all")
    with pytest.raises(ModelDataError):
        prepare(other, tmp_path)
    other.write_bytes(model.read_bytes()[:500_000])
    with pytest.raises(ModelDataError):
        prepare(other, tmp_path)
    assert not list((tmp_path / "voices").glob("*")) or not list((tmp_path / "voices").glob(".*"))
