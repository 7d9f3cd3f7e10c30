"""Endless stream of augmented training batches."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from edgevoice.asr.features import features
from scripts.asr.augment import Augmentation, augment, mask_features, surround
from scripts.asr.data import SAMPLE_RATE, PackedCorpus, Utterance
from scripts.asr.noise import bank


@dataclass(frozen=True)
class Batch:
    """features [B, T, 80] float32, lengths [B] in feature frames, targets as label ids."""

    features: Tensor
    lengths: Tensor
    phones: list[list[int]]
    characters: list[list[int]]

    @property
    def seconds(self) -> float:
        """Audio in the batch, padding left out."""
        return float(self.lengths.sum()) / 100


@dataclass(frozen=True)
class Mixture:
    """What a pass over the data consists of."""

    weights: dict[str, float] = field(default_factory=dict)
    """How often a source's utterances come in one pass; sources not named: 1."""
    batch_seconds: float = 100.0
    join_below: float = 2.6
    """Utterances shorter than this (seconds) are often joined, with pauses, into groups of two to four."""
    join_chance: float = 0.6
    nothing_share: float = 0.02
    """Share of examples that are noise alone, with an empty transcript."""


Group = tuple[Utterance, ...]


class TrainingStream(IterableDataset[Batch]):
    """Batches without end; every worker process draws its own."""

    def __init__(self, corpora: list[Path], mixture: Mixture, augmentation: Augmentation, seed: int) -> None:
        self._paths, self._mixture, self._augmentation, self._seed = corpora, mixture, augmentation, seed

    def __iter__(self) -> Iterator[Batch]:
        worker = torch.utils.data.get_worker_info()
        self._rng = np.random.default_rng([self._seed, worker.id if worker else 0])
        self._corpora = [PackedCorpus(path) for path in self._paths]
        self._all = [(corpus, utterance) for corpus in self._corpora for utterance in corpus.utterances]
        self._corpus_of = {id(utterance): corpus for corpus, utterance in self._all}
        self._clips = bank(self._rng)
        while True:
            for groups in self._one_pass():
                yield self._batch(groups)

    def _one_pass(self) -> list[list[Group]]:
        """All groups of one pass, cut into batches of similar length, in random order."""
        rng, mixture = self._rng, self._mixture
        short, groups = [], []
        for _, utterance in self._all:
            weight = mixture.weights.get(utterance.source, 1.0)
            for _ in range(int(weight) + (rng.random() < weight % 1)):
                join = utterance.seconds < mixture.join_below and rng.random() < mixture.join_chance
                short.append(utterance) if join else groups.append((utterance,))
        rng.shuffle(short)
        while short:
            size = int(rng.integers(2, 5))
            groups.append(tuple(short[:size]))
            short = short[size:]
        groups += [()] * int(len(groups) * mixture.nothing_share)

        keyed = sorted(((_seconds(group) + rng.uniform(-0.5, 0.5), index) for index, group in enumerate(groups)))
        batches: list[list[Group]] = [[]]
        for seconds, index in keyed:
            if batches[-1] and (seconds + 0.7) * (len(batches[-1]) + 1) > mixture.batch_seconds:
                batches.append([])
            batches[-1].append(groups[index])
        rng.shuffle(batches)
        return batches

    def _batch(self, groups: list[Group]) -> Batch:
        rows = [(self._features(group), group) for group in groups]
        rows = [(x, group) for x, group in rows if len(x) // 2 > sum(len(u.characters) for u in group) + 2]
        features = np.zeros((len(rows), max(len(x) for x, _ in rows), rows[0][0].shape[1]), np.float32)
        for row, (x, _) in zip(features, rows, strict=True):
            row[: len(x)] = x
        return Batch(
            torch.from_numpy(features),
            torch.tensor([len(x) for x, _ in rows]),
            [[label for u in group for label in u.phones] for _, group in rows],
            [_joined_characters(group) for _, group in rows],
        )

    def _features(self, group: Group) -> np.ndarray:
        samples = augment(
            surround(self._audio(group), self._rng), self._rng, self._clips, self._talker, self._augmentation
        )
        return mask_features(features(samples), self._rng, self._augmentation)

    def _audio(self, group: Group) -> np.ndarray:
        if not group:
            clip = self._clips[self._rng.integers(len(self._clips))]
            quiet = np.float32(10 ** self._rng.uniform(-4, -1))
            return np.roll(clip, self._rng.integers(len(clip)))[: int(self._rng.uniform(1, 6) * SAMPLE_RATE)] * quiet
        pieces = []
        for utterance in group:
            samples = self._corpus_of[id(utterance)].audio(utterance)
            loudness = np.sqrt(np.mean(samples**2)) + 1e-4
            pieces += [samples if len(group) == 1 else samples * np.float32(0.05 / loudness)]
            pieces += [np.zeros(int(self._rng.uniform(0, 0.4) * SAMPLE_RATE), np.float32)]
        return np.concatenate(pieces[:-1])

    def _talker(self) -> np.ndarray:
        corpus, utterance = self._all[self._rng.integers(len(self._all))]
        return corpus.audio(utterance)


def _seconds(group: Group) -> float:
    return sum(utterance.seconds for utterance in group) + 0.2 * max(0, len(group) - 1) if group else 3.5


def _joined_characters(group: Group) -> list[int]:
    labels: list[int] = []
    for utterance in group:
        labels += ([1] if labels else []) + list(utterance.characters)
    return labels
