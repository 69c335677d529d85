"""The steps around the training of a model: prepare the data, then calibrate the result."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.device import release_memory
from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.features.embedding import names_of, refuse_unknown
from taxoexpan.features.encoder_registry import transformer_of
from taxoexpan.files import refuse_overwriting
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.network.text_tower import TextTower, query_text
from taxoexpan.placement.abstention import learn_abstention
from taxoexpan.placement.calibration import (
    calibrate,
    join_scores,
    score_held_out,
    score_held_out_by_fold,
)
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.duplicates import DuplicateDetector
from taxoexpan.placement.embedder import Embedder
from taxoexpan.placement.fusion_learning import (
    collect_examples,
    fold_of,
    learn_fusion,
    prior_for,
)
from taxoexpan.placement.leaf_bonus import learn_leaf_bonus
from taxoexpan.placement.network_training import TrainingData
from taxoexpan.placement.pair_features import AnchorTexts
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.placement.signal_fusion import FusionExamples, SignalFusion
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.checkpoint import Checkpoint
from taxoexpan.training.distributed import ALONE, Processes
from taxoexpan.training.holdout import HOLDOUTS, Holdout
from taxoexpan.training.metrics import TIES, Metrics, compute_metrics, rank_true_parents
from taxoexpan.training.tensorboard import check_tensorboard
from taxoexpan.training.tower_training import TowerHistory, train_tower

if TYPE_CHECKING:
    from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder

VALIDATION_BLOCK = 256
"""Held-out concepts that are ranked at a time while the tower is fine-tuned."""


@dataclass(frozen=True)
class AddedQueries:
    """Concepts that were added to the taxonomy after a model was trained, as queries to that model.

    It has not seen them, so they tell how it ranks real additions. `rejected` are the anchors that
    were rejected as parents of each query, and `weight` how much a query counts, compared with a
    held-out one.
    """

    ranker: Ranker
    queries: LabeledQueries
    rejected: Sequence[Indices]
    weight: float = 1.0


@dataclass(frozen=True)
class EarlierModel:
    """The model from which a training continues, and how it ranks the concepts added since."""

    network: MatchingNetwork
    tower: TextTower | None
    calibrators: Calibrators
    added: AddedQueries | None = None


@dataclass(frozen=True)
class PreparedTaxonomy:
    """A taxonomy with its vectors, and the part of it that the network learns from.

    Args:
        taxonomy: the taxonomy, N concepts.
        stored: the vectors of all concepts. Those that the network learns from come first, so that
            `data` has no copy of them.
        rows: the row of each concept in `stored` [N].
        holdout: the held-out concepts and the remaining taxonomy.
        data: the data of the training.
        held_out_as_growth: whether the validation queries were held out in the way in which
            taxonomies grow, so that a leaf bonus can be learned from them.
        start: the model from which the training continues, if it continues that of an earlier one.
    """

    taxonomy: Taxonomy
    stored: ConceptVectors
    rows: Tensor
    holdout: Holdout
    data: TrainingData
    held_out_as_growth: bool
    start: EarlierModel | None = None

    def vectors(self) -> ConceptVectors:
        """Return a copy of the vectors of all concepts in the order of the taxonomy."""
        return self.stored.reordered(self.rows)


def prepare_taxonomy(
    taxonomy: Taxonomy,
    embedder: Embedder,
    seed: int,
    holdout: Holdout | None = None,
    expected: Sequence[Concept] = (),
) -> PreparedTaxonomy:
    """Hold out some leaves (or use `holdout`), and embed all concepts.

    The encoder also learns the names of the `expected` concepts, if it learns any.
    """
    c, encoder, active = embedder.config, embedder.encoder, taxonomy.active
    as_growth = holdout is None and c.validation == "growth"
    if holdout is None:
        hold_out = HOLDOUTS[c.validation]
        holdout = hold_out(active, c.validation_fraction, c.max_validation_leaves, seed)
    encoder.learn(names_of(chain(taxonomy.concepts, holdout.concepts, expected)))
    return embed_holdout(taxonomy, embedder, holdout, as_growth)


def embed_holdout(
    taxonomy: Taxonomy, embedder: Embedder, holdout: Holdout, as_growth: bool
) -> PreparedTaxonomy:
    """Embed all concepts of a taxonomy, and those that are held out of it."""
    c, both = embedder.config, embedder.array(taxonomy.concepts)
    refuse_unknown(both, c.features)
    order = _remaining_first(taxonomy, holdout.taxonomy)
    stored = ConceptVectors.of(torch.from_numpy(both)).reordered(order).placed(embedder.device)
    lexicon, mentions = embedder.lexicon(holdout.taxonomy), None
    if lexicon is not None:
        mentions = lexicon.mentions(holdout.taxonomy.concepts, exclude_self=True)
    anchors = Anchors(holdout.taxonomy, stored.first(len(holdout.taxonomy)), c.max_siblings)
    queries = embedder.labeled_queries(holdout, lexicon).to(stored.storage)
    data = TrainingData(anchors, queries, mentions)
    del both
    release_memory()
    rows = order.argsort().to(stored.storage)
    return PreparedTaxonomy(taxonomy, stored, rows, holdout, data, as_growth)


def _remaining_first(taxonomy: Taxonomy, remaining: Taxonomy) -> Tensor:
    """Return the indices of the remaining concepts, in their order, and then of all others: [N]."""
    kept = np.array([taxonomy.index(id) for id in remaining], dtype=np.int64)
    return torch.from_numpy(np.concatenate([kept, np.setdiff1d(np.arange(len(taxonomy)), kept)]))


def transformer_to_tune(embedder: Embedder) -> TransformerEncoder | None:
    """Return the sentence transformer that the settings ask to fine-tune, if there is one."""
    wanted = embedder.config.tower_epochs and embedder.config.learn_fusion
    return transformer_of(embedder.encoder) if wanted else None


def fine_tune(
    prepared: PreparedTaxonomy,
    embedder: Embedder,
    seed: int,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    processes: Processes = ALONE,
) -> tuple[TextTower, TowerHistory] | None:
    """Fine-tune the sentence transformer of the encoder, if it has one, on the remaining taxonomy.

    The best epoch is the one that ranks the held-out concepts best.
    """
    transformer, start = transformer_to_tune(embedder), prepared.start
    if start is not None:
        transformer = None if start.tower is None else transformer_of(embedder.encoder)
    if transformer is None:
        return None
    tower, holdout = _initial_tower(transformer, start), prepared.holdout
    tower.to(embedder.device)
    embedder.encoder.unload()  # the fine-tuning needs the most memory
    gc.collect()  # models have reference cycles
    texts, news = [query_text(concept) for concept in holdout.concepts], prepared.data.news

    def validate(tower: TextTower, anchors: Tensor) -> Metrics:
        ranks: list[NDArray[np.floating]] = []
        for start in range(0, len(texts), VALIDATION_BLOCK):
            stop = start + VALIDATION_BLOCK
            scores = anchors @ tower.encode(texts[start:stop]).T
            ranks += rank_true_parents(scores, holdout.parents[start:stop], TIES)
        return compute_metrics(ranks)

    history = train_tower(
        tower,
        holdout.taxonomy,
        embedder.config,
        seed,
        validate if texts and (news is None or news.recipe.keep_best) else None,
        progress,
        checkpoint,
        news,
        processes,
    )
    gc.collect()  # so have optimizers
    release_memory()
    return tower, history


def _initial_tower(transformer: TransformerEncoder, start: EarlierModel | None) -> TextTower:
    """Return a copy of the encoder's sentence transformer, with the weights of an earlier tower."""
    tower = TextTower(transformer.copy_model())
    if start is not None and start.tower is not None:
        tower.load_state_dict(start.tower.state_dict())
    return tower


