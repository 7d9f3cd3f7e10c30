"""`edgevoice voices optimize`: makes faster forms of a voice's vocoder and reports speed and closeness of each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from rich.console import Console
from rich.progress import track

from edgevoice.errors import UsageError
from edgevoice.models.onnx import session_of
from edgevoice.tts.optimize.latents import latents_of
from edgevoice.tts.optimize.measure import Closeness, compare
from edgevoice.tts.optimize.prune import moments, prune
from edgevoice.tts.optimize.refit import shrink_last_stage
from edgevoice.tts.optimize.sentences import sentences
from edgevoice.tts.vits.arrays import Floats
from edgevoice.tts.vits.graph import GraphReader
from edgevoice.tts.vits.layout import block_size
from edgevoice.tts.vits.phonemes import Phonemizer
from edgevoice.tts.vits.prepare import prepare
from edgevoice.tts.vits.quantized import whole
from edgevoice.tts.vits.runner import VitsRunner
from edgevoice.tts.vits.split import split
from edgevoice.tts.vits.tiers import SMALLER, TIERS, own_folder, save
from edgevoice.tts.vits.vocoder import Vocoder
from edgevoice.tts.vits.vocoder import read as read_vocoder
from edgevoice.tts.vits.vocoder_graph import build

GRAIN = 16
"""Channels come in blocks of this size on CPUs with AVX-512; other widths are padded to it and gain nothing."""
PIECE = 100
"""Frames of each sentence that the statistics are taken from."""


@dataclass(frozen=True)
class Distillation:
    """Teaching a smaller last stage, which the tiers below `fine` are then made with."""

    minutes: float
    """Of training."""
    texts: Sequence[str]
    """Said by the voice to learn from, in its language."""
    material_seconds: float = 2400.0
    """Sound to learn from."""


def optimize(
    model: Path,
    percents: Sequence[int],
    count: int,
    keep: Mapping[int, str],
    distillation: Distillation | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """One row per form: vocoder speed against the exported graph (in turns, one thread), size, closeness.

    `keep` installs a pruning (percent) as a tier of this voice; a distilled last stage is installed always. Raises
    UsageError for unknown tiers or percents, too little text, and when PyTorch is wanted and not there.
    """
    for percent, tier in keep.items():
        if tier not in TIERS[1:] or percent not in percents:
            raise UsageError(
                f"--keep {percent}={tier}", "names no form that is made", f"use a --prune value and one of {TIERS[1:]}"
            )
    voice = prepare(model)
    reader = GraphReader(onnx.load(str(model)), str(model))
    original = read_vocoder(reader, split(reader).latents)
    runner, phonemizer = VitsRunner(voice), Phonemizer(voice.config)
    every = [latents_of(runner, phonemizer, text, seed) for seed, text in enumerate(sentences(count + 8))]
    fitted, tested = [z[:, :PIECE] for z in every[:: max(1, len(every) // 8)]], every[:count]
    forms = {f"last stage {GRAIN} channels": shrink_last_stage(original, fitted, GRAIN)}
    statistics = moments(original, fitted)
    for percent in percents:
        forms[f"pruned {percent} %"] = prune(original, statistics, _widths(original, percent))
        if percent in keep:
            save(forms[f"pruned {percent} %"], own_folder(voice.digest) / f"{keep[percent]}.npz", voice.digest)
    if distillation:
        halved = prune(original, statistics, _last_halved(original))
        taught = _distilled(halved, original, (runner, phonemizer), distillation, report)
        forms["distilled last stage"] = taught
        save(taught, own_folder(voice.digest) / f"{SMALLER}.npz", voice.digest)
    exported = _exported(reader, model)
    graphs = {f"tier {tier}": onnx.load(str(voice.file(tier))) for tier in voice.tiers}
    graphs |= {name: build(vocoder, block=block_size()) for name, vocoder in forms.items()}
    return [
        _row(name, graph, exported, tested, voice.config.sample_rate)
        for name, graph in track(graphs.items(), "measuring", console=Console(stderr=True), transient=True)
    ]


def _distilled(
    start: Vocoder,
    original: Vocoder,
    voice: tuple[VitsRunner, Phonemizer],
    plan: Distillation,
    report: Callable[[str], None],
) -> Vocoder:
    try:
        from edgevoice.tts.optimize.distill import LastStage, Plan, distill
    except ImportError as error:
        raise UsageError("--distill", "needs PyTorch", "pip install edgevoice[train]") from error
    from edgevoice.tts.optimize.teaching import record

    with tempfile.TemporaryDirectory(prefix="edgevoice-") as folder:
        material = record(*voice, original, plan.texts, plan.material_seconds, Path(folder), report)
        return distill(LastStage(start), material, Plan(seconds=60 * plan.minutes), report).vocoder()


def _last_halved(vocoder: Vocoder) -> list[int]:
    """All widths, the last one a block, or half of it where that is more."""
    full = _full(vocoder)
    return [*full[:-1], max(GRAIN, full[-1] // 2)]


def _full(vocoder: Vocoder) -> list[int]:
    return [len(vocoder.pre.weight), *(stage.up.weight.shape[1] for stage in vocoder.stages)]


def _widths(vocoder: Vocoder, percent: int) -> list[int]:
    return [max(GRAIN, round(width * (100 - percent) / 100 / GRAIN) * GRAIN) for width in _full(vocoder)]


def _exported(reader: GraphReader, model: Path) -> tuple[onnxruntime.InferenceSession, str]:
    pieces = split(reader)
    inputs = [
        onnx.helper.make_tensor_value_info(pieces.latents, onnx.TensorProto.FLOAT, [1, pieces.channels, "frames"])
    ]
    graph = reader.cut(inputs, [reader.of_type("Tanh")[-1].output[0]], "vocoder")
    return session_of(graph), pieces.latents


def _row(
    name: str,
    graph: onnx.ModelProto,
    exported: tuple[onnxruntime.InferenceSession, str],
    latents: Sequence[Floats],
    rate: int,
) -> dict[str, Any]:
    made, (reference, input_name) = session_of(graph), exported
    times = np.zeros(2)
    measured = []
    for z in latents:
        wide, plain = whole(z), z[None]
        begun = time.process_time()
        sound = made.run(None, wide)[0].reshape(-1)
        middle = time.process_time()
        wanted = reference.run(None, {input_name: plain})[0].reshape(-1)
        times += (middle - begun, time.process_time() - middle)
        measured.append(compare(sound, wanted, rate))
    means = np.mean([astuple(item) for item in measured], axis=0)
    return {
        "form": name,
        "speedup": round(float(times[1] / times[0]), 2),
        "size_mb": round(graph.ByteSize() / 1e6, 1),
        **{item.name: round(float(value), 3) for item, value in zip(fields(Closeness), means, strict=True)},
    }
