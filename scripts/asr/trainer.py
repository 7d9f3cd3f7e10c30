"""One stage of training: the plan, the step, and the state on disk."""

import json
import os
import random
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scripts.asr.dataset import Batch
from scripts.asr.evaluate import load_checkpoint
from scripts.asr.model import Encoder, Recogniser, attention_mask, frame_counts


@dataclass(frozen=True)
class Plan:
    """One stage of training."""

    stage: str
    minutes: float
    lr: float = 8e-4
    encoder_lr: float = 1e-4
    distillation: float = 1.0
    """Weight of the mean squared error to the original encoder's frames (stage B)."""
    distil_every: int = 2
    """Steps; between them the original encoder need not run. The character loss, as dear, has its turn then."""
    character_share: float = 0.2
    dropout: float = 0.1
    """Of the encoder's frames on their way into the new layers."""
    warm_up: int = 200
    decay_from: float = 0.6
    """Share of the time after which the rate falls linearly to a twentieth."""
    average_decay: float = 0.999
    clip: float = 1.0
    chunks: tuple[int, ...] = (8, 16, 16, 32)
    """Drawn for each batch that is not heard as a whole."""
    whole_share: tuple[float, float] = (0.5, 0.15)
    """Share of batches heard as a whole: of up to `whole_frames` frames, and longer (attention costs their square)."""
    whole_frames: int = 400
    character_every: int = 2
    """Steps from one character loss to the next."""
    average_every: int = 5

    def rate(self, step: int, progress: float) -> float:
        """Factor on the learning rates after `step` steps and a share `progress` of the time."""
        falling = max(0.05, min(1.0, 1 - 0.95 * (progress - self.decay_from) / (1 - self.decay_from)))
        return min(1.0, (step + 1) / self.warm_up) * falling


@dataclass
class Progress:
    """How far a stage has come; `losses` are smoothed."""

    step: int = 0
    seconds: float = 0.0
    audio_seconds: float = 0.0
    losses: dict[str, float] = field(default_factory=dict)

    def smooth(self, losses: dict[str, float]) -> None:
        """Take in the losses of one step."""
        for name, value in losses.items():
            self.losses[name] = 0.98 * self.losses.get(name, value) + 0.02 * value


