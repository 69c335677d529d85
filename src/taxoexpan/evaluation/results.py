"""The evaluation of methods: each learns from a taxonomy and ranks the parents of new concepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.config import load_preset
from taxoexpan.device import choose_device
from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.evaluation.confidence import GrowthConfidence, measure_confidence
from taxoexpan.evaluation.methods import (
    Method,
    Problem,
    ScoringFunction,
    TrainedMethod,
    as_method,
    fit_method,
    name_in_errors,
    score_anchors,
)
from taxoexpan.features.embedding import embed_concepts, refuse_unknown
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.mentions import Lexicon
from taxoexpan.model import TaxoExpan
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.placement.fitting.preparation import refuse_too_small
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.holdout import Holdout, hold_out_leaves
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.true_ranks import rank_true_parents

Ranks = list[NDArray[np.floating]]
"""The ranks of the true parents of each query."""


@dataclass(frozen=True)
class MethodResult:
    """The ranks by one method; only models have `features` (the encoder) and a confidence.

    Examples:
        >>> import numpy as np
        >>> from taxoexpan import MethodResult
        >>> result = MethodResult(ranks=[np.array([1]), np.array([4, 2])])
        >>> result.metrics.mr, result.metrics.hit_at_1
        (2.0, 0.5)
    """

    ranks: Ranks
    features: str | None = None
    confidence: GrowthConfidence | None = None

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics, averaged over the parents of each query and then over queries."""
        return compute_metrics(self.ranks)


def evaluate_methods(
    holdout: Holdout,
    methods: Mapping[str, Method | TaxoExpan | ScoringFunction],
    features: str | Encoder | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: bool = False,
    begin: Callable[[str], None] = lambda _: None,
) -> dict[str, MethodResult]:
    """Let methods learn from the remaining taxonomy, and rank the parents of held-out concepts.

    A method is made by `make_method`, or it is your own: a function that scores all concepts of a
    taxonomy for new concepts, or an instance of a subclass of `Method` or `TrainedMethod`. Models
    have their own encoder, seed and device; other methods use the given ones (default: the encoder
    of the preset best). Deprecated concepts are neither anchors nor queries. `begin` is called with
    the name before each method.

    >>> import numpy as np
    >>> from taxoexpan import Concept, Taxonomy, evaluate_methods, hold_out, make_method
    >>> labels = ["food", "bread", "milk", "rye bread", "oat milk"]
    >>> parents = {"bread": "food", "milk": "food", "rye bread": "bread", "oat milk": "milk"}
    >>> foods = Taxonomy(
    ...     [Concept(label, label) for label in labels],
    ...     [(parent, child) for child, parent in parents.items()],
    ... )
    >>> def same_ending(taxonomy, concepts):
    ...     new = [concept.label for concept in concepts]
    ...     return np.array([[label.endswith(own) for label in new] for own in taxonomy.labels])
    >>> results = evaluate_methods(
    ...     hold_out(foods, ["rye bread", "oat milk"]),
    ...     {"popularity": make_method("popularity"), "same ending": same_ending},
    ...     features="static",
    ... )
    >>> {name: result.metrics.mr for name, result in results.items()}
    {'popularity': 2.5, 'same ending': 1.0}
    """
    if not isinstance(methods, Mapping):
        message = f"the methods are a {type(methods).__name__}, and have no names"
        raise ConfigurationError(message, fix="give a dictionary, such as {'mine': my_function}")
    holdout = holdout.active
    refuse_too_small(holdout.taxonomy)
    if not holdout.concepts:
        message = "no concept is held out to be ranked"
        raise ModelError(message, fix="hold out some that are not deprecated")
    results: dict[str, MethodResult] = {}
    embedded: _EmbeddedHoldout | None = None
    for name, given in methods.items():
        begin(name)
        with name_in_errors(name):
            method = as_method(given)
        if isinstance(method, TaxoExpan):
            results[name] = _evaluate_model(holdout, method, progress)
            continue
        if embedded is None:
            chosen = choose_device(device)
            features = features or load_preset("best").features
            encoder = (
                make_encoder(features, device=device) if isinstance(features, str) else features
            )
            embedded = _EmbeddedHoldout.of(holdout, encoder, chosen)
        with name_in_errors(name):
            if isinstance(method, TrainedMethod):
                fit_method(method, embedded.problem(seed), seed, TrainingLog(progress))
            method.set_anchors(embedded.taxonomy, embedded.vectors)
            ranks = true_ranks_by(method, embedded.queries, len(embedded.taxonomy))
        results[name] = MethodResult(ranks)
    return results


def true_ranks_by(method: Method, queries: LabeledQueries, anchors: int) -> Ranks:
    """Return the ranks of each query's true parents among the anchors."""
    ranks: Ranks = []
    for _, block in queries.blocks(anchors):
        ranks += rank_true_parents(score_anchors(method, block, anchors), block.parents)
    return ranks


def _evaluate_model(holdout: Holdout, model: TaxoExpan, progress: bool) -> MethodResult:
    """Fit a model and place the held-out concepts; raise if it was interrupted."""
    model.fit(holdout.taxonomy, progress=progress)
    if model.training.interrupted:
        raise KeyboardInterrupt
    confidence = measure_confidence(model, holdout)
    return MethodResult(model.true_ranks(holdout), model.config.features, confidence)


@dataclass(frozen=True)
class _EmbeddedHoldout:
    """A taxonomy with the vectors of its concepts [2, N, D], and the held-out concepts."""

    taxonomy: Taxonomy
    vectors: Tensor
    queries: LabeledQueries

    @classmethod
    def of(cls, holdout: Holdout, encoder: Encoder, device: torch.device) -> _EmbeddedHoldout:
        """Embed all concepts, and find the concepts that the held-out ones mention."""
        taxonomy = holdout.taxonomy
        known = embed_concepts(encoder, taxonomy.concepts)
        refuse_unknown(known, encoder.name)
        new = embed_concepts(encoder, holdout.concepts)
        vectors, new_vectors = (torch.from_numpy(each).to(device) for each in (known, new))
        mentions = Lexicon.from_taxonomy(taxonomy).mentions(holdout.concepts)
        queries = LabeledQueries(new_vectors, mentions, holdout.concepts, parents=holdout.parents)
        return cls(taxonomy, vectors, queries)

    def problem(self, seed: int) -> Problem:
        """Return the training data, with some leaves held out for validation, as models do."""
        config = load_preset("best")
        held_out = hold_out_leaves(self.taxonomy, "auto", config.max_validation_leaves, seed)
        remaining = held_out.taxonomy
        lexicon = Lexicon.from_taxonomy(remaining)
        own = list(remaining.concepts)
        validation = LabeledQueries(
            self._select([concept.id for concept in held_out.concepts]),
            lexicon.mentions(held_out.concepts),
            held_out.concepts,
            parents=held_out.parents,
        )
        mentions = lexicon.mentions(own, exclude_self=True)
        return Problem(remaining, self._select(remaining.ids), validation, mentions)

    def _select(self, ids: Sequence[str]) -> Tensor:
        rows = torch.tensor([self.taxonomy.index(id) for id in ids], dtype=torch.int64)
        return self.vectors.index_select(1, rows.to(self.vectors.device))
