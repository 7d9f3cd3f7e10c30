"""The blocked layout: found out by a stored probe, and the same sound in either layout."""

from __future__ import annotations

import base64

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from edgevoice.tts.vits import layout
from edgevoice.tts.vits.graph import OPSET, make_model
from edgevoice.tts.vits.vocoder_graph import BLOCKED, build
from tests.tts.test_pruning import vocoder_of


def test_the_stored_probe_is_what_it_says() -> None:
    made = make_model(
        [helper.make_node("ReorderInput", ["x"], ["y"], domain=BLOCKED, channels_last=0)],
        "probe",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, layout.CHANNELS, 1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [],
        OPSET,
        {BLOCKED: 1},
    )
    assert onnx.load_model_from_string(base64.b64decode(layout.PROBE)) == made


def test_blocks_and_ordinary_layout_sound_the_same() -> None:
    block = layout.block_size()
    if block == 1:
        pytest.skip("this processor has no blocked layout")
    vocoder = vocoder_of(2 * block, 3 * block)
    latents = np.random.default_rng(0).standard_normal((1, 3 * block, 1, 40)).astype(np.float32)
    for left in (0, 1):
        for right in (0, 1):
            feed = {"latents": latents, "left_edge": np.array([left]), "right_edge": np.array([right])}
            sounds = []
            for width in (1, block):
                graph = build(vocoder, block=width)
                assert any(node.domain == BLOCKED for node in graph.graph.node) == (width > 1)
                session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
                sounds.append(session.run(None, feed)[0])
            assert sounds[0].shape[3] == (40 - (2 - left - right) * vocoder.reach) * vocoder.hop
            assert 0.01 < np.abs(sounds[0]).mean() < 0.95
            assert np.abs(sounds[0] - sounds[1]).max() < 1e-4
