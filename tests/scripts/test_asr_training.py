"""The recogniser's training pipeline, on tiny models with random weights and noise for speech."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from edgevoice.asr.features import features  # noqa: E402
from edgevoice.asr.recognizer import SAMPLE_RATE  # noqa: E402
from scripts.asr import augment, noise, text  # noqa: E402
from scripts.asr.data import PackedCorpus, choose_held_out, is_held_out, pack  # noqa: E402
from scripts.asr.dataset import Batch, Mixture, TrainingStream  # noqa: E402
from scripts.asr.model import Encoder, Recogniser, attention_mask, frame_counts  # noqa: E402
from scripts.asr.step import StepModule, StreamingStep, windows  # noqa: E402
from scripts.asr.trainer import Plan, Trainer  # noqa: E402

SECOND = SAMPLE_RATE
LEFT = 64


@pytest.fixture(scope="module")
def model() -> Recogniser:
    """One encoder layer and one new layer, with weights large enough that context matters."""
    torch.manual_seed(1)
    model = Recogniser(new_layers=1, layers=1).eval()
    for layer in model.new_layers:
        torch.nn.init.normal_(layer.attention_out.weight, std=0.1)
        torch.nn.init.normal_(layer.ffn_out.weight, std=0.1)
    return model


@pytest.fixture(scope="module")
def speech() -> np.ndarray:
    """Features of a segment whose length no chunk divides."""
    return np.random.default_rng(2).standard_normal((611, 80)).astype(np.float32)


def masked_pass(model: Recogniser, features: np.ndarray, chunk: int) -> np.ndarray:
    with torch.inference_mode():
        phones, _ = model(torch.from_numpy(features)[None], torch.tensor([len(features)]), chunk, LEFT)
    return phones[0].log_softmax(-1).numpy()


def stream(model: Recogniser, features: np.ndarray, chunk: int) -> np.ndarray:
    step, out = StepModule(model, LEFT).eval(), []
    cache_k = cache_v = torch.zeros(2, LEFT, 384)
    with torch.inference_mode():
        for offset, window in windows(features, chunk):
            valid = torch.tensor([min(LEFT, offset)])
            x = torch.from_numpy(window)[None]
            phones, _, cache_k, cache_v, _ = step(x, cache_k, cache_v, torch.tensor([offset]), valid)
            out.append(phones[0])
    return torch.cat(out).numpy()


@pytest.mark.parametrize("chunk", [8, 16, 32])
def test_streaming_equals_the_masked_pass(model: Recogniser, speech: np.ndarray, chunk: int) -> None:
    assert np.abs(stream(model, speech, chunk) - masked_pass(model, speech, chunk)).max() < 1e-3


def test_the_whole_segment_in_one_call_equals_the_pass_without_mask(model: Recogniser, speech: np.ndarray) -> None:
    assert np.abs(stream(model, speech, 0) - masked_pass(model, speech, 0)).max() < 1e-3


def test_the_chunk_matters(model: Recogniser, speech: np.ndarray) -> None:
    """Otherwise the parity tests above would show nothing."""
    assert np.abs(masked_pass(model, speech, 8) - masked_pass(model, speech, 32)).max() > 0.05


@pytest.mark.parametrize("chunk", [8, 16, 32])
def test_blocked_attention_equals_dense_attention(model: Recogniser, chunk: int) -> None:
    features, counts = torch.randn(2, 301, 80), frame_counts(torch.tensor([301, 180]))
    with torch.inference_mode():
        blocked, dense = (model.encoder(features, attention_mask(151, counts, chunk, 64, way)) for way in (True, False))
    for row, count in enumerate(counts):
        assert (blocked[row, :count] - dense[row, :count]).abs().max() < 1e-4


def test_padding_in_a_batch_changes_nothing(model: Recogniser) -> None:
    short = torch.randn(1, 200, 80)
    padded = torch.nn.functional.pad(short, (0, 0, 0, 100))
    with torch.inference_mode():
        alone, _ = model(short, torch.tensor([200]), 0)
        together, _ = model(padded, torch.tensor([200]), 0)
    assert (alone[0] - together[0, :100]).abs().max() < 1e-3


def test_one_exported_file_takes_every_chunk_length(model: Recogniser, speech: np.ndarray, tmp_path: Path) -> None:
    export = pytest.importorskip("scripts.asr.export", reason="needs the extra `train`")
    whole, small = tmp_path / "ctc.onnx", tmp_path / "ctc.int8.onnx"
    export.export_float(model, whole, LEFT)
    export.quantise(whole, small)
    exact, quantised = StreamingStep(whole), StreamingStep(small)
    for chunk in (8, 16, 0):
        expected = masked_pass(model, speech, chunk)
        assert np.abs(exact.run_all(speech, chunk)[0] - expected).max() < 2e-3
        agreement = np.mean(quantised.run_all(speech, chunk)[0].argmax(-1) == expected.argmax(-1))
        assert agreement > 0.9
    assert small.stat().st_size < 0.3 * whole.stat().st_size


def test_noise_is_mixed_at_the_ratio_asked_for() -> None:
    rng = np.random.default_rng(3)
    signal, hiss = rng.standard_normal(SECOND).astype(np.float32), rng.standard_normal(3000).astype(np.float32)
    for snr in (0.0, 10.0, 30.0):
        added = augment.add_noise(signal, hiss, snr) - signal
        assert 10 * np.log10(np.mean(signal**2) / np.mean(added**2)) == pytest.approx(snr, abs=0.1)


def test_speed_room_and_gain() -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(SECOND) / SECOND).astype(np.float32)
    faster = augment.change_speed(tone, 1.1)
    assert len(faster) == pytest.approx(SECOND / 1.1, abs=2)
    peak = np.abs(np.fft.rfft(faster * np.hanning(len(faster)))).argmax() * SECOND / len(faster)
    assert peak == pytest.approx(484, abs=3)
    click = np.zeros(SECOND, np.float32)
    click[0] = 1
    room = augment.reverberate(click, np.random.default_rng(4))
    assert len(room) == SECOND
    assert np.sum(room[: SECOND // 10] ** 2) > np.sum(room[SECOND // 10 :] ** 2) > 0
    assert np.abs(augment.set_peak(tone, -20)).max() == pytest.approx(0.1, rel=1e-3)


def test_masking_replaces_bands_and_stretches_by_the_mean() -> None:
    features = np.random.default_rng(5).standard_normal((300, 80)).astype(np.float32)
    masked = augment.mask_features(features.copy(), np.random.default_rng(6), augment.Augmentation())
    changed = masked != features
    assert 0 < changed.mean() < 0.6
    assert np.all(masked[changed] == features.mean())


@pytest.mark.parametrize("make", [noise.hum, noise.clatter, noise.water, noise.chords])
def test_background_sounds_have_unit_power_and_differ(make) -> None:
    one, other = (make(np.random.default_rng(seed), 2 * SECOND) for seed in (7, 8))
    assert one.dtype == np.float32 and len(one) == 2 * SECOND
    assert one.std() == pytest.approx(1, abs=0.01)
    assert np.abs(np.corrcoef(one, other)[0, 1]) < 0.5


def test_phones_of_words_in_and_outside_the_dictionary() -> None:
    assert len(text.PHONES) == 39
    assert text.pronounce("cat") == ("K", "AE", "T")
    for word in ("edgevoice", "cucumetto", "ronicky"):
        assert word not in text.PRONUNCIATIONS
        assert len(text.pronounce(word)) > 4 and set(text.pronounce(word)) <= set(text.PHONES)


def test_greedy_reading() -> None:
    assert text.collapse([0, 3, 3, 0, 3, 4, 4, 0]) == [3, 3, 4]
    assert text.spell(text.character_ids("let's go")) == "let's go"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source of six noises by three speakers, at two sample rates."""
    folder, rng, rows = tmp_path_factory.mktemp("source"), np.random.default_rng(9), []
    for index in range(6):
        rate, seconds = (SAMPLE_RATE, 8000)[index % 2], 1.0 + index / 2
        soundfile.write(folder / f"{index}.wav", rng.uniform(-0.3, 0.3, int(rate * seconds)), rate)
        rows.append({"audio": f"{index}.wav", "text": "turn it on", "speaker": f"s{index % 3}", "seconds": seconds})
    (folder / "manifest.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_held_out_speakers_are_not_packed(source: Path, tmp_path: Path) -> None:
    assert pack([source], tmp_path / "part", {source.name: {"s1"}}) == 4
    corpus = PackedCorpus(tmp_path / "part")
    assert {utterance.speaker for utterance in corpus.utterances} == {"s0", "s2"}
    for utterance in corpus.utterances:
        samples = corpus.audio(utterance)
        assert len(samples) == pytest.approx(utterance.seconds * SAMPLE_RATE)
        assert 0.2 < np.abs(samples).max() < 0.6
        assert utterance.phones == tuple(text.phone_ids("turn it on"))


def test_choosing_speakers_repeats_and_never_takes_the_unknown() -> None:
    rows = [{"source": "a", "speaker": speaker} for speaker in ("unknown", *(f"s{i}" for i in range(200)))]
    chosen = choose_held_out(rows, {"a": 0.1})
    assert chosen == choose_held_out(reversed(rows), {"a": 0.1})
    assert "unknown" not in chosen["a"] and 5 < len(chosen["a"]) < 40
    assert is_held_out({"source": "a", "speaker": chosen["a"][0]}, {"a": set(chosen["a"])})
    assert not is_held_out({"source": "b", "speaker": chosen["a"][0]}, {"a": set(chosen["a"])})


@pytest.fixture(scope="module")
def packed(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "all"
    pack([source], path, {})
    return path


def first_batch(packed: Path, seed: int):
    mixture = Mixture(batch_seconds=20, nothing_share=0.3)
    return next(iter(TrainingStream([packed], mixture, augment.Augmentation(), seed)))


def test_batches_hold_features_and_targets_and_repeat_with_the_seed(packed: Path) -> None:
    batch, again = first_batch(packed, 1), first_batch(packed, 1)
    assert batch.features.shape[0] == len(batch.phones) == len(batch.characters) == len(batch.lengths)
    assert batch.features.shape[1] == batch.lengths.max() and batch.features.shape[2] == 80
    assert torch.equal(batch.features, again.features)
    phones = text.phone_ids("turn it on")
    for target in batch.phones:
        assert target == phones * (len(target) // len(phones))


def test_training_resumes_where_it_stopped(packed: Path, tmp_path: Path) -> None:
    batch = first_batch(packed, 2)

    def trainer() -> Trainer:
        torch.manual_seed(3)
        original = Encoder(layers=1)
        model = Recogniser(new_layers=1, layers=1)
        model.encoder.load_state_dict(original.state_dict())
        return Trainer(
            Plan(stage="B", minutes=1, warm_up=1, chunks=(16,), whole_share=(0.0, 0.0), dropout=0.0),
            model.train(),
            original,
            tmp_path,
        )

    straight = trainer()
    losses = [straight.train_step(batch) for _ in range(3)]
    assert losses[2]["phones"] < losses[0]["phones"]
    assert {"phones", "frames"} <= set(losses[0])

    first = trainer()
    assert not first.resume()
    for _ in range(2):
        first.train_step(batch)
    first.save()
    second = trainer()
    assert second.resume() and second.progress == first.progress
    assert second.train_step(batch)["phones"] == pytest.approx(losses[2]["phones"], rel=1e-3)


@pytest.mark.parametrize("stage", ["A", "C"])
def test_stages_a_and_c_leave_the_encoder_alone(packed: Path, tmp_path: Path, stage: str) -> None:
    original = Encoder(layers=1)
    model = Recogniser(new_layers=1, layers=1)
    trainer = Trainer(Plan(stage=stage, minutes=1, warm_up=1), model.train(), original, tmp_path)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    trainer.train_step(first_batch(packed, 4))
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed and not any(name.startswith("encoder.") for name in changed)


def test_short_batches_are_often_heard_whole_and_long_ones_rarely(tmp_path: Path) -> None:
    trainer = Trainer(Plan(stage="A", minutes=1), Recogniser(1, 1), Encoder(layers=1), tmp_path)

    def whole(frames: int) -> float:
        batch = Batch(torch.zeros(1, 2 * frames, 80), torch.tensor([2 * frames]), [[1]], [[1]])
        return np.mean([trainer.draw_chunk(batch) == 0 for _ in range(400)])

    assert 0.35 < whole(200) < 0.65
    assert 0.05 < whole(700) < 0.3


def test_the_rate_warms_up_holds_and_falls() -> None:
    plan = Plan(stage="A", minutes=10, warm_up=100, decay_from=0.5)
    assert plan.rate(0, 0.0) < 0.02
    assert plan.rate(100, 0.3) == 1.0
    assert plan.rate(1000, 0.75) == pytest.approx(0.525)
    assert plan.rate(1000, 1.0) == pytest.approx(0.05)


def test_the_sherpa_export_carries_our_states(model: Recogniser) -> None:
    """Window by window through sherpa-onnx's states: the frames of one masked pass, two features later."""
    sherpa = pytest.importorskip("scripts.asr.export_sherpa", reason="needs the extra `train`")
    samples = np.random.default_rng(10).standard_normal(4 * SECOND).astype(np.float32)
    samples *= np.linspace(0.001, 0.5, len(samples), dtype=np.float32)
    x = torch.from_numpy(features(samples))
    step, states = sherpa.SherpaStep(model, "phones", LEFT).eval(), [s for _, s in sherpa.initial_states(2, LEFT)]
    out = []
    with torch.inference_mode():
        for start in range(0, len(x) - 35, 32):
            phones, *states = step(x[None, start : start + 36], *states)
            out.append(phones[0])
        assert states[-1].item() == 16 * len(out)
        expected, _ = model(x[None, 2:], torch.tensor([len(x) - 2]), 16, LEFT)
    got = torch.cat(out)
    # the first frame alone differs: what stands before it is speech here and nothing there
    difference = (got[40:] - expected[0, 40 : len(got)].log_softmax(-1)).abs()
    assert difference.max() < 0.05


def test_the_running_peak_clamps_as_the_features_do() -> None:
    sherpa = pytest.importorskip("scripts.asr.export_sherpa", reason="needs the extra `train`")
    samples = np.random.default_rng(11).standard_normal(SECOND).astype(np.float32)
    samples[: SECOND // 2] *= 1e-5
    samples[SECOND // 2 :] = 0
    x = torch.from_numpy(features(samples))[None]
    same, peak = sherpa.follow_peak(x, torch.tensor(-1.0))
    assert torch.allclose(same, x, atol=1e-6)
    louder, _ = sherpa.follow_peak(x, peak + 3)
    assert (louder >= x - 1e-6).all() and (louder > x + 0.1).any()


def test_averaging_is_the_mean() -> None:
    average = pytest.importorskip("scripts.asr.average").average
    mean = average([{"a": torch.tensor([1.0, 3.0])}, {"a": torch.tensor([3.0, 3.0])}])
    assert torch.equal(mean["a"], torch.tensor([2.0, 3.0]))
