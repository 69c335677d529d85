"""A taxonomy prepared for training: some concepts held out, and all concepts embedded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from taxoexpan.device import release_memory
from taxoexpan.errors import ModelError
from taxoexpan.features.embedding import head_word, names_of, refuse_unknown
from taxoexpan.features.mentions import Mentions
from taxoexpan.features.sentence_model import MAX_TOKENS
from taxoexpan.files import check_output
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import anchor_texts, query_text
from taxoexpan.option_declarations import check_type
from taxoexpan.placement.fitting.judged_taxonomy import JudgedTaxonomy
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.anchors import Anchors, Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.progress import Progress, Stage
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.training.continuation import ChangesSinceTraining, Recipe
from taxoexpan.training.holdout import HOLDOUTS, Holdout, hold_out
from taxoexpan.training.log import check_tensorboard

READ_IT = "read_taxonomy reads one from a file"
HOLD_OUT = "make one with hold_out or hold_out_leaves"
MIN_SHARED = 0.5
"""The fraction of the earlier model's concepts that the taxonomy must have."""
# CPU seconds of one thread on one machine; only their ratios matter.
ENCODING = 0.7e-3
LOOKUP = 1e-5
"""Of one token, with and without a sentence model."""
NETWORK = 0.57e-3
MAPS = 0.45e-3
"""Of one relation in one epoch."""
TUNING = 3
"""Of one epoch of fine-tuning, relative to the encoding of all texts."""
FROZEN = 0.6
"""Of the layers that a fine-tuning leaves as they are, relative to all layers."""
CALIBRATION = 0.01
COMPARISON = 2e-6
"""Of one held-out concept, and of its comparison with one anchor."""
SAMPLE_SIZE = 5_000
"""Concepts whose words are counted, at most about; the others are assumed to be like them."""


@dataclass(frozen=True)
class TrainingData:
    """Anchors to learn from and queries to validate on, and changes for a continued training."""

    anchors: Anchors
    validation: LabeledQueries
    mentions: Mentions | None = None
    changes: ChangesSinceTraining | None = None


@dataclass(frozen=True)
class AddedQueries:
    """Unseen concepts that were added after a model was trained, as queries to that model."""

    ranker: Ranker
    queries: LabeledQueries
    rejected: Sequence[Indices]


@dataclass(frozen=True)
class StartingPoint:
    """The required parts of an earlier model, and its taxonomy and held-out concepts."""

    taxonomy: Taxonomy
    network: MatchingNetwork
    calibrators: Calibrators
    ranker: Ranker
    held_out: Sequence[str]


@dataclass(frozen=True)
class PreparedTaxonomy:
    """A taxonomy with its vectors, and the part of it that the network learns from.

    `rows` [N] are the rows of the concepts in `stored`, where the vectors of `data` come first, so
    that they are not copied.
    """

    taxonomy: Taxonomy
    stored: ConceptVectors
    rows: Tensor
    holdout: Holdout
    data: TrainingData
    start: StartingPoint | None = None
    added: AddedQueries | None = None

    def vectors(self) -> ConceptVectors:
        """Return a copy of the vectors of all concepts in the order of the taxonomy."""
        return self.stored.reordered(self.rows)


def prepare_taxonomy(
    taxonomy: Taxonomy,
    embedder: Embedder,
    seed: int,
    holdout: Holdout | None = None,
) -> PreparedTaxonomy:
    """Hold out some leaves (or use `holdout`), and embed all concepts."""
    c = embedder.config
    active = taxonomy.active
    if holdout is None:
        hold_out = HOLDOUTS[c.validation]
        holdout = hold_out(active, c.validation_fraction, c.max_validation_leaves, seed)
    return embed_holdout(taxonomy, embedder, holdout)


