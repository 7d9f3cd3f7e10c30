"""Train the network that hears whether a speaker has finished (`edgevoice.asr.turn_end`).

    python -m scripts.asr.turn_end examples CORPUS/train/so CORPUS/train/kath … --out turns        (minutes; --held-out: the
                                                                      speakers that are kept out of training instead)
    python -m scripts.asr.turn_end train turns.npz --out models/asr-en-ctc/turn_end.onnx --dev held.npz
    python -m scripts.asr.turn_end fuse held.npz --model models/asr-en-ctc/turn_end.onnx     how sound and words are weighed

What an example is: `turn_pauses.py`.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from edgevoice.asr.normalize import plain_words
from edgevoice.asr.turn_end import SPAN, TurnEnd
from edgevoice.dialog.endpoint import log_odds
from edgevoice.llm.factory import build_generator
from edgevoice.settings import Settings
from scripts.asr.turn_pauses import WIDTH, collect

HIDDEN = 64


class TurnEndNet(nn.Module):
    """Frames [batch, n, 384] -> logit [batch]: two convolutions, attention over time, one hidden layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.inward = nn.Linear(WIDTH, HIDDEN)
        self.near = nn.Conv1d(HIDDEN, HIDDEN, 5, padding=2)
        self.far = nn.Conv1d(HIDDEN, HIDDEN, 5, padding=8, dilation=4)
        self.attention = nn.Linear(HIDDEN, 4)
        self.distance = nn.Parameter(torch.zeros(SPAN, 4))
        self.hidden = nn.Linear(4 * HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, 1)
        self.dropout = nn.Dropout(0.3)

    def forward(self, frames: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` [batch, n]: 1 where there is sound (examples shorter than the others are filled up at the front)."""
        x = F.gelu(self.inward(self.dropout(self.norm(frames))))
        x = x if mask is None else x * mask[..., None]
        x = x.transpose(1, 2)
        x = F.gelu(self.near(x)) + x
        x = x if mask is None else x * mask[:, None]
        x = (F.gelu(self.far(x)) + x).transpose(1, 2)
        scores = self.attention(x) + self.distance[SPAN - frames.shape[1] :]
        if mask is not None:
            scores = scores.masked_fill(mask[..., None] == 0, -1e4)
        pooled = (scores.softmax(1).transpose(1, 2) @ x).flatten(1)
        return self.out(self.dropout(F.gelu(self.hidden(self.dropout(pooled)))))[:, 0]


@dataclass
class Examples:
    """What `collect` wrote."""

    frames: Tensor
    mask: Tensor
    over: Tensor
    inserted: np.ndarray
    words: np.ndarray

    @classmethod
    def read(cls, *paths: Path) -> "Examples":
        """From one OUT.npz or several."""
        files = [np.load(path) for path in paths]
        data = {name: np.concatenate([file[name] for file in files]) for name in files[0].files}
        mask = np.arange(SPAN)[None] >= SPAN - data["lengths"][:, None]
        return cls(
            torch.from_numpy(data["frames"]),
            torch.from_numpy(mask.astype(np.float32)),
            torch.from_numpy(data["over"].astype(np.float32)),
            data["inserted"],
            data["words"],
        )


@torch.no_grad()
def logits(net: TurnEndNet, examples: Examples) -> np.ndarray:
    """Of all examples."""
    net.eval()
    parts = range(0, len(examples.over), 512)
    return torch.cat([net(examples.frames[i : i + 512].float(), examples.mask[i : i + 512]) for i in parts]).numpy()


def auc(scores: np.ndarray, over: np.ndarray) -> float:
    """Area under the ROC curve; not a number where one kind is missing."""
    if over.min() == over.max():
        return float("nan")
    order = scores.argsort().argsort() + 1
    positive = over > 0.5
    count = int(positive.sum())
    return float((order[positive].sum() - count * (count + 1) / 2) / (count * (len(over) - count)))


def report(net: TurnEndNet, examples: Examples) -> str:
    """AUC over all, over put-in pauses and over the readers' own."""
    scores, over = logits(net, examples), examples.over.numpy()
    ends = over > 0.5
    rows = {"all": np.ones_like(ends), "put in": examples.inserted | ends, "own": ~examples.inserted}
    shares = {name: auc(scores[rows_], over[rows_]) for name, rows_ in rows.items()}
    return "  ".join(f"{name} {share:.3f}" for name, share in shares.items())


def train(arguments: argparse.Namespace) -> None:
    """Train, choose nothing by the development set, export."""
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    examples, dev = Examples.read(*arguments.examples), Examples.read(arguments.dev)
    net = TurnEndNet()
    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998))
    optimizer = torch.optim.AdamW(net.parameters(), 2e-3, weight_decay=0.05)
    steps = arguments.epochs * (len(examples.over) // arguments.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps + 1)
    # Both kinds weigh the same: how often people pause is not how often these recordings do.
    weight = (len(examples.over) - examples.over.sum()) / examples.over.sum()
    for epoch in range(arguments.epochs):
        net.train()
        total = 0.0
        for part in torch.randperm(len(examples.over)).split(arguments.batch):
            if len(part) < arguments.batch:
                continue
            mask, target = examples.mask[part].clone(), examples.over[part] * 0.96 + 0.02
            # Sometimes less of the past is there, as in a short utterance.
            for row in (torch.rand(len(part)) < 0.2).nonzero()[:, 0]:
                mask[row, : int(torch.randint(0, SPAN - 30, (1,)))] = 0
            frames = examples.frames[part].float() * mask[..., None]
            loss = F.binary_cross_entropy_with_logits(net(frames, mask), target, pos_weight=weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            average.update_parameters(net)
            total += float(loss.detach())
        print(
            epoch, f"loss {total * arguments.batch / len(examples.over):.4f}", report(average.module, dev), flush=True
        )
    export(average.module, arguments.out)


def export(net: TurnEndNet, path: Path) -> None:
    """As ONNX, any number of frames up to SPAN."""
    torch.onnx.export(
        net.eval(),
        (torch.zeros(1, SPAN - 7, WIDTH),),
        str(path),
        input_names=["frames"],
        output_names=["logit"],
        dynamic_axes={"frames": {1: "n"}},
        opset_version=17,
        dynamo=False,
    )


def fuse(arguments: argparse.Namespace) -> None:
    """Print what `edgevoice.dialog.endpoint` needs: logistic regressions on the log odds of sound and words."""
    examples, network = Examples.read(arguments.examples), TurnEnd(arguments.model)
    generator = build_generator(Settings())
    generator.load()
    chosen = np.random.default_rng(0).permutation(len(examples.over))[: arguments.most]
    rows, over = [], examples.over.numpy()[chosen] > 0.5
    for index in chosen:
        frames = examples.frames[index][examples.mask[index] > 0].float().numpy()
        generator.prefill((), plain_words(str(examples.words[index])))
        rows.append((log_odds(network.probability(frames)), log_odds(generator.completeness())))
    known = np.array(rows)
    put_in = examples.inserted[chosen]
    for name, columns in (("sound", [0]), ("words", [1]), ("together", [0, 1])):
        weights = logistic(known[:, columns], over)
        scores = known[:, columns] @ weights[1:] + weights[0]
        shares = [auc(scores[kept], over[kept]) for kept in (put_in | over, ~put_in)]
        print(f"{name}: {np.round(weights, 3)}  AUC over put-in pauses {shares[0]:.3f}, over own {shares[1]:.3f}")
        for level in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
            sure = scores > np.log(level / (1 - level))
            print(
                f"   above {level}: {sure[over].mean():.2f} of the ends, {sure[put_in].mean():.3f} of the put-in pauses, "
                f"{sure[~over & ~put_in].mean():.3f} of the own ones"
            )


def logistic(inputs: np.ndarray, over: np.ndarray) -> np.ndarray:
    """Bias and weights; ends and inner pauses weigh the same."""
    x = torch.from_numpy(np.column_stack([np.ones(len(inputs)), inputs]))
    target = torch.from_numpy(over.astype(np.float64))
    weight = torch.where(target > 0.5, 0.5 / target.mean(), 0.5 / (1 - target.mean()))
    weights = torch.zeros(x.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = F.binary_cross_entropy_with_logits(x @ weights, target, weight)
        value.backward()
        return value

    optimizer.step(loss)
    return weights.detach().numpy()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("examples")
    one.add_argument("sources", type=Path, nargs="+")
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--held-out", action="store_true", help="the speakers that were kept out of training")
    one.add_argument("--versions", type=int, default=3, help="of each recording: as it is, and with pauses put in")
    one.add_argument("--most", type=int, default=100_000, help="recordings of each source")
    one.add_argument("--seed", type=int, default=0)
    two = verbs.add_parser("train")
    two.add_argument("examples", type=Path, nargs="+")
    two.add_argument("--dev", type=Path, required=True)
    two.add_argument("--out", type=Path, required=True)
    two.add_argument("--epochs", type=int, default=5)
    two.add_argument("--batch", type=int, default=64)
    two.add_argument("--threads", type=int, default=1)
    two.add_argument("--seed", type=int, default=0)
    three = verbs.add_parser("fuse")
    three.add_argument("examples", type=Path)
    three.add_argument("--model", type=Path, required=True)
    three.add_argument("--most", type=int, default=2500)
    arguments = parser.parse_args()
    if arguments.verb == "train":
        train(arguments)
    elif arguments.verb == "fuse":
        fuse(arguments)
    else:
        collect(
            arguments.sources, arguments.out, arguments.held_out, arguments.versions, arguments.most, arguments.seed
        )


if __name__ == "__main__":
    main()
