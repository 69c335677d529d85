"""Duplicates: the detection of new concepts that are synonyms of existing ones.

It is learned without labels, from names that are removed from concepts with several names. Leaves
that are removed as a whole serve as concepts without a duplicate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.features.encoder import Vectors
from taxoexpan.placement.learned.confidence import logistic
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.thresholds import MIN_FOR_DUPLICATES

Embed = Callable[[Sequence[Concept]], Vectors]
"""A function that returns the vectors of concepts, [N, D]."""

NUM_CANDIDATES = 10
"""Existing concepts that are compared with a new one: the nearest."""
MAX_EXAMPLES = 500
"""Concepts to learn from, and twice as many leaves: enough for three weights."""
BLOCK_SIZE = 1024
MAX_COSINES = 16_000_000
"""New concepts that are compared with all existing ones at a time, and their cosines, at most."""


@dataclass(frozen=True)
class DuplicateCandidates:
    """The index of the likeliest duplicate of each of Q new concepts, and its log-odds."""

    indices: Indices
    log_odds: Floats


class DuplicateDetector:
    """A logistic regression on the cosine, the letter similarity and a constant."""

    def __init__(self, taxonomy: Taxonomy, vectors: Vectors, weights: Sequence[float]) -> None:
        self.vectors = vectors
        self.weights = np.array(weights)
        self._taxonomy = taxonomy

    @classmethod
    def learn(
        cls, taxonomy: Taxonomy, vectors: Vectors, embed: Embed, seed: int = 0
    ) -> DuplicateDetector | None:
        """Learn from a taxonomy and its vectors [N, D]; None if it has too few synonyms."""
        rng = np.random.default_rng(seed)
        concepts = list(taxonomy.concepts)
        several = [i for i, concept in enumerate(concepts) if len(distinct_names(concept)) > 1]
        if len(several) < MIN_FOR_DUPLICATES or len(taxonomy) <= NUM_CANDIDATES:
            return None
        untrained = cls(taxonomy, vectors, (0.0, 0.0, 0.0))
        sources = rng.permutation(several)[:MAX_EXAMPLES]
        names, rest = zip(*(_split(concepts[i], rng) for i in sources.tolist()), strict=True)
        name_vectors = embed(names)
        right = duplicate_features(
            names, name_vectors, [distinct_names(c) for c in rest], embed(rest)
        )
        # Only near concepts are ever compared. With far ones, nearness would count against a pair.
        nearest = untrained._nearest(name_vectors, exclude=sources)
        others = untrained._features(names, name_vectors, nearest)
        right = right[right[:, 0] >= others[:, :, 0].min(axis=1)]
        all_leaves = np.flatnonzero(taxonomy.children_of.degrees == 0)
        leaves = rng.permutation(all_leaves)[: 2 * len(sources)]
        nearest = untrained._nearest(vectors[leaves], exclude=leaves)
        wrong = untrained._features([concepts[i] for i in leaves], vectors[leaves], nearest)
        table = np.concatenate([right, wrong.reshape(-1, 3)])
        truth = np.concatenate([np.ones(len(right)), np.zeros(len(table) - len(right))])
        return cls(taxonomy, vectors, logistic(table, truth).tolist())

    def candidates(
        self, concepts: Sequence[Concept], vectors: Vectors, nearest: Indices | None = None
    ) -> DuplicateCandidates:
        """Return the likeliest duplicate of each query [Q, D] among its nearest [Q, K]."""
        nearest = self._nearest(vectors) if nearest is None else nearest
        log_odds = self._features(concepts, vectors, nearest) @ self.weights
        best = log_odds.argmax(axis=1)[:, None]
        return DuplicateCandidates(
            np.take_along_axis(nearest, best, axis=1)[:, 0],
            np.take_along_axis(log_odds, best, axis=1)[:, 0],
        )

    def _nearest(self, vectors: Vectors, exclude: Indices | None = None) -> Indices:
        """Return the nearest concepts of each new one, except `exclude`: [Q, D] → [Q, K]."""
        count = min(NUM_CANDIDATES, len(self._taxonomy))
        nearest = [np.zeros((0, count), dtype=np.int64)]
        size = max(1, min(BLOCK_SIZE, MAX_COSINES // len(self._taxonomy)))
        for start in range(0, len(vectors), size):
            cosines = vectors[start : start + size] @ self.vectors.T
            if exclude is not None:
                rows = np.arange(len(cosines))
                cosines[rows, exclude[start : start + size]] = -np.inf
            nearest.append(np.argpartition(-cosines, count - 1, axis=1)[:, :count])
        return np.concatenate(nearest)

    def _features(self, concepts: Sequence[Concept], vectors: Vectors, nearest: Indices) -> Floats:
        """Return the features of each new concept with its nearest concepts: [Q, K, 3]."""
        count = nearest.shape[1]
        repeated = [concept for concept in concepts for _ in range(count)]
        known = {
            i: distinct_names(self._taxonomy.concept_at(i)) for i in np.unique(nearest).tolist()
        }
        names = [known[index] for index in nearest.ravel().tolist()]
        own = np.repeat(vectors, count, axis=0)
        features = duplicate_features(repeated, own, names, self.vectors[nearest.ravel()])
        return features.reshape(*nearest.shape, 3)


def duplicate_features(
    concepts: Sequence[Concept],
    vectors: Vectors,
    names: Sequence[Sequence[str]],
    others: Vectors,
) -> Floats:
    """Return the cosine, the letter similarity and 1 of pairs with vectors [P, D]: [P, 3]."""
    cosines = np.einsum("pd,pd->p", vectors, others)
    letters = [
        max(letter_similarity(concept.label, name) for name in own)
        for concept, own in zip(concepts, names, strict=True)
    ]
    return np.stack([cosines, letters, np.ones(len(letters))], axis=1)


def letter_similarity(one: str, other: str) -> float:
    """Return the fraction of letter trigrams that two names share (Dice's coefficient)."""
    own = _trigrams(one)
    others = _trigrams(other)
    return 2 * len(own & others) / (len(own) + len(others))


def distinct_names(concept: Concept) -> tuple[str, ...]:
    """Return the names of a concept that differ in more than case, spaces and hyphens."""
    names = (concept.label, *concept.synonyms)
    return tuple({normalize_name(name): name for name in reversed(names)}.values())[::-1]


def _split(concept: Concept, rng: np.random.Generator) -> tuple[Concept, Concept]:
    """Split a concept into one of its names and the other names, both with its definition."""
    first, second, *rest = rng.permutation(np.array(distinct_names(concept), dtype=object)).tolist()
    single = Concept("", first, definition=concept.definition)
    return single, Concept("", second, synonyms=tuple(rest), definition=concept.definition)


def _trigrams(name: str) -> set[str]:
    """Return all letter trigrams of a name, including its start and end."""
    text = f"  {normalize_name(name)} "
    return {text[start : start + 3] for start in range(len(text) - 2)}