def embed_holdout(taxonomy: Taxonomy, embedder: Embedder, holdout: Holdout) -> PreparedTaxonomy:
    """Embed all concepts of a taxonomy, including the held-out ones."""
    c = embedder.config
    with Progress("vectors", None, "texts", shown=False, collects=True):
        _prepare_tuning(taxonomy, embedder, holdout)
        both = embedder.array(taxonomy.concepts)
    refuse_unknown(both, c.features)
    kept = np.array([taxonomy.index(id) for id in holdout.taxonomy], dtype=np.int64)
    others = np.setdiff1d(np.arange(len(taxonomy)), kept)
    order = torch.from_numpy(np.concatenate([kept, others]))  # the remaining concepts come first
    stored = ConceptVectors.of(torch.from_numpy(both)).reordered(order).placed(embedder.device)
    lexicon = embedder.lexicon(holdout.taxonomy)
    mentions = None
    if lexicon is not None:
        mentions = lexicon.mentions(holdout.taxonomy.concepts, exclude_self=True)
    anchors = Anchors(holdout.taxonomy, stored.first(len(holdout.taxonomy)), c.max_siblings)
    queries = embedder.labeled_queries(holdout, lexicon).to(stored.storage)
    data = TrainingData(anchors, queries, mentions)
    del both
    release_memory()
    rows = order.argsort().to(stored.storage)
    return PreparedTaxonomy(taxonomy, stored, rows, holdout, data)


def _prepare_tuning(taxonomy: Taxonomy, embedder: Embedder, holdout: Holdout) -> None:
    """Run the layers that stay frozen, before the encoder needs the vectors of the same texts."""
    part = embedder.encoder.part_with_model()
    if part is None or not embedder.tunes_encoder:
        return
    texts = [query_text(concept) for concept in taxonomy.concepts]
    texts += anchor_texts(holdout.taxonomy)
    texts += anchor_texts(taxonomy.without_deprecated_relations)
    part.keep_states(texts, embedder.config.tuned_layers)


def check_inputs(taxonomy: Taxonomy, log: Path | None, tensorboard: Path | None) -> None:
    """Refuse inputs that no model can be fitted to, and outputs that cannot be written."""
    check_type("taxonomy", taxonomy, Taxonomy, READ_IT)
    if log:
        check_output(log, force=True)  # a log is appended to
    refuse_too_small(taxonomy.active)
    if tensorboard:
        check_tensorboard(tensorboard)


def refuse_too_small(taxonomy: Taxonomy) -> None:
    """Refuse a taxonomy that is too small to learn from."""
    if len(taxonomy.relations) < 2 or len(taxonomy) < 3:
        raise ModelError(
            f"too little to learn from: {len(taxonomy)} concept(s) and "
            f"{len(taxonomy.relations)} relation(s)",
            fix="a model needs at least 3 concepts and 2 relations, and 200 or more "
            "for good results",
        )


def refuse_other_taxonomy(earlier: Taxonomy, taxonomy: Taxonomy) -> None:
    """Refuse to continue training on a taxonomy that has few of the earlier concepts."""
    check_type("taxonomy", taxonomy, Taxonomy, READ_IT)
    shared = sum(id in taxonomy for id in earlier)
    if shared < MIN_SHARED * len(earlier):
        raise ModelError(
            f"the model was trained on another taxonomy: this one has {shared:,} of "
            f"its {len(earlier):,} ids",
            fix="train a new model",
        )


def refuse_other_holdout(taxonomy: Taxonomy, holdout: Holdout) -> None:
    """Refuse to evaluate a model on concepts that are held out of another taxonomy."""
    check_type("holdout", holdout, Holdout, HOLD_OUT)
    known = sum(id in taxonomy for id in holdout.taxonomy)
    if known < MIN_SHARED * len(holdout.taxonomy):
        raise ModelError(
            f"the concepts are held out of another taxonomy: the model has {known:,} of "
            f"its {len(holdout.taxonomy):,} ids",
            fix="hold out concepts of the model's own taxonomy, or train a model on that one",
        )


def prepare_refit(
    judged: JudgedTaxonomy, start: StartingPoint, embedder: Embedder, recipe: Recipe, seed: int
) -> PreparedTaxonomy:
    """Hold out the earlier held-out leaves: the model has learned from all other concepts."""
    taxonomy = judged.taxonomy
    active = judged.taxonomy.active
    leaves = set(active.leaves) - set(active.roots)
    holdout = hold_out(active, [id for id in start.held_out if id in leaves])
    settings = recipe.apply_to(embedder.config)
    added = _added_queries(judged, start, embedder, seed)
    prepared = embed_holdout(taxonomy, replace(embedder, config=settings), holdout)
    changes = _changes_since(judged, start.taxonomy, holdout.taxonomy, recipe)
    data = replace(prepared.data, changes=changes)
    return replace(prepared, data=data, start=start, added=added)


