"""Merges of SemEval's task: new concepts that are words of an existing synset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reproduction.runs import Run
from reproduction.semeval.task import KeyEntry, WordNet

MERGE = "merge"


@dataclass(frozen=True)
class MergeCandidate:
    """A possible merge: the id of the concept, the id of the synset, and its log-odds."""

    concept: str
    synset: str
    log_odds: float


@dataclass(frozen=True)
class MergeScore:
    """Counts of merges: made, right, made of concepts to attach, and wanted by the gold key."""

    made: int
    right: int
    attached: int
    wanted: int

    @property
    def precision(self) -> float:
        """The fraction of the merges that are right."""
        return self.right / self.made if self.made else float("nan")

    @property
    def recall(self) -> float:
        """The fraction of the wanted merges that were made with the right synset."""
        return self.right / self.wanted if self.wanted else float("nan")

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.made + self.wanted
        return 2 * self.right / both if both else 0.0


def has_duplicate_candidates(run: Run) -> bool:
    """Whether a run has duplicate candidates for both sets of queries."""
    return all(len(run.duplicates(part)[0]) for part in ("validation", "test"))


def merge_candidates(run: Run, part: str, concepts: Sequence[str]) -> list[MergeCandidate]:
    """Return the most likely merge of each query of a run."""
    ids, odds = run.duplicates(part)
    rows = zip(concepts, ids.tolist(), odds.tolist(), strict=True)
    return [MergeCandidate(*row) for row in rows]


def best_threshold(
    candidates: Sequence[MergeCandidate],
    gold: Mapping[str, KeyEntry],
    wordnets: Sequence[WordNet],
) -> float:
    """Return the log-odds at or above which merging has the best F1; infinity if none is right."""
    ordered = sorted(candidates, key=lambda candidate: -candidate.log_odds)
    right = np.cumsum([_is_right(candidate, gold, wordnets) for candidate in ordered])
    f1 = right / (np.arange(1, len(ordered) + 1) + _wanted(gold))
    best = int(np.argmax(f1)) if len(ordered) else 0
    return ordered[best].log_odds if len(ordered) and f1[best] > 0 else float("inf")


def score_merges(
    key: Mapping[str, KeyEntry], gold: Mapping[str, KeyEntry], wordnets: Sequence[WordNet]
) -> MergeScore:
    """Count the merges of a key."""
    made = [MergeCandidate(id, e.synset, 0.0) for id, e in key.items() if e.operation == MERGE]
    right = sum(_is_right(candidate, gold, wordnets) for candidate in made)
    attached = sum(gold[candidate.concept].operation != MERGE for candidate in made)
    return MergeScore(len(made), right, attached, _wanted(gold))


def _wanted(gold: Mapping[str, KeyEntry]) -> int:
    return sum(entry.operation == MERGE for entry in gold.values())


def _is_right(
    candidate: MergeCandidate, gold: Mapping[str, KeyEntry], wordnets: Sequence[WordNet]
) -> bool:
    wanted = gold[candidate.concept]
    ids = {wordnet.id_of(wanted.synset) for wordnet in wordnets} - {None}
    return wanted.operation == MERGE and candidate.synset in ids