class Trainer:
    """Model, running average, optimiser and their state on disk."""

    def __init__(self, plan: Plan, model: Recogniser, original: Encoder, out: Path) -> None:
        self.plan, self.model, self.out = plan, model, out
        if plan.stage == "C":
            original.load_state_dict(model.encoder.state_dict())
        self.original = original.bfloat16().eval().requires_grad_(False)
        model.encoder.requires_grad_(plan.stage == "B")
        for convolution in (model.encoder.conv1, model.encoder.conv2):  # no mask touches them: nothing to learn anew
            convolution.requires_grad_(False)
        groups = [{"params": [p for n, p in model.named_parameters() if not n.startswith("encoder.")], "base": plan.lr}]
        if plan.stage == "B":
            groups.append(
                {"params": [p for p in model.encoder.parameters() if p.requires_grad], "base": plan.encoder_lr}
            )
        self.optimiser = torch.optim.AdamW(groups, lr=plan.lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
        self.average = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        self.progress = Progress()
        self.dice = random.Random()

    def train_step(self, batch: Batch) -> dict[str, float]:
        """One step of the optimiser; the losses by name, weights included."""
        plan = self.plan
        scale = plan.rate(self.progress.step, self.progress.seconds / 60 / plan.minutes)
        for group in self.optimiser.param_groups:
            group["lr"] = group["base"] * scale
        losses = self.losses(batch, self.draw_chunk(batch))
        loss = sum(losses.values(), torch.zeros(()))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), plan.clip)
        if torch.isfinite(norm):
            self.optimiser.step()
            self._update_average()
        self.progress.step += 1
        self.progress.audio_seconds += batch.seconds
        return {name: value.item() for name, value in losses.items()}

    def draw_chunk(self, batch: Batch) -> int:
        """Chunk size for a batch; 0 is the whole segment."""
        plan = self.plan
        share = plan.whole_share[batch.features.shape[1] > 2 * plan.whole_frames]
        return 0 if self.dice.random() < share else self.dice.choice(plan.chunks)

    def losses(self, batch: Batch, chunk: int) -> dict[str, Tensor]:
        """Weighted losses of a batch under the mask of one chunk size."""
        counts = frame_counts(batch.lengths)
        frames = (batch.features.shape[1] + 1) // 2
        mask = attention_mask(frames, counts, chunk)
        plan, step = self.plan, self.progress.step
        distil = plan.stage == "B" and step % plan.distil_every == 0
        if plan.stage != "B" or distil:
            heard = mask if plan.stage == "C" else attention_mask(frames, counts, 0)
            with torch.no_grad():
                goal = self.original(batch.features.bfloat16(), heard)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            encoded = self.model.encoder(batch.features, mask) if plan.stage == "B" else goal
            phones, characters = self.model.heads(F.dropout(encoded, plan.dropout), mask)
        share = plan.character_share
        losses = {"phones": (1 - share) * ctc(phones, counts, batch.phones)}
        if step % plan.character_every == plan.character_every - 1:
            losses["characters"] = share * ctc(characters, counts, batch.characters)
        if distil:
            real = torch.arange(frames)[None] < counts[:, None]
            losses["frames"] = plan.distillation * F.mse_loss(encoded[real].float(), goal[real].float())
        return losses

    @torch.no_grad()
    def _update_average(self) -> None:
        every = self.plan.average_every
        if self.progress.step % every:
            return
        decay = min(self.plan.average_decay**every, (1 + self.progress.step) / (10 * every + self.progress.step))
        for name, parameter in self.model.named_parameters():
            if parameter.requires_grad:
                self.average[name].lerp_(parameter, 1 - decay)

    def averaged_model(self) -> Recogniser:
        """A model with the running average of the weights."""
        model = Recogniser(len(self.model.new_layers), len(self.model.encoder.layers))
        model.load_state_dict(self.average)
        return model.eval()

    def save(self, name: str = "last.pt") -> None:
        """Everything needed to go on; written whole or not at all."""
        self.out.mkdir(parents=True, exist_ok=True)
        state = {
            "model": self.model.state_dict(),
            "average": self.average,
            "optimiser": self.optimiser.state_dict(),
            "progress": asdict(self.progress),
            "plan": asdict(self.plan),
        }
        partial = self.out / (name + ".part")
        torch.save(state, partial)
        os.replace(partial, self.out / name)

    def resume(self) -> bool:
        """Go on from OUT/last.pt; False when there is none."""
        path = self.out / "last.pt"
        if not path.exists():
            return False
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.average = state["average"]
        bases = [group["base"] for group in self.optimiser.param_groups]
        self.optimiser.load_state_dict(state["optimiser"])
        for group, base in zip(self.optimiser.param_groups, bases, strict=True):
            group["base"] = base
        self.progress = Progress(**state["progress"])
        return True

    def log(self, **entry: Any) -> None:
        """Write an entry to OUT/log.jsonl and standard output."""
        entry = {
            "step": self.progress.step,
            "minutes": round(self.progress.seconds / 60, 2),
            "hours": round(self.progress.audio_seconds / 3600, 2),
        } | entry
        print(json.dumps(entry), flush=True)
        with open(self.out / "log.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def ctc(logits: Tensor, counts: Tensor, targets: list[list[int]]) -> Tensor:
    """Mean over utterances of CTC loss per label; utterances too long for their frames count nothing."""
    flat = torch.tensor([label for target in targets for label in target], dtype=torch.long)
    lengths = torch.tensor([len(target) for target in targets])
    log_probs = logits.float().log_softmax(-1).transpose(0, 1)
    return F.ctc_loss(log_probs, flat, counts, lengths, zero_infinity=True)


def build_model(original: Encoder, new_layers: int, init: Path | None, encoder_from: Path | None) -> Recogniser:
    """A model around Whisper's encoder or that of `encoder_from`; new layers and heads fresh or those of `init`.

    Where `init` has fewer new layers than asked for, the last ones start as identity.
    """
    model = Recogniser(new_layers)
    if init:
        learnt = {
            name: tensor
            for name, tensor in load_checkpoint(init).state_dict().items()
            if not name.startswith("encoder.")
        }
        model.load_state_dict(learnt, strict=False)
    encoder = load_checkpoint(encoder_from).encoder if encoder_from else original
    model.encoder.load_state_dict(encoder.state_dict())
    return model.train()
