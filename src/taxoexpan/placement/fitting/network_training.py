"""Training a network on one taxonomy, validated by ranking held-out concepts."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from taxoexpan.config import Config
from taxoexpan.device import release_memory
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.training.checkpoint import Checkpoint
from taxoexpan.training.continuation import News
from taxoexpan.training.log import SILENT, TrainingLog
from taxoexpan.training.loop import train
from taxoexpan.training.metrics import TIES, Metrics, compute_metrics
from taxoexpan.training.record import History
from taxoexpan.training.sampling import TrainingSampler


@dataclass(frozen=True)
class TrainingData:
    """The taxonomy to learn from, as anchors, and the held-out queries to validate on.

    `mentions` are those of the taxonomy's concepts, for a network that uses them. `news` are given
    if the network was trained before, and continues from its weights.
    """

    anchors: Anchors
    validation: LabeledQueries
    mentions: Mentions | None = None
    news: News | None = None


def train_network(
    network: MatchingNetwork,
    data: TrainingData,
    config: Config,
    seed: int,
    log: TrainingLog = SILENT,
    checkpoint: Checkpoint | None = None,
) -> History:
    """Draw the weights and train on the device of the vectors; the caller's rng is left as it was.

    With news, the weights of the network are kept, and trained further. The same seed on the same
    machine gives the same weights.
    """
    vectors = data.anchors.vectors
    if data.news is None:
        network.reset(torch.Generator().manual_seed(seed))
    network.to(vectors.device)
    sampler = TrainingSampler(data.anchors.taxonomy, config, seed, data.mentions, data.news)

    def validate(network: MatchingNetwork) -> Metrics:
        return compute_metrics(Ranker(network, data.anchors).true_ranks(data.validation, TIES))

    keep_best = data.news is None or data.news.recipe.keep_best
    validation = validate if len(data.validation) and keep_best else None
    gpus = [vectors.device] if vectors.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(seed)
        history = train(network, vectors, sampler, validation, config, log, checkpoint)
    release_memory()
    return history
