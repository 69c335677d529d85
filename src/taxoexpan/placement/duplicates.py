"""Whether a new concept is another name of one that is there, learned from the synonyms there are.

Nothing is labelled. A name is taken from a concept that has several, and asked for as if it were
new, with the concept's definition: what it was taken from is right. Leaves are taken out whole and
asked for too: of what lies near them, their parents and siblings above all, nothing is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.placement.regression import Floats, logistic
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.names import normalize_name

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[Concept]], Vectors]
"""What makes the two vectors of concepts, [2, N, D]; see `features.concepts`."""

NEAREST = 10
"""So many concepts may be what a new one is."""

MOST = 2000
"""No more concepts are learned from, and twice as many leaves: three weights ask for no more."""

FEWEST = 20
"""Fewer concepts with several names teach nothing."""

BLOCK = 1024


@dataclass(frozen=True)
class DuplicateCandidates:
    """What each of Q new concepts is most likely another name of: an index, and the log-odds."""

    indices: Indices
    log_odds: Floats


class DuplicateDetector:
    """Judges a pair by the cosine of its vectors and the likeness of its names' letters.

    The three weights are those of a logistic regression on both and on 1.
    """

    def __init__(self, taxonomy: Taxonomy, vectors: Vectors, weights: Sequence[float]) -> None:
        self.vectors, self.weights = vectors, np.array(weights)
        self._names = [distinct_names(concept) for concept in taxonomy.concepts]

    @classmethod
    def learn(
        cls, taxonomy: Taxonomy, vectors: Vectors, embed: Embed, seed: int = 0
    ) -> DuplicateDetector | None:
        """Learn from a taxonomy and its vectors [2, N, D]; nothing where it has too few synonyms.

        Half as many names are taken as leaves are asked for: most of what is new has no synonym.
        """
        dice, concepts = np.random.default_rng(seed), list(taxonomy.concepts)
        several = [i for i, concept in enumerate(concepts) if len(distinct_names(concept)) > 1]
        if len(several) < FEWEST or len(taxonomy) <= NEAREST:
            return None
        judge = cls(taxonomy, vectors, (0.0, 0.0, 0.0))
        own = dice.permutation(several)[:MOST]
        taken, left = zip(*(_torn(concepts[i], dice) for i in own.tolist()), strict=True)
        asked = embed(taken)
        right = pair_features(taken, asked, [distinct_names(c) for c in left], embed(left))
        # What is not near is never judged; learned from, it would make nearness count against.
        others = judge._features(taken, asked, judge._near(asked[0], but=own))
        right = right[right[:, 0] >= others[:, :, 0].min(axis=1)]
        leaves = dice.permutation(np.flatnonzero(taxonomy.children_of.degrees == 0))[: 2 * len(own)]
        near = judge._near(vectors[0, leaves], but=leaves)
        wrong = judge._features([concepts[i] for i in leaves], vectors[:, leaves], near)
        table = np.concatenate([right, wrong.reshape(-1, 3)])
        truth = np.concatenate([np.ones(len(right)), np.zeros(len(table) - len(right))])
        return cls(taxonomy, vectors, logistic(table, truth).tolist())

    def candidates(self, concepts: Sequence[Concept], vectors: Vectors) -> DuplicateCandidates:
        """What each new concept, with vectors [2, Q, D], is most likely another name of."""
        near = self._near(vectors[0])
        odds = self._features(concepts, vectors, near) @ self.weights
        best = odds.argmax(axis=1)[:, None]
        likeliest = np.take_along_axis(near, best, axis=1)[:, 0]
        return DuplicateCandidates(likeliest, np.take_along_axis(odds, best, axis=1)[:, 0])

    def _near(self, vectors: Vectors, but: Indices | None = None) -> Indices:
        """The nearest concepts of each new one, never the one that `but` has: [Q, D] → [Q, K]."""
        count = min(NEAREST, len(self._names))
        near = [np.zeros((0, count), dtype=np.int64)]
        for start in range(0, len(vectors), BLOCK):
            cosines = vectors[start : start + BLOCK] @ self.vectors[0].T
            if but is not None:
                cosines[np.arange(len(cosines)), but[start : start + BLOCK]] = -np.inf
            near.append(np.argpartition(-cosines, count - 1, axis=1)[:, :count])
        return np.concatenate(near)

    def _features(self, concepts: Sequence[Concept], vectors: Vectors, near: Indices) -> Floats:
        """What is known of each new concept and each of those near it: [Q, K, 3]."""
        count = near.shape[1]
        each = [concept for concept in concepts for _ in range(count)]
        names = [self._names[index] for index in near.ravel().tolist()]
        mine = np.repeat(vectors, count, axis=1)
        features = pair_features(each, mine, names, self.vectors[:, near.ravel()])
        return features.reshape(*near.shape, 3)


def pair_features(
    concepts: Sequence[Concept],
    vectors: Vectors,
    names: Sequence[Sequence[str]],
    others: Vectors,
) -> Floats:
    """Cosine, likeness of letters, and 1, of pairs with vectors [2, P, D] each: [P, 3]."""
    cosines = np.einsum("pd,pd->p", vectors[0], others[0])
    letters = [
        max(map(likeness, [concept.label] * len(those), those))
        for concept, those in zip(concepts, names, strict=True)
    ]
    return np.stack([cosines, letters, np.ones(len(letters))], axis=1)


def likeness(one: str, other: str) -> float:
    """Of the threes of letters in two names the share that both have (Dice's coefficient)."""
    mine, theirs = _threes(one), _threes(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


def distinct_names(concept: Concept) -> tuple[str, ...]:
    """The names of a concept that differ in more than case, spaces and hyphens."""
    names = (concept.label, *concept.synonyms)
    return tuple({normalize_name(name): name for name in reversed(names)}.values())[::-1]


def _torn(concept: Concept, dice: np.random.Generator) -> tuple[Concept, Concept]:
    """A concept with several names as two: one name, and the others; both with its definition."""
    first, second, *rest = dice.permutation(
        np.array(distinct_names(concept), dtype=object)
    ).tolist()
    taken = Concept("", first, definition=concept.definition)
    return taken, Concept("", second, synonyms=tuple(rest), definition=concept.definition)


def _threes(name: str) -> set[str]:
    """All threes of neighbouring letters of a name, its ends among them."""
    text = f"  {normalize_name(name)} "
    return {text[start : start + 3] for start in range(len(text) - 2)}
