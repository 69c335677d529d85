"""A task to compare methods on: a taxonomy with vectors, and queries with known parents."""

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

from taxoexpan.experiments.methods.method import Problem
from taxoexpan.features.embedding import embed_concepts, names_of, refuse_unknown
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.lexicon import Lexicon
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.learned.duplicates import DuplicateCandidates, DuplicateDetector
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

    An encoder that knows no name of the taxonomy is refused; queries without a vector cause a
    warning. See `embed_concepts` for `joined`, and `Lexicon` for `sense_order`.
    """
    taxonomy = validation.taxonomy
    concepts = list(taxonomy.concepts)
    encoder.learn(names_of([*concepts, *validation.concepts, *test.concepts]))
    embed = partial(embed_concepts, encoder, joined=joined)
    vectors = embed(concepts)
    refuse_unknown(vectors, encoder.name)
    lexicon = Lexicon.from_taxonomy(taxonomy, sense_order)
    detector = DuplicateDetector.learn(taxonomy, vectors, embed)
    queries, duplicates = {}, {}
    for part, holdout in (("validation", validation), ("test", test)):
        query_vectors = embed(holdout.concepts)
        _warn_of_unknown(query_vectors, part, encoder.name)
        mentions = lexicon.mentions(holdout.concepts)
        queries[part] = LabeledQueries(
            torch.from_numpy(query_vectors), mentions, holdout.concepts, parents=holdout.parents
        )
        if detector is not None:
            duplicates[part] = detector.candidates(holdout.concepts, query_vectors)
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
