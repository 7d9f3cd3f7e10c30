"""Mean of the weights of one or more checkpoints, as a small float16 checkpoint.

    python -m scripts.asr.average RUN/last.pt [MORE.pt …] --out checkpoint.pt [--weights average|model]

The result holds weights only (`torch.load(…, weights_only=True)`); every script that takes a checkpoint reads it.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from scripts.asr.evaluate import load_checkpoint


def average(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each tensor over states with the same names."""
    return {name: torch.stack([state[name].float() for state in states]).mean(dim=0) for name in states[0]}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--weights", choices=("average", "model"), default="average")
    arguments = parser.parse_args()
    states = [load_checkpoint(path, arguments.weights).state_dict() for path in arguments.checkpoints]
    torch.save({name: tensor.half() for name, tensor in average(states).items()}, arguments.out)
    print(f"{arguments.out}: mean of {len(states)}, {arguments.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
