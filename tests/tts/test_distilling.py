"""A last stage half as wide learns the sound of the real voice; and what can be wrong with the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from edgevoice.cli import main
from edgevoice.errors import EXIT_USAGE, UsageError
from edgevoice.models import store
from edgevoice.models.onnx import session_of
from edgevoice.tts.optimize.latents import latents_of
from edgevoice.tts.optimize.measure import compare
from edgevoice.tts.optimize.prune import moments, prune
from edgevoice.tts.optimize.sentences import sentences
from edgevoice.tts.optimize.teaching import Material, record
from edgevoice.tts.vits.graph import GraphReader
from edgevoice.tts.vits.phonemes import Phonemizer
from edgevoice.tts.vits.prepare import prepare
from edgevoice.tts.vits.quantized import whole
from edgevoice.tts.vits.runner import VitsRunner
from edgevoice.tts.vits.split import split
from edgevoice.tts.vits.vocoder import Vocoder, read
from edgevoice.tts.vits.vocoder_graph import build

Voice = tuple[VitsRunner, Phonemizer, Vocoder]


@pytest.fixture(scope="module")
def voice() -> Voice:
    model = store.find("en_US-joe-medium", "tts")
    prepared = prepare(model)
    reader = GraphReader(onnx.load(str(model)), str(model))
    return VitsRunner(prepared), Phonemizer(prepared.config), read(reader, split(reader).latents)


@pytest.fixture(scope="module")
def material(voice: Voice, tmp_path_factory: pytest.TempPathFactory) -> Material:
    return record(*voice, sentences(20), 30.0, tmp_path_factory.mktemp("material"), lambda line: None)


def test_the_material_is_what_the_last_stage_reads_and_makes(voice: Voice, material: Material) -> None:
    original = voice[2]
    assert 30 * 22050 <= len(material.sound) <= 45 * 22050
    inputs, sound = material.piece(2, 5, 20)
    stage = original.stages[-1]
    assert inputs.shape == (stage.up.weight.shape[0], 20 * original.hop // stage.up.stride)
    assert sound.shape == (20 * original.hop,) and 0.01 < np.abs(sound).max() < 1


def test_a_few_steps_of_training_come_closer_to_the_original(voice: Voice, material: Material) -> None:
    pytest.importorskip("torch", reason="needs the extra `train`")
    from edgevoice.tts.optimize.distill import LastStage, Plan, distill

    runner, phonemizer, original = voice
    tested = latents_of(runner, phonemizer, "The museum opens at ten.", 1)
    wanted = session_of(build(original)).run(None, whole(tested))[0].reshape(-1)
    fitted = [latents_of(runner, phonemizer, text, 0)[:, :100] for text in sentences(4)]
    widths = [len(original.pre.weight), *(stage.up.weight.shape[1] for stage in original.stages)]
    pruned = prune(original, moments(original, fitted), [*widths[:-1], widths[-1] // 2])
    student = LastStage(pruned)

    def snr_db(vocoder: Vocoder) -> float:
        return compare(session_of(build(vocoder)).run(None, whole(tested))[0].reshape(-1), wanted, 22050).snr_db

    before = snr_db(pruned)
    assert snr_db(student.vocoder()) == pytest.approx(before, abs=0.05), "what is added has no effect at first"
    after = snr_db(distill(student, material, Plan(steps=150, batch=4), print).vocoder())
    assert after > before + 1


def test_too_little_text_is_said(voice: Voice, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sentences of use"):
        record(*voice, ["Hello there, how are you?"], 30.0, tmp_path, lambda line: None)


@pytest.mark.parametrize(
    ("text", "why"), [(None, "needs sentences"), ("missing.txt", "cannot be read"), ("binary.txt", "cannot be read")]
)
def test_a_file_that_is_no_text_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, why: str
) -> None:
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00\xd8")
    given = ["--text", str(tmp_path / text)] if text else []
    assert main(["voices", "optimize", "--distill", "1", *given]) == EXIT_USAGE
    assert why in capsys.readouterr().err
