"""Train the streaming recogniser in stages; resumes by itself from OUT/last.pt.

    python -m scripts.asr.train --stage A --packed PACKED --corpus CORPUS --whisper model.bin --out RUN_A --minutes 60
    python -m scripts.asr.train --stage B --init RUN_A/last.pt --packed PACKED … --out RUN_B --minutes 60 --lr 3e-4

A: Whisper's encoder is frozen and hears the whole segment; only the new layers and the heads learn.
B: the encoder learns to give the same frames under the chunk mask (mean squared error to the frozen original) while CTC
   goes on. Its rate stays small: the whole encoder at 3e-4 forgets what Whisper knows about speakers and noise.
C: the encoder of an earlier run (`--encoder-from`) is frozen and hears under the chunk mask; the rest learns.
   A step costs a third of one of stage B, and may follow it.
Progress goes to OUT/log.jsonl, one object a line.
"""

import argparse
import signal
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from scripts.asr.augment import Augmentation
from scripts.asr.dataset import Mixture, TrainingStream
from scripts.asr.evaluate import Example, load_sets, measure, torch_log_probs
from scripts.asr.model import Encoder
from scripts.asr.trainer import Plan, Trainer, build_model
from scripts.asr.whisper_weights import load_whisper


@dataclass(frozen=True)
class Watch:
    """How often to save and to look at the development sets."""

    save_minutes: float
    saves_per_evaluation: int
    sets: dict[str, list[Example]]


def run(trainer: Trainer, stream: TrainingStream, watch: Watch) -> None:
    """Train until the plan's time is over or SIGTERM comes."""
    plan, progress = trainer.plan, trainer.progress
    loader = iter(DataLoader(stream, batch_size=None, num_workers=1, prefetch_factor=8, worker_init_fn=_as_worker))
    next_save, saves = progress.seconds + 60 * watch.save_minutes, 0
    waited, shown_audio = 0.0, progress.audio_seconds
    shown_at = last = time.monotonic()
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    while progress.seconds < 60 * plan.minutes and not stopping.is_set():
        asked = time.monotonic()
        batch = next(loader)
        waited += time.monotonic() - asked
        progress.smooth(trainer.train_step(batch))
        now = time.monotonic()
        progress.seconds += now - last
        last = now
        if progress.step % 50 == 0:
            speed = (progress.audio_seconds - shown_audio) / (now - shown_at)
            losses = {name: round(value, 4) for name, value in progress.losses.items()}
            trainer.log(loss=losses, audio_per_second=round(speed), waiting=round(waited / (now - shown_at), 2))
            shown_audio, shown_at, waited = progress.audio_seconds, now, 0.0
        if progress.seconds >= next_save:
            trainer.save()
            next_save, saves = progress.seconds + 60 * watch.save_minutes, saves + 1
            if watch.sets and saves % watch.saves_per_evaluation == 0:
                trainer.log(dev=evaluate(trainer, watch.sets))
            last = time.monotonic()
    trainer.save()
    if not stopping.is_set():
        trainer.save(f"stage_{plan.stage.lower()}.pt")
        trainer.log(dev=evaluate(trainer, watch.sets))


def evaluate(trainer: Trainer, sets: dict[str, list[Example]]) -> dict[str, dict[str, float]]:
    """Phone error of the averaged model by set: whole segment and chunk 16."""
    log_probs = torch_log_probs(trainer.averaged_model(), chunked_encoder=trainer.plan.stage != "A")
    return {
        name: {str(chunk): round(measure(log_probs, rows, chunk).per, 2) for chunk in (0, 16)}
        for name, rows in sets.items()
    }


def _as_worker(_: int) -> None:
    torch.set_num_threads(1)
    # A service manager signals the whole group: the trainer still wants a batch before it saves, and ends its worker itself.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", choices=("A", "B", "C"), required=True)
    parser.add_argument("--packed", type=Path, nargs="+", required=True, help="files made by scripts.asr.data prepare")
    parser.add_argument(
        "--weights", nargs="*", default=[], metavar="SOURCE=W", help="how often a source comes in one pass"
    )
    parser.add_argument(
        "--corpus", type=Path, required=True, help="folder with dev/ and train/ for the development sets"
    )
    parser.add_argument("--whisper", type=Path, required=True, help="CTranslate2 model.bin of Whisper tiny.en")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--init", type=Path, help="checkpoint whose new layers and heads to start from (its running average)"
    )
    parser.add_argument(
        "--encoder-from",
        type=Path,
        help="checkpoint whose encoder to start from; default: Whisper's own (always so in stage A)",
    )
    parser.add_argument(
        "--minutes", type=float, required=True, help="training time in all, earlier runs of this stage included"
    )
    parser.add_argument("--lr", type=float, default=8e-4)
    parser.add_argument("--encoder-lr", type=float, default=1e-4)
    parser.add_argument("--distillation", type=float, default=1.0)
    parser.add_argument("--warm-up", type=int, default=200, help="steps")
    parser.add_argument("--decay-from", type=float, default=0.6)
    parser.add_argument("--batch-seconds", type=float, default=100)
    parser.add_argument("--new-layers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save-every", type=float, default=8, help="minutes between checkpoints")
    parser.add_argument(
        "--evaluate-every", type=int, default=2, help="checkpoints from one evaluation to the next; 0: none"
    )
    parser.add_argument("--dev-limit", type=int, default=60, help="utterances of each development set")
    return parser.parse_args()


def main() -> None:
    """The command line."""
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    plan = Plan(
        stage=arguments.stage,
        minutes=arguments.minutes,
        lr=arguments.lr,
        encoder_lr=arguments.encoder_lr,
        distillation=arguments.distillation,
        decay_from=arguments.decay_from,
        warm_up=arguments.warm_up,
    )
    original = Encoder()
    load_whisper(original, arguments.whisper)
    encoder_from = arguments.encoder_from if arguments.stage != "A" else None
    model = build_model(original, arguments.new_layers, arguments.init, encoder_from)
    arguments.out.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(plan, model, original, arguments.out)
    resumed = trainer.resume()
    trainer.log(
        resumed=resumed, plan=asdict(plan), packed=[str(path) for path in arguments.packed], weights=arguments.weights
    )
    weights = {source: float(weight) for source, _, weight in (entry.partition("=") for entry in arguments.weights)}
    mixture = Mixture(weights=weights, batch_seconds=arguments.batch_seconds)
    stream = TrainingStream(arguments.packed, mixture, Augmentation(), seed=trainer.progress.step)
    sets = load_sets(arguments.corpus, arguments.dev_limit) if arguments.evaluate_every else {}
    run(trainer, stream, Watch(arguments.save_every, arguments.evaluate_every, sets))


if __name__ == "__main__":
    main()
