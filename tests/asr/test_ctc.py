from __future__ import annotations

import shutil
from pathlib import Path

import jiwer
import numpy as np
import pytest

from edgevoice.asr.ctc import CHUNKS_MS, MODEL_FILE, CtcEncoder, StreamingCtc
from edgevoice.asr.features import features
from edgevoice.asr.normalize import scoring_form
from edgevoice.asr.recognizer import SAMPLE_RATE, Partial, Samples
from edgevoice.errors import ModelDataError, ModelMissingError, SettingsError
from edgevoice.models import store
from edgevoice.settings import AsrSettings


def feed(recognizer: StreamingCtc, samples: Samples, block: int = 320) -> list[Partial]:
    return [p for start in range(0, len(samples), block) for p in recognizer.accept(samples[start : start + block])]


def test_says_what_was_said(ctc: StreamingCtc, help_you_pack: Samples) -> None:
    partials = feed(ctc, help_you_pack)
    assert scoring_form(ctc.finish().text) == "can i help you pack"
    assert len(partials) == len(help_you_pack) // (SAMPLE_RATE * 320 // 1000)


def test_partials_grow_while_the_sound_comes_in(ctc: StreamingCtc, when_back: Samples) -> None:
    partials = feed(ctc, when_back)
    assert [p.heard for p in partials] == sorted({p.heard for p in partials})
    assert all(p.text.startswith(p.stable) for p in partials)
    assert partials[-1].stable.split()[:1] == ["when"]
    assert any(p.text and p.text != partials[-1].text for p in partials)


def test_the_block_length_does_not_matter(ctc: StreamingCtc, help_you_pack: Samples) -> None:
    small, final = feed(ctc, help_you_pack, 100), ctc.finish()
    ctc.reset()
    assert (feed(ctc, help_you_pack, 5000), ctc.finish()) == (small, final)


def test_finishing_does_not_disturb_what_follows(ctc: StreamingCtc, when_back: Samples) -> None:
    undisturbed, final = feed(ctc, when_back), ctc.finish()
    ctc.reset()
    half = len(when_back) // 2 // 320 * 320
    first = feed(ctc, when_back[:half])
    assert ctc.finish() == ctc.finish()
    assert (first + feed(ctc, when_back[half:]), ctc.finish()) == (undisturbed, final)


def test_nothing_of_the_last_segment_is_left(ctc: StreamingCtc, help_you_pack: Samples, when_back: Samples) -> None:
    feed(ctc, when_back)
    alone = ctc.finish()
    ctc.reset()
    feed(ctc, help_you_pack)
    ctc.reset()
    feed(ctc, when_back)
    assert ctc.finish() == alone


def test_words_lie_where_they_are_spoken(ctc: StreamingCtc, when_back: Samples) -> None:
    feed(ctc, when_back)
    words = ctc.finish().words
    assert all(w.start <= w.end for w in words)
    assert [w.start for w in words] == sorted(w.start for w in words)
    assert words[-1].end <= len(when_back) / SAMPLE_RATE + ctc.tail


def test_d3_the_last_word_survives_a_cut_right_behind_it(ctc: StreamingCtc, when_back: Samples) -> None:
    feed(ctc, when_back)
    whole = ctc.finish()
    end = whole.words[-1].end + 0.08
    ctc.reset()
    feed(ctc, when_back[: int(end * SAMPLE_RATE)])
    assert ctc.finish().text.split()[-1] == whole.text.split()[-1] == "back"


def test_a_segment_longer_than_the_model_has_positions_goes_on(ctc: StreamingCtc, help_you_pack: Samples) -> None:
    many = np.tile(help_you_pack, 12)  # 36 s
    feed(ctc, many, 16_000)
    references = " ".join(["can i help you pack"] * 12)
    assert jiwer.wer(references, ctc.finish().text) < 0.3


@pytest.mark.parametrize("length", [0, 1, 200, 201, 319, 700])
def test_next_to_nothing_is_nothing(ctc: StreamingCtc, length: int) -> None:
    assert ctc.accept(np.zeros(length, np.float32)) == []
    assert ctc.finish().text == ""


def test_chunks_in_a_stream_equal_the_whole_where_the_context_reaches(loaded_ctc: StreamingCtc) -> None:
    """Two chunks with caches give what one chunk of twice the length would give to its second half's past."""
    folder = store.find("asr-en-ctc", "asr")
    encoder = CtcEncoder(folder / MODEL_FILE, threads=1)
    noise = features((np.random.default_rng(0).standard_normal(SAMPLE_RATE) * 0.1).astype(np.float32))
    padded = np.concatenate([np.zeros((2, 80), np.float32), noise])
    state, again = encoder.start(), encoder.start()
    first = encoder.step(padded[:36], state)
    second = encoder.step(padded[32:68], state)
    assert state.offset == 32
    assert np.allclose(first, encoder.step(padded[:36], again), atol=1e-6)
    assert np.allclose(np.exp(second).sum(axis=1), 1, atol=1e-3)
    assert not np.allclose(second, encoder.step(padded[32:68], encoder.start()), atol=1e-3)


@pytest.mark.parametrize("chunk_ms", CHUNKS_MS)
def test_all_chunk_lengths_end_with_the_same_words(chunk_ms: int, help_you_pack: Samples) -> None:
    recognizer = StreamingCtc(AsrSettings(chunk_ms=chunk_ms), phrases=())
    recognizer.load()
    partials = feed(recognizer, help_you_pack)
    assert partials[0].heard == pytest.approx(chunk_ms / 1000)
    assert scoring_form(recognizer.finish().text) == "can i help you pack"
    recognizer.close()


def test_an_impossible_chunk_is_refused() -> None:
    with pytest.raises(SettingsError, match="160"):
        StreamingCtc(AsrSettings(chunk_ms=100))


def test_the_constructor_touches_no_disk() -> None:
    StreamingCtc(AsrSettings(model="/nowhere/at/all"))


def test_a_missing_model_is_named() -> None:
    recognizer = StreamingCtc(AsrSettings(model="/nowhere/at/all"))
    with pytest.raises(ModelMissingError, match="/nowhere/at/all"):
        recognizer.load()


@pytest.mark.parametrize("damage", ["truncated", "garbage", "other model"])
def test_a_damaged_model_is_named(tmp_path: Path, damage: str) -> None:
    source = store.find("asr-en-ctc", "asr")
    shutil.copytree(source, tmp_path / "m")
    file = tmp_path / "m" / MODEL_FILE
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:100_000])
    elif damage == "garbage":
        file.write_bytes(b"\0" * 5000)
    else:
        import onnx
        from onnx import TensorProto, helper

        value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("a", "b")]
        graph = helper.make_graph([helper.make_node("Identity", ["a"], ["b"])], "g", value[:1], value[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)
    with pytest.raises(ModelDataError, match=MODEL_FILE.replace(".", r"\.")):
        StreamingCtc(AsrSettings(model=str(tmp_path / "m"))).load()
