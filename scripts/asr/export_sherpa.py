"""Checkpoint -> a model that sherpa-onnx's C++ engine runs as a streaming CTC recogniser.

    python -m scripts.asr.export_sherpa CHECKPOINT OUT_FOLDER [--chunk 16] [--labels characters|phones]

    sherpa_onnx.OnlineRecognizer.from_zipformer2_ctc(tokens="OUT/tokens.txt", model="OUT/ctc-sherpa.int8.onnx", …)

sherpa-onnx knows no model of our kind, but its "zipformer2 CTC" interface fits: it computes Whisper's own log-mel
features (metadata `feature=whisper`), and it hands states through that it never looks into. Ours travel in them so:

    cached_key, cached_val1 of each layer   keys and values of the `left` frames before, [left, 1, 384]
    the other four of each layer            unused, as small as the interface allows
    embed_states [1, 128, 3, 19]            first number: loudest log-mel cell so far, plus 1
    processed_lens int64 [1]                frames done

Differences from our own features: sherpa's windows sit 5 ms later and its Hann window is the symmetric one; it clamps
each chunk to eight decades under the chunk's own maximum first. With `characters` the words come straight from the
character head; with `phones` a decoding graph must turn phones into words (`ctc_graph`).
"""

import argparse
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn

from scripts.asr.evaluate import load_checkpoint
from scripts.asr.export import quantise
from scripts.asr.model import BANDS, HEADS, LEFT, LONGEST, WIDTH, Recogniser
from scripts.asr.step import StepModule
from scripts.asr.text import CHARACTERS, PHONES

DUMMY = 4
"""`encoder_dims`: sizes the unused states; a multiple of four."""
WORD_BOUNDARY = "▁"


class SherpaStep(nn.Module):
    """Our streaming step behind the states of sherpa-onnx's zipformer2 CTC interface."""

    def __init__(self, model: Recogniser, labels: str, left: int = LEFT) -> None:
        super().__init__()
        self.step, self.labels, self.left = StepModule(model, left), labels, left

    def forward(self, x: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        """x [1, 2C+4, 80]; six states a layer, embed_states, processed_lens -> log-probabilities and new states."""
        *layers, memory, done = states
        features, peak = follow_peak(x, memory.flatten()[0] - 1)
        # Words may go on for ever without a reset; positions stay where Whisper knows them.
        offset = torch.where(done < LONGEST // 2, done, LONGEST // 4 + done % (LONGEST // 4))
        keys, values = (torch.cat(layers[kind::6], dim=1).transpose(0, 1) for kind in (0, 2))
        phones, characters, keys, values, _ = self.step(features, keys, values, offset, done.clamp(max=self.left))
        out: list[Tensor] = [phones if self.labels == "phones" else characters]
        for index in range(len(layers) // 6):
            _, nonlin, _, *unused = (state * 1 for state in layers[6 * index : 6 * index + 6])
            out += [keys[index].unsqueeze(1), nonlin, values[index].unsqueeze(1), *unused]
        return (*out, torch.zeros_like(memory) + peak + 1, done + phones.shape[1])


def follow_peak(features: Tensor, peak: Tensor) -> tuple[Tensor, Tensor]:
    """Clamp normalised log-mel [1, T, 80] to eight decades under the running maximum, as our own features do."""
    frames = features.shape[1]
    loudest = torch.maximum(features[0].amax(dim=1) * 4 - 4, peak)
    earlier = torch.arange(frames)[None] <= torch.arange(frames)[:, None]
    running = torch.where(earlier, loudest[None], -1e4).amax(dim=1)
    return torch.maximum(features, ((running - 8 + 4) / 4)[None, :, None]), running[-1]


def initial_states(layers: int, left: int) -> list[tuple[str, Tensor]]:
    """The interface's states by name, all zero."""
    states: list[tuple[str, Tensor]] = []
    for index in range(layers):
        states += [
            (f"cached_key_{index}", torch.zeros(left, 1, WIDTH)),
            (f"cached_nonlin_attn_{index}", torch.zeros(1, 1, left, 3 * DUMMY // 4)),
            (f"cached_val1_{index}", torch.zeros(left, 1, WIDTH)),
            (f"cached_val2_{index}", torch.zeros(left, 1, WIDTH)),
            (f"cached_conv1_{index}", torch.zeros(1, DUMMY, 1)),
            (f"cached_conv2_{index}", torch.zeros(1, DUMMY, 1)),
        ]
    return [
        *states,
        ("embed_states", torch.zeros(1, 128, 3, 19)),
        ("processed_lens", torch.zeros(1, dtype=torch.int64)),
    ]


def export(model: Recogniser, path: Path, chunk: int, labels: str, left: int = LEFT) -> None:
    """Write the float model with the metadata that sherpa-onnx reads."""
    layers = len(model.encoder.layers) + len(model.new_layers)
    states = initial_states(layers, left)
    names = [name for name, _ in states]
    torch.onnx.export(
        SherpaStep(model.eval(), labels, left).eval(),
        (torch.zeros(1, 2 * chunk + 4, BANDS), *(state for _, state in states)),
        str(path),
        input_names=["x", *names],
        output_names=["log_probs", *(f"new_{name}" for name in names)],
        opset_version=17,
        dynamo=False,
    )
    entries = {
        "model_type": "zipformer2",
        "feature": "whisper",
        "T": 2 * chunk + 4,
        "decode_chunk_len": 2 * chunk,
        "num_encoder_layers": layers,
        "encoder_dims": DUMMY,
        "num_heads": HEADS,
        "query_head_dims": WIDTH // HEADS,
        "value_head_dims": WIDTH // HEADS,
        "cnn_module_kernels": 3,
        "left_context_len": left,
    }
    exported = onnx.load(path)
    for key, value in entries.items():
        exported.metadata_props.add(key=key, value=str(value))
    onnx.save(exported, path)


def write_tokens(path: Path, labels: str) -> None:
    """`token id` a line; the blank between words is written as sherpa-onnx expects it."""
    tokens = (
        PHONES if labels == "phones" else [WORD_BOUNDARY if character == " " else character for character in CHARACTERS]
    )
    path.write_text("".join(f"{token} {index}\n" for index, token in enumerate(["<blk>", *tokens])), encoding="utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--chunk", type=int, default=16, help="frames of 20 ms")
    parser.add_argument("--labels", choices=("characters", "phones"), default="characters")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    whole, small = arguments.out / "ctc-sherpa.onnx", arguments.out / "ctc-sherpa.int8.onnx"
    export(load_checkpoint(arguments.checkpoint), whole, arguments.chunk, arguments.labels)
    quantise(whole, small)
    write_tokens(arguments.out / "tokens.txt", arguments.labels)
    for path in (whole, small):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
