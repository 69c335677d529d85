"""A task to compare methods on: a taxonomy with vectors, and queries with known parents.

`rewire_relations` and `sample_leaves` make changed copies of a task.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.evaluation.methods import Problem
from taxoexpan.features.embedding import embed_concepts, refuse_unknown
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.mentions import Lexicon
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.placement.learned.duplicates import DuplicateCandidates, DuplicateDetector
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.holdout import Holdout


@dataclass(frozen=True)
class Task:
    """A problem to learn from, and the test queries.

    `features` names the encoder of the vectors, and `labels` are those of the test queries.
    `duplicates` holds, for the "validation" and the "test" queries, the concept that each query may
    be a synonym of. It is empty if the taxonomy has too few synonyms to learn from.
    """

    name: str
    features: str
    problem: Problem
    test: LabeledQueries
    labels: tuple[str, ...]
    duplicates: Mapping[str, DuplicateCandidates] = field(default_factory=dict)

    def to(self, device: torch.device) -> Task:
        """Return the task on another device."""
        return self._with_vectors(lambda vectors: vectors.to(device))

    def with_half_precision(self) -> Task:
        """Return the task with vectors rounded to half precision; its file is half as large."""
        return self._with_vectors(lambda vectors: vectors.half().float())

    def _with_vectors(self, change: Callable[[Tensor], Tensor]) -> Task:
        def changed(queries: LabeledQueries) -> LabeledQueries:
            return replace(queries, vectors=change(queries.vectors))

        p = self.problem
        problem = replace(p, vectors=change(p.vectors), validation=changed(p.validation))
        return replace(self, problem=problem, test=changed(self.test))

    def digest(self) -> str:
        """Return a hash of everything that methods learn from or are scored with."""
        taxonomy, query_sets = self.problem.taxonomy, (self.problem.validation, self.test)
        texts = [self.name, self.features, taxonomy.ids, taxonomy.labels, self.labels]
        digest = hashlib.sha256(json.dumps(texts).encode())
        arrays = [*taxonomy.relation_indices]
        for queries in query_sets:
            counts = np.array([len(parents) for parents in queries.parents])
            arrays += [np.concatenate(queries.parents), counts]
        for indices in arrays:
            digest.update(f"{len(indices)} ".encode())
            digest.update(np.ascontiguousarray(indices, dtype="<i8").tobytes())
        for part in (self.problem, *query_sets):
            digest.update(part.vectors.cpu().numpy().tobytes())
            if part.mentions is not None:
                mentioned = part.mentions.of_row
                for array in (mentioned.offsets, mentioned.targets, part.mentions.kinds):
                    digest.update(array.tobytes())
        return digest.hexdigest()[:16]


def make_task(
    name: str,
    encoder: Encoder,
    validation: Holdout,
    test: Holdout,
    joined: bool = False,
    sense_order: Mapping[str, Sequence[str]] | None = None,
) -> Task:
    """Embed a taxonomy and the queries of two holdouts that leave the same taxonomy.

    Deprecated concepts are neither anchors nor queries. An encoder that knows no name of the
    taxonomy is refused; queries without a vector cause a warning. See `embed_concepts` for
    `joined`, and `Lexicon` for `sense_order`.
    """
    validation = validation.active
    test = test.active
    taxonomy = validation.taxonomy
    for part, holdout in (("validation", validation), ("test", test)):
        if not holdout.concepts:
            message = f"too little to learn from: no {part} concept is left to hold out"
            raise ModelError(message, fix="give a taxonomy with more leaves, or lists of ids")
    concepts = list(taxonomy.concepts)
    name_weight = 0.0 if joined else 1.0
    embed = partial(embed_concepts, encoder, name_weight=name_weight, joined=joined)
    vectors = embed(concepts)
    refuse_unknown(vectors, encoder.name)
    lexicon = Lexicon.from_taxonomy(taxonomy, sense_order)
    detector = DuplicateDetector.learn(taxonomy, vectors[0], lambda some: embed(some)[0])
    queries, duplicates = {}, {}
    for part, holdout in (("validation", validation), ("test", test)):
        query_vectors = embed(holdout.concepts)
        _warn_of_unknown(query_vectors, part, encoder.name)
        mentions = lexicon.mentions(holdout.concepts)
        queries[part] = LabeledQueries(
            torch.from_numpy(query_vectors), mentions, holdout.concepts, parents=holdout.parents
        )
        if detector is not None:
            duplicates[part] = detector.candidates(holdout.concepts, query_vectors[0])
    own_mentions = lexicon.mentions(concepts, exclude_self=True)
    problem = Problem(taxonomy, torch.from_numpy(vectors), queries["validation"], own_mentions)
    labels = tuple(concept.label for concept in test.concepts)
    features = f"{encoder.name} joined" if joined else encoder.name
    return Task(name, features, problem, queries["test"], labels, duplicates)


def _warn_of_unknown(vectors: Vectors, part: str, features: str) -> None:
    """Warn about queries without a vector."""
    unknown, size = int((~vectors[0].any(axis=1)).sum()), vectors.shape[1]
    if unknown:
        message = f"{unknown:,} of {size:,} {part} queries have no vector in {features!r}"
        fix = "their ranks mean nothing; a second encoder, as in static+…, may know them"
        warnings.warn(f"{message}; {fix}", stacklevel=3)


def rewire_relations(task: Task, fraction: float, seed: int) -> Task:
    """Return the task with a fraction of its training relations given a random other parent.

    The new parent precedes the child in a topological order, so that no cycle can arise, and was
    not one of its parents before. The queries and their parents do not change.
    """
    taxonomy, rng = task.problem.taxonomy, np.random.default_rng(seed)
    parents, children = (indices.copy() for indices in taxonomy.relation_indices)
    order = np.asarray(taxonomy.topological_order)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    chosen = np.flatnonzero(rng.random(len(parents)) < fraction)
    # A child keeps its parents if no other concept precedes it.
    chosen = chosen[position[children[chosen]] > taxonomy.parents_of.degrees[children[chosen]]]
    parents[chosen] = order[_draw_parents(position, taxonomy, children[chosen], rng)]
    both = np.unique(np.stack([children, parents]), axis=1)
    changed = Taxonomy.from_columns(taxonomy.ids, taxonomy.labels, both[1], both[0])
    return replace(task, problem=replace(task.problem, taxonomy=changed))


def _draw_parents(
    position: Indices, taxonomy: Taxonomy, children: Indices, rng: np.random.Generator
) -> Indices:
    """Draw, for each child, an earlier topological position that none of its parents has."""
    parents, children_of_relations = taxonomy.relation_indices
    size = len(position)
    known = position[children_of_relations] * size + position[parents]
    drawn = np.empty(len(children), dtype=np.int64)
    pending = np.arange(len(children))
    while len(pending):
        own = position[children[pending]]
        drawn[pending] = rng.integers(0, own)
        pending = pending[np.isin(own * size + drawn[pending], known)]
    return drawn


def sample_leaves(task: Task, fraction: float, seed: int) -> Task:
    """Return the task with a fraction of its leaves; the parents of queries are always kept."""
    problem = task.problem
    taxonomy, rng = problem.taxonomy, np.random.default_rng(seed)
    true_parents = np.concatenate([*problem.validation.parents, *task.test.parents])
    leaves = np.setdiff1d(np.flatnonzero(taxonomy.children_of.degrees == 0), true_parents)
    removed = rng.permutation(leaves)[: round(len(leaves) * (1 - fraction))]
    kept = np.setdiff1d(np.arange(len(taxonomy)), removed)
    smaller = taxonomy.without([taxonomy.ids[i] for i in removed.tolist()])
    new_index = np.full(len(taxonomy), -1)
    new_index[kept] = np.arange(len(kept))
    vectors = problem.vectors.index_select(1, torch.from_numpy(kept).to(problem.vectors.device))
    validation, test = (_reindex(queries, new_index) for queries in (problem.validation, task.test))
    mentions = problem.mentions.reindex(new_index, kept) if problem.mentions else None
    problem = Problem(smaller, vectors, validation, mentions)
    return replace(task, problem=problem, test=test, duplicates={})


def _reindex(queries: LabeledQueries, new_index: Indices) -> LabeledQueries:
    """Return the queries with new indices for their parents and for the anchors they mention."""
    rows = np.arange(len(queries.parents))
    mentions = queries.mentions.reindex(new_index, rows) if queries.mentions else None
    return replace(queries, parents=[new_index[p] for p in queries.parents], mentions=mentions)
