"""The reliability of a model's confidence for the concepts that a taxonomy really added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.decisions.decision import Place, decide
from taxoexpan.decisions.policies import policy_of
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.model import TaxoExpan
from taxoexpan.phrasing import percent
from taxoexpan.placement.learned.calibrators import branch_threshold
from taxoexpan.placement.learned.confidence import Reliability
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.informative_places import is_informative
from taxoexpan.training.holdout import Holdout

PRECISIONS = (0.9, 0.8, 0.7)
"""The precisions that thresholds are chosen for."""
TRUTHS = (0.95, 0.9, 0.8, 0.7)
"""The truths that concepts are placed at."""


@dataclass(frozen=True)
class AcceptedAtPrecision:
    """The new concepts that a model accepts at its threshold for the precision `target`.

    `threshold` is None if the concepts held out of the old release do not reach the target, and
    `precision` is None if no new concept is accepted.
    """

    target: float
    threshold: float | None
    coverage: float
    precision: float | None


@dataclass(frozen=True)
class PlacedAtTruth:
    """The new concepts that a rule places, and how many of these placements are true.

    `truth` is the fraction whose true parent is the given one or below it, and `exact` the fraction
    with the true parent itself. `bits` and `true_bits` are the mean information of the given and of
    the true parent: log2 of the number of concepts per concept of the branch. `levels` is how far a
    true placement is above the true parent on average. They are None if nothing was placed.
    """

    target: float | None
    """The truth that was asked for; None is the rule for exact parents."""
    coverage: float
    truth: float | None
    exact: float | None
    bits: float | None
    true_bits: float | None
    levels: float | None


@dataclass(frozen=True)
class GrowthConfidence:
    """The calibration errors on new concepts, and the concepts accepted by each rule."""

    calibration_error: float
    branch_error: float | None
    accepted: tuple[AcceptedAtPrecision, ...]
    placed: tuple[PlacedAtTruth, ...]


def measure_confidence(model: TaxoExpan, new: Holdout) -> GrowthConfidence | None:
    """Measure the confidence of first suggestions; return None if the model has no confidence."""
    calibration = model.calibrators.calibration
    measured = model.reliability(new)
    if calibration is None or measured is None:
        return None
    thresholds = {target: calibration.reliability.threshold(target) for target in PRECISIONS}
    suggestions = model.suggest(new.concepts, top_k=1).flat
    truth = TruePlaces(new)
    targets = TRUTHS if calibration.branches else ()
    return GrowthConfidence(
        measured.error,
        truth.branch_error(suggestions) if calibration.branches else None,
        tuple(
            AcceptedAtPrecision(target, threshold, *measured.accepted(threshold))
            for target, threshold in thresholds.items()
        ),
        (
            *(
                truth.measure(suggestions, target, branch_threshold(model.calibrators, target))
                for target in targets
            ),
            truth.measure(suggestions),
        ),
    )


class TruePlaces:
    """The true parents of new concepts, and all concepts above them."""

    def __init__(self, new: Holdout) -> None:
        self._taxonomy = new.taxonomy.without_deprecated_relations
        self._parents = {
            concept.id: parents for concept, parents in zip(new.concepts, new.parents, strict=True)
        }
        ids = self._taxonomy.ids
        distinct = {ids[parent] for parents in new.parents for parent in parents}
        above = {id: {id, *self._taxonomy.ancestors(id)} for id in distinct}
        self._above = {
            id: set[str]().union(*(above[ids[parent]] for parent in parents))
            for id, parents in self._parents.items()
        }

    def branch_error(self, suggestions: Sequence[Suggestion]) -> float:
        """Return the calibration error of the branches on the paths that are informative."""
        confidence = []
        right = []
        for s in (each for each in suggestions if each.levels):
            lineage = self._taxonomy.short_lineage(self._taxonomy.index(s.parent.id))
            is_place = is_informative(self._taxonomy, lineage)
            for level, index in zip(np.array(s.levels)[is_place], lineage[is_place], strict=True):
                confidence.append(level)
                right.append(self._taxonomy.ids[index] in self._above[s.query.id])
        return Reliability.of(np.array(confidence), np.array(right, dtype=np.bool_)).error

    def measure(
        self,
        suggestions: Sequence[Suggestion],
        target: float | None = None,
        min_branch: float = 1.0,
    ) -> PlacedAtTruth:
        """Decide about new concepts as `expand` does, for a truth or with exact parents only."""
        policy = policy_of(min_branch=min_branch, exact_only=target is None)
        decisions = decide(self._taxonomy, suggestions, policy)
        placed = [s for d in decisions if isinstance(d, Place) for s in d.suggestions]
        if not placed:
            return PlacedAtTruth(target, 0.0, *[None] * 5)
        true = [s.parent.id in self._above[s.query.id] for s in placed]
        own = np.array([self._taxonomy.index(s.parent.id) for s in placed])
        firsts = np.array([self._parents[s.query.id][0] for s in placed])
        exact = [index in self._parents[s.query.id] for index, s in zip(own, placed, strict=True)]
        depths = [self._levels_above(*each) for each in zip(own, firsts, true, strict=True)]
        known = [depth for depth in depths if depth is not None]
        return PlacedAtTruth(
            target,
            len(placed) / len(self._parents),
            float(np.mean(true)),
            float(np.mean(exact)),
            self._bits(own[true]) if any(true) else None,
            self._bits(firsts[true]) if any(true) else None,
            float(np.mean(known)) if known else None,
        )

    def _levels_above(self, given: int, parent: int, true: bool) -> int | None:
        """Return how many levels a true place is above the parent, if it is on its path."""
        lineage = self._taxonomy.short_lineage(int(parent)).tolist()[::-1]
        return lineage.index(given) if true and given in lineage else None

    def _bits(self, concepts: Indices) -> float:
        """Return the mean information of branches, in bits."""
        sizes = self._taxonomy.descendant_intervals.counts(concepts)
        return float(np.log2(len(self._taxonomy) / sizes).mean())


def confidence_table(measured: Mapping[str, GrowthConfidence | None]) -> list[list[str]]:
    """Return the header and one row per model."""
    targets = [f"AT {percent(target)} PRECISION" for target in PRECISIONS]
    rows = [["METHOD", "CALIBRATION ERROR", "OF BRANCHES", *targets]]
    for name, confidence in measured.items():
        cells = ["no confidence learned"]
        if confidence is not None:
            errors = (confidence.calibration_error, confidence.branch_error)
            cells = ["" if e is None else f"{e:.3f}".removeprefix("0") for e in errors]
            cells += [_accepted_cell(each) for each in confidence.accepted]
        rows.append([name, *cells, *[""] * (2 + len(PRECISIONS) - len(cells))])
    return rows


def placement_table(measured: Mapping[str, GrowthConfidence | None]) -> list[list[str]]:
    """Return the header and one row per model and rule."""
    rows = [["METHOD", "RULE", "PLACED", "TRUE", "EXACT", "BITS", "LEVELS ABOVE"]]
    for name, confidence in measured.items():
        for each in () if confidence is None else confidence.placed:
            rule = "exact only" if each.target is None else f"truth {each.target:g}"
            shares = [
                "" if x is None else percent(x) for x in (each.coverage, each.truth, each.exact)
            ]
            bits = "" if each.bits is None else f"{each.bits:.1f} of {each.true_bits:.1f}"
            above = "" if each.levels is None else f"{each.levels:.1f}"
            rows.append([name, rule, *shares, bits, above])
    return rows


def _accepted_cell(accepted: AcceptedAtPrecision) -> str:
    if accepted.threshold is None:
        return "no threshold"
    if accepted.precision is None:
        return "none accepted"
    return f"{percent(accepted.coverage)} accepted, {percent(accepted.precision)} right"