def _changes_since(
    judged: JudgedTaxonomy, earlier: Taxonomy, remaining: Taxonomy, recipe: Recipe
) -> ChangesSinceTraining:
    """Return the changes to the remaining taxonomy, by its indices."""
    pairs = [
        (remaining.index(child), remaining.index(parent))
        for parent, child in judged.rejected_pairs()
        if parent in remaining and child in remaining
    ]
    children, parents = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    rejected = Adjacency.from_pairs(children, parents, len(remaining))
    is_new = np.array([id not in earlier for id in remaining], dtype=np.bool_)
    return ChangesSinceTraining(is_new, rejected, recipe)


def _added_queries(
    judged: JudgedTaxonomy, start: StartingPoint, embedder: Embedder, seed: int
) -> AddedQueries | None:
    """Return the concepts that the earlier model has not seen, as queries to this model."""
    old = start.taxonomy
    active = judged.taxonomy.active
    known = known_names(old)
    new = [id for id in active if id not in old]
    concepts = []
    parents = []
    for id in np.random.default_rng(seed).permutation(np.array(new, dtype=object)).tolist():
        concept = active.concept(id)
        own = [old.index(parent) for parent in active.parents(id) if parent in old]
        if own and normalize_name(concept.label) not in known:
            concepts.append(concept)
            parents.append(np.array(own))
    count = embedder.config.max_validation_leaves
    concepts = concepts[:count]
    parents = parents[:count]
    if not concepts:
        return None
    holdout = Holdout(old, tuple(concepts), tuple(parents))
    queries = embedder.labeled_queries(holdout, embedder.lexicon(old))
    rejected = judged.rejections.anchors_of(old, concepts)
    wrong = [np.setdiff1d(r, own) for r, own in zip(rejected, parents, strict=True)]
    return AddedQueries(start.ranker.with_fusion(None), queries, wrong)


def estimate_stages(taxonomy: Taxonomy, embedder: Embedder) -> dict[str, Stage]:
    """Return the stages of a training in their order."""
    config = embedder.config
    size = len(taxonomy)
    relations = len(taxonomy.relations)
    sample = taxonomy.concepts[:: -(-size // SAMPLE_SIZE)]
    scale = size / len(sample)
    names = set(names_of(sample))
    joined = config.join_definitions
    definitions = {query_text(c) if joined else c.definition for c in sample if c.definition}
    texts = {*names, *map(head_word, names), *definitions}
    model = embedder.encoder.part_with_model()
    seconds = scale * _tokens(texts) * (LOOKUP if model is None else ENCODING)
    stages = {"vectors": Stage(seconds, scale * len(texts))}
    if config.epochs:
        stages["network"] = Stage(config.epochs * relations * NETWORK)
    held_out = min(size / 10, config.max_validation_leaves)
    calibration = held_out * (CALIBRATION + COMPARISON * size)
    if model is not None and config.learn_fusion:
        # The encoder's vectors of labels, and of joined definitions, are already in the cache.
        tuned = bool(config.tower_epochs)
        composes = config.compose_anchors
        queries = [query_text(c) for c in sample if tuned or (c.definition and not joined)]
        anchors = [f"{query_text(c)} < {c.label}" for c in sample if tuned or not composes]
        seconds = scale * (_tokens(queries) + _tokens(anchors)) * ENCODING
        if tuned:
            read = stages["vectors"].units + scale * (len(queries) + len(anchors))
            stages["vectors"] = Stage(stages["vectors"].seconds + FROZEN * seconds, read)
            stages["fine-tuning"] = Stage(config.tower_epochs * TUNING * seconds)
            seconds *= 1 - FROZEN
        if config.map_epochs and seconds:
            stages["tower"] = Stage(seconds, scale * (len(queries) + len(anchors)))
        if config.map_epochs:
            stages["maps"] = Stage(config.map_epochs * relations * MAPS)
        else:
            calibration += seconds
    return {**stages, "calibration": Stage(calibration)}


def _tokens(texts: Iterable[str]) -> float:
    """Return the approximate number of tokens that are read."""
    return sum(min(1.4 * len(text.split()) + 2, MAX_TOKENS) for text in texts)
