"""The end-of-turn network's training, on made-up frames; and the sentences of dictated codes."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from edgevoice.asr.lexicon import known  # noqa: E402
from edgevoice.asr.normalize import plain_words  # noqa: E402
from edgevoice.asr.recognizer import SAMPLE_RATE  # noqa: E402
from edgevoice.asr.turn_end import SPAN, TurnEnd  # noqa: E402
from edgevoice.settings import Settings  # noqa: E402
from scripts.asr import turn_end, turn_pauses  # noqa: E402
from scripts.asr.codes import codes  # noqa: E402
from tests.conftest import DATA  # noqa: E402


def made_up(path: Path, count: int, seed: int) -> Path:
    """Ends have a rising first dimension in their last frames, pauses a falling one."""
    random = np.random.default_rng(seed)
    over = random.random(count) < 0.5
    frames = random.normal(0, 0.5, (count, SPAN, turn_pauses.WIDTH)).astype(np.float16)
    frames[:, -20:, 0] += np.where(over, 1, -1)[:, None] * np.linspace(0, 4, 20)
    lengths = random.integers(30, SPAN + 1, count)
    for row, length in zip(frames, lengths, strict=True):
        row[: SPAN - length] = 0
    np.savez(path, frames=frames, lengths=lengths, over=over, inserted=~over, words=np.array(["yes"] * count))
    return path


def test_it_learns_is_exported_and_says_the_same_on_the_device(tmp_path: Path) -> None:
    model = tmp_path / "turn_end.onnx"
    dev = made_up(tmp_path / "dev.npz", 200, 1)
    turn_end.train(
        argparse.Namespace(
            seed=0, threads=1, examples=[made_up(tmp_path / "a.npz", 640, 0)], dev=dev, out=model, epochs=12, batch=32
        )
    )
    examples, network = turn_end.Examples.read(dev), TurnEnd(model)
    judged = [
        network.probability(frames[mask > 0].float().numpy())
        for frames, mask in zip(examples.frames, examples.mask, strict=True)
    ]
    assert turn_end.auc(np.array(judged), examples.over.numpy()) > 0.9


def test_short_and_filled_up_examples_are_judged_alike() -> None:
    net = turn_end.TurnEndNet().eval()
    frames = torch.randn(1, 40, turn_pauses.WIDTH)
    filled = torch.cat([torch.zeros(1, SPAN - 40, turn_pauses.WIDTH), frames], dim=1)
    mask = (torch.arange(SPAN) >= SPAN - 40).float()[None]
    with torch.no_grad():
        torch.testing.assert_close(net(frames), net(filled, mask), atol=1e-4, rtol=1e-4)


def test_pauses_are_found_as_the_device_finds_them() -> None:
    listener = turn_pauses.Listener(Settings())
    row = {"path": str(DATA / "help_you_pack.flac"), "source": "so_train"}
    found = list(turn_pauses.pauses_of(row, listener, np.random.default_rng(0), versions=3))
    assert sum(pause.over for pause in found) >= 3, "each version ends"
    assert any(pause.inserted for pause in found) and not any(p.inserted and p.over for p in found)
    assert all(len(p.frames) <= SPAN and p.frames.shape[1] == turn_pauses.WIDTH and p.words for p in found)


def test_a_cut_is_faded() -> None:
    one, two = np.ones(SAMPLE_RATE, np.float32), -np.ones(SAMPLE_RATE, np.float32)
    steps = np.abs(np.diff(turn_pauses.joined(one, two)))
    assert steps.max() < 0.02


def test_area_under_the_curve() -> None:
    over = np.array([0, 0, 1, 1])
    assert turn_end.auc(np.array([0.1, 0.2, 0.3, 0.4]), over) == 1.0
    assert turn_end.auc(np.array([0.4, 0.3, 0.2, 0.1]), over) == 0.0
    assert turn_end.auc(np.array([0.1, 0.3, 0.2, 0.4]), over) == 0.75


def test_codes_are_plain_words_that_the_dictionary_knows() -> None:
    sentences = list(codes(400))
    assert sentences == list(codes(400)) and len(set(sentences)) > 300
    assert all(plain_words(sentence) == sentence for sentence in sentences), "as a transcript is written"
    assert {word for sentence in sentences for word in sentence.split() if not known(word)} == set()
