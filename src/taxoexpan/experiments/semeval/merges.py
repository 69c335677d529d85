"""Merges of SemEval's task: new concepts that are words of a synset which is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.experiments.paper.run_record import Run
from taxoexpan.experiments.semeval.semeval_task import Placed, WordNet

MERGE = "merge"


@dataclass(frozen=True)
class MergeCandidate:
    """A merge that may be made: the concept's id, the synset's, and the log-odds of it."""

    concept: str
    synset: str
    log_odds: float


@dataclass(frozen=True)
class MergeScore:
    """How many merges were made, how many are right, how many should be attached, or be made."""

    made: int
    right: int
    attached: int
    wanted: int

    @property
    def precision(self) -> float:
        """Of what was merged the share that is right."""
        return self.right / self.made if self.made else float("nan")

    @property
    def recall(self) -> float:
        """Of what should be merged the share that is, with the right synset."""
        return self.right / self.wanted if self.wanted else float("nan")

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        both = self.made + self.wanted
        return 2 * self.right / both if both else 0.0


def has_duplicate_candidates(run: Run) -> bool:
    """Whether a run tells of both sets of queries what they may be other names of."""
    return all(len(run.doubles(which)[0]) for which in ("validation", "test"))


def merge_candidates(run: Run, which: str, concepts: Sequence[str]) -> list[MergeCandidate]:
    """What the queries of a run may be other names of."""
    ids, odds = run.doubles(which)
    return [
        MergeCandidate(*each) for each in zip(concepts, ids.tolist(), odds.tolist(), strict=True)
    ]


def threshold(
    proposed: Sequence[MergeCandidate], gold: Mapping[str, Placed], wordnets: Sequence[WordNet]
) -> float:
    """The log-odds from which on merges do best by their F1; infinite where none does."""
    ordered = sorted(proposed, key=lambda one: -one.log_odds)
    right = np.cumsum([_is_right(one, gold, wordnets) for one in ordered])
    f1 = right / (np.arange(1, len(ordered) + 1) + _wanted(gold))
    best = int(np.argmax(f1)) if len(ordered) else 0
    return ordered[best].log_odds if len(ordered) and f1[best] > 0 else float("inf")


def score_merges(
    key: Mapping[str, Placed], gold: Mapping[str, Placed], wordnets: Sequence[WordNet]
) -> MergeScore:
    """Count the merges of a key."""
    made = [MergeCandidate(id, p.synset, 0.0) for id, p in key.items() if p.operation == MERGE]
    right = sum(_is_right(one, gold, wordnets) for one in made)
    attached = sum(gold[one.concept].operation != MERGE for one in made)
    return MergeScore(len(made), right, attached, _wanted(gold))


def _wanted(gold: Mapping[str, Placed]) -> int:
    return sum(placed.operation == MERGE for placed in gold.values())


def _is_right(one: MergeCandidate, gold: Mapping[str, Placed], wordnets: Sequence[WordNet]) -> bool:
    wanted = gold[one.concept]
    ids = {wordnet.id_of(wanted.synset) for wordnet in wordnets} - {None}
    return wanted.operation == MERGE and one.synset in ids
