"""Phone and word error of a checkpoint, greedy, by set and chunk size.

    python -m scripts.asr.evaluate CHECKPOINT --corpus CORPUS [--chunks 0 32 16 8] [--limit 60] [--json OUT]

Sets: every folder in CORPUS/dev, and two made of the held-out speakers of CORPUS/train: `commands` and `hard`.
CHECKPOINT may also be an exported .onnx file; its step is then run chunk by chunk as a device would.
The reference pronunciation is CMUdict's first; the word error is that of the character head without any language model.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rapidfuzz.distance import Levenshtein

from edgevoice.asr.features import features
from scripts.asr.data import SAMPLE_RATE, is_held_out, load_held_out, read_audio, read_manifest
from scripts.asr.model import Recogniser
from scripts.asr.text import collapse, phone_ids, spell

COMMAND_SOURCES = ("gsc", "new")
HARD_SOURCES = ("so_train",)
LogProbs = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]
"""(features [T, 80], chunk) -> log-probabilities or logits of phones [T/2, 40] and characters [T/2, 29]."""


@dataclass(frozen=True)
class Example:
    """One utterance of a development set: features [T, 80] and normalised text."""

    features: np.ndarray
    text: str


@dataclass
class Errors:
    """Edits and lengths of references, summed over a set."""

    phones: int = 0
    phones_total: int = 0
    words: int = 0
    words_total: int = 0

    @property
    def per(self) -> float:
        """Phone error rate in %."""
        return 100 * self.phones / max(1, self.phones_total)

    @property
    def wer(self) -> float:
        """Word error rate in %."""
        return 100 * self.words / max(1, self.words_total)


def load_examples(rows: list[dict], limit: int | None) -> list[Example]:
    """Features of at most `limit` rows, evenly spread; 0.2 s before, 0.3 s after, a noise floor of -80 dBFS."""
    rng = np.random.default_rng(0)
    step = max(1, len(rows) // limit) if limit else 1
    examples = []
    for row in rows[::step][:limit]:
        padded = np.pad(read_audio(row["path"]), (SAMPLE_RATE // 5, 3 * SAMPLE_RATE // 10))
        floor = rng.standard_normal(len(padded), dtype=np.float32) * np.float32(1e-4)
        examples.append(Example(features(padded + floor), row["text"]))
    return examples


def load_sets(corpus: Path, limit: int | None = None) -> dict[str, list[Example]]:
    """The development sets by name."""
    held_out = load_held_out()

    def kept_back(sources: tuple[str, ...]) -> list[dict]:
        return [
            row for source in sources for row in read_manifest(corpus / "train" / source) if is_held_out(row, held_out)
        ]

    sets = {folder.name: read_manifest(folder) for folder in sorted((corpus / "dev").iterdir())}
    sets |= {"commands": kept_back(COMMAND_SOURCES), "hard": kept_back(HARD_SOURCES)}
    return {name: load_examples(rows, limit) for name, rows in sets.items()}


def measure(log_probs: LogProbs, examples: list[Example], chunk: int) -> Errors:
    """Greedy errors of a recogniser at one chunk size."""
    errors = Errors()
    for example in examples:
        phones, characters = log_probs(example.features, chunk)
        reference = phone_ids(example.text)
        errors.phones += Levenshtein.distance(reference, collapse(phones.argmax(-1).tolist()))
        errors.phones_total += len(reference)
        words = spell(collapse(characters.argmax(-1).tolist())).split()
        errors.words += Levenshtein.distance(example.text.split(), words)
        errors.words_total += len(example.text.split())
    return errors


def torch_log_probs(model: Recogniser, chunked_encoder: bool = True) -> LogProbs:
    """Masked full passes. `chunked_encoder=False`: the encoder hears everything whatever the chunk (stage A)."""
    from scripts.asr.model import attention_mask

    @torch.inference_mode()
    def run(x: np.ndarray, chunk: int) -> tuple[np.ndarray, np.ndarray]:
        frames = (len(x) + 1) // 2
        counts = torch.tensor([frames])
        mask = attention_mask(frames, counts, chunk)
        encoder_mask = mask if chunked_encoder else attention_mask(frames, counts, 0)
        phones, characters = model.heads(model.encoder(torch.from_numpy(x)[None], encoder_mask), mask)
        return phones[0].numpy(), characters[0].numpy()

    return run


def load_checkpoint(path: Path, weights: str = "average") -> Recogniser:
    """A model from a training checkpoint (its average, or `weights="model"`) or from an exported float16 state."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    state = state.get(weights, state)
    new_layers = len({name.split(".")[1] for name in state if name.startswith("new_layers.")})
    model = Recogniser(new_layers)
    model.load_state_dict({name: tensor.float() for name, tensor in state.items()})
    return model.eval()


def onnx_log_probs(path: Path) -> LogProbs:
    """The exported step, chunk by chunk."""
    from scripts.asr.step import StreamingStep

    step = StreamingStep(path)
    return step.run_all


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--chunks", type=int, nargs="+", default=[0, 32, 16, 8])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--weights", choices=("average", "model"), default="average")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.checkpoint.suffix == ".onnx":
        log_probs = onnx_log_probs(arguments.checkpoint)
    else:
        log_probs = torch_log_probs(load_checkpoint(arguments.checkpoint, arguments.weights))
    table: dict[str, dict[str, dict[str, float]]] = {}
    for name, examples in load_sets(arguments.corpus, arguments.limit).items():
        if arguments.sets and name not in arguments.sets:
            continue
        for chunk in arguments.chunks:
            started = time.process_time()
            errors = measure(log_probs, examples, chunk)
            cost = (time.process_time() - started) / (sum(len(e.features) for e in examples) / 100)
            table.setdefault(name, {})[str(chunk)] = {"per": round(errors.per, 2), "wer": round(errors.wer, 2)}
            label = f"chunk {chunk}" if chunk else "full"
            print(
                f"{name:10} {label:9} PER {errors.per:5.1f} %  WER {errors.wer:5.1f} %  CPU/audio {cost:.4f}",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