def learn_calibrators(
    prepared: PreparedTaxonomy, network: MatchingNetwork, embedder: Embedder, seed: int
) -> tuple[Calibrators, Metrics | None]:
    """Learn the fusion, the confidence, the abstention and the detection of duplicates.

    Also return the metrics of the held-out concepts by the fusion, if there is one.
    """
    duplicates = _learn_duplicates(prepared, embedder, seed)
    queries = prepared.data.validation
    if embedder.config.learn_fusion:
        fused, metrics = _learn_fused_calibrators(prepared, network, embedder, seed)
        return replace(fused, duplicates=duplicates), metrics
    if not len(queries):
        return replace(_without_held_out(prepared, None), duplicates=duplicates), None
    ranker = Ranker(network, prepared.data.anchors)
    # Leaves that were held out one by one hardly ever have a leaf anchor as their parent.
    bonus = learn_leaf_bonus(ranker, queries) if prepared.held_out_as_growth else 0.0
    calibration = calibrate(score_held_out(ranker.with_leaf_bonus(bonus), queries), seed)
    abstention = learn_abstention(ranker, queries)
    return Calibrators(calibration, abstention, duplicates, leaf_bonus=bonus), None


def _learn_duplicates(
    prepared: PreparedTaxonomy, embedder: Embedder, seed: int
) -> tuple[float, ...] | None:
    """Return the weights of the detection of duplicates; None if there are too few synonyms."""
    names = prepared.vectors().names.cpu().numpy()

    def embed(concepts: Sequence[Concept]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = embedder.array(concepts)[0]
        return vectors

    detector = DuplicateDetector.learn(prepared.taxonomy, names, embed, seed)
    return None if detector is None else tuple(detector.weights.tolist())


def _learn_fused_calibrators(
    prepared: PreparedTaxonomy, network: MatchingNetwork, embedder: Embedder, seed: int
) -> tuple[Calibrators, Metrics | None]:
    """Learn the fusion, and then the confidence and the abstention by the fused scores.

    The scores behind the confidence and the metrics are by weights fitted to other concepts. In a
    continued training, the concepts that were added since also count.
    """
    remaining, data = prepared.holdout.taxonomy, prepared.data
    texts = AnchorTexts.of(remaining, embedder.tower).to(data.anchors.vectors.storage)
    anchors = Anchors(remaining, data.anchors.vectors, data.anchors.siblings, texts=texts)
    ranker, queries = Ranker(network, anchors), data.validation
    added = None if prepared.start is None else prepared.start.added
    if not len(queries):
        return _without_held_out(prepared, prior_for(ranker)), None
    if embedder.tower is not None:
        described = [query_text(concept) for concept in queries.concepts]
        encoded = embedder.tower.encode(described).to(queries.vectors.device)
        queries = replace(queries, tower=encoded)
    examples = collect_examples(ranker, queries, seed)
    release_memory()
    fusion, *by_fold = _learn_weights(examples, added, prior_for(ranker), embedder.device, seed)
    folds = fold_of(len(queries) + (0 if added is None else len(added.queries)))
    held_out = score_held_out_by_fold(ranker, queries, by_fold, folds[: len(queries)])
    metrics = compute_metrics(held_out.ranks)
    if added is not None:
        theirs = folds[len(queries) :]
        scores = score_held_out_by_fold(added.ranker, added.queries, by_fold, theirs)
        held_out = join_scores(held_out, scores)
    release_memory()
    abstention = learn_abstention(ranker.with_fusion(fusion), queries)
    return Calibrators(calibrate(held_out, seed), abstention, fusion=fusion), metrics


def _learn_weights(
    examples: FusionExamples,
    added: AddedQueries | None,
    prior: SignalFusion,
    device: torch.device,
    seed: int,
) -> list[SignalFusion]:
    """Learn the weights of the fusion from held-out concepts, and from added ones."""
    if added is None:
        return learn_fusion(examples, prior, device)
    theirs = collect_examples(added.ranker, added.queries, seed, added.rejected)
    both = FusionExamples.concatenate([examples, theirs.weighted(added.weight)])
    return learn_fusion(both, prior, device)


def _without_held_out(prepared: PreparedTaxonomy, prior: SignalFusion | None) -> Calibrators:
    """Return what the earlier model has learned, or only the prior of the fusion."""
    if prepared.start is None:
        return Calibrators(fusion=prior)
    return replace(prepared.start.calibrators, joint_priors=None)


def check_inputs(taxonomy: Taxonomy, log: Path | None, tensorboard: Path | None) -> None:
    """Refuse what no model can be fitted to, and outputs that cannot be written."""
    if not isinstance(taxonomy, Taxonomy):
        message = f"fit needs a Taxonomy, not {taxonomy!r}; Taxonomy.read reads one from a file"
        raise ConfigurationError(message)
    if log:
        refuse_overwriting(log, force=True)  # a log is appended to
    refuse_too_small(taxonomy.active)
    if tensorboard:
        check_tensorboard(tensorboard)


def refuse_too_small(taxonomy: Taxonomy) -> None:
    """Refuse a taxonomy that is too small to learn from."""
    if len(taxonomy.relations) < 2 or len(taxonomy) < 3:
        raise ModelError(
            f"too little to learn from: {len(taxonomy)} concept(s) and {len(taxonomy.relations)} "
            "relation(s); a model needs at least 3 concepts and 2 relations, and 200 or more for "
            "good results"
        )
