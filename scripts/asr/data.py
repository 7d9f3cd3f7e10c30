"""Recordings for training: manifests, what is held out, and one packed file of samples.

    python -m scripts.asr.data prepare CORPUS/train/* --out PACKED [--held-out scripts/asr/held_out.json]

A source is a folder with `manifest.jsonl` (`audio`, `text`, `speaker`, `seconds`). `prepare` decodes every recording
once to 16 kHz int16 and writes `PACKED.i16` (all samples, one after the other) and `PACKED.jsonl` (one row an
utterance), so that training reads no codec.
"""

import argparse
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr

from edgevoice.asr.recognizer import SAMPLE_RATE
from scripts.asr.text import character_ids, phone_ids

HELD_OUT = Path(__file__).with_name("held_out.json")


@dataclass(frozen=True)
class Utterance:
    """One row of a packed corpus. `start` and `length` count samples in the packed file."""

    source: str
    speaker: str
    text: str
    start: int
    length: int
    characters: tuple[int, ...]
    phones: tuple[int, ...]

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.length / SAMPLE_RATE


def read_manifest(source: Path) -> list[dict]:
    """The rows of a source, each with its `source` and the `path` of its recording."""
    with open(source / "manifest.jsonl", encoding="utf-8") as file:
        return [
            json.loads(line) | {"source": source.name, "path": str(source / json.loads(line)["audio"])} for line in file
        ]


def read_audio(path: str | Path) -> np.ndarray:
    """Mono float32 in [-1, 1] at 16 kHz, [samples]."""
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    mono = samples.mean(axis=1)
    return mono if rate == SAMPLE_RATE else soxr.resample(mono, rate, SAMPLE_RATE)


def choose_held_out(rows: Iterable[dict], shares: dict[str, float]) -> dict[str, list[str]]:
    """Speakers kept out of training: per source the share (0-1) of its known speakers whose name hashes lowest."""
    chosen: dict[str, set[str]] = {}
    for row in rows:
        digest = int(hashlib.sha256(row["speaker"].encode()).hexdigest()[:8], 16) / 2**32
        if row["speaker"] != "unknown" and digest < shares.get(row["source"], 0.0):
            chosen.setdefault(row["source"], set()).add(row["speaker"])
    return {source: sorted(speakers) for source, speakers in sorted(chosen.items())}


def load_held_out(path: Path = HELD_OUT) -> dict[str, set[str]]:
    """{source: speakers that training must not hear}."""
    if not path.exists():
        return {}
    return {source: set(speakers) for source, speakers in json.loads(path.read_text(encoding="utf-8")).items()}


def is_held_out(row: dict, held_out: dict[str, set[str]]) -> bool:
    """Whether the row's speaker is kept for development."""
    return row["speaker"] in held_out.get(row["source"], ())


def pack(sources: Iterable[Path], out: Path, held_out: dict[str, set[str]], longest: float = 20.0) -> int:
    """Decode all recordings of 0.4 s to `longest` s that are not held out; returns the number of utterances."""
    position = count = 0
    with (
        open(out.with_suffix(".i16"), "wb") as samples_file,
        open(out.with_suffix(".jsonl"), "w", encoding="utf-8") as index,
    ):
        for row in (row for source in sources for row in read_manifest(source)):
            if is_held_out(row, held_out) or not 0.4 < row["seconds"] < longest:
                continue
            samples = np.clip(np.rint(read_audio(row["path"]) * 32767), -32768, 32767).astype(np.int16)
            samples_file.write(samples.tobytes())
            utterance = Utterance(
                source=row["source"],
                speaker=row["speaker"],
                text=row["text"],
                start=position,
                length=len(samples),
                characters=tuple(character_ids(row["text"])),
                phones=tuple(phone_ids(row["text"])),
            )
            index.write(json.dumps(asdict(utterance)) + "\n")
            position += len(samples)
            count += 1
    return count


class PackedCorpus:
    """The utterances of one packed file; samples stay on disk (memory-mapped) until asked for."""

    def __init__(self, path: Path):
        with open(path.with_suffix(".jsonl"), encoding="utf-8") as file:
            self.utterances = [_utterance(json.loads(line)) for line in file]
        self._samples = np.memmap(path.with_suffix(".i16"), dtype=np.int16, mode="r")

    def audio(self, utterance: Utterance) -> np.ndarray:
        """float32 in [-1, 1], [samples]."""
        stretch = self._samples[utterance.start : utterance.start + utterance.length]
        return stretch.astype(np.float32) / np.float32(32768)


def _utterance(row: dict) -> Utterance:
    return Utterance(**{**row, "characters": tuple(row["characters"]), "phones": tuple(row["phones"])})


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    prepare = verbs.add_parser("prepare", help="decode recordings into one packed file")
    prepare.add_argument("sources", nargs="+", type=Path)
    prepare.add_argument("--out", type=Path, required=True)
    prepare.add_argument("--held-out", type=Path, default=HELD_OUT)
    hold_out = verbs.add_parser("hold-out", help="choose speakers to keep out of training")
    hold_out.add_argument("sources", nargs="+", type=Path)
    hold_out.add_argument("--share", type=float, required=True, help="share of the speakers, 0-1")
    listing = verbs.add_parser("held-out", help="print a manifest of the kept recordings, for `edgevoice eval asr`")
    listing.add_argument("sources", nargs="+", type=Path)
    listing.add_argument("--held-out", type=Path, default=HELD_OUT)
    arguments = parser.parse_args()
    if arguments.verb == "held-out":
        kept = load_held_out(arguments.held_out)
        for row in (row for source in arguments.sources for row in read_manifest(source)):
            if is_held_out(row, kept):
                print(json.dumps(row | {"audio": str(Path(row["path"]).resolve())}))
    elif arguments.verb == "hold-out":
        rows = [row for source in arguments.sources for row in read_manifest(source)]
        shares = {source.name: arguments.share for source in arguments.sources}
        print(json.dumps(choose_held_out(rows, shares), indent=1))
    else:
        count = pack(arguments.sources, arguments.out, load_held_out(arguments.held_out))
        print(f"{count} utterances in {arguments.out.with_suffix('.i16')}")


if __name__ == "__main__":
    main()
