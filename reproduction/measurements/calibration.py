"""The calibration of confidence and abstention, on concepts with known parents.

The queries of a confidence are random `leaves`, different ones for every seed; the leaves of a
`split` that files list; or what a newer release adds (`releases`). A first suggestion is right if
it is any of the concept's remaining parents. For abstention, a whole branch is removed, and its
concepts are ranked together with held-out leaves of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from reproduction.measurements.calibration_results import (
    PRECISIONS,
    AbstentionResult,
    ConfidenceResult,
)
from reproduction.measurements.trial import RELEASES, Figures, Trial, first_places
from taxoexpan import Taxonomy
from taxoexpan.errors import ModelError, TaxonomyError
from taxoexpan.evaluation.growth import growth_between
from taxoexpan.placement.learned.abstention import abstention_features
from taxoexpan.taxonomy import Concept
from taxoexpan.training.holdout import Holdout, hold_out_leaves

MAX_HELD_OUT = 0.5
"""The maximum fraction of the leaves that a trial holds out."""


@dataclass(frozen=True)
class Branch:
    """Some concepts of a removed branch of `size` concepts, and which still have a parent.

    `leaves` are held out of the rest.
    """

    size: int
    concepts: tuple[Concept, ...]
    has_parent: tuple[bool, ...]
    leaves: Holdout


def measure_confidence(trial: Trial) -> Figures:
    """Return the first suggestion of every query, and whether it is right."""
    validation, test = QUERIES[trial.parameters["queries"]](trial)
    model = trial.new_model()
    model.fit(test.taxonomy, validation, trial.progress)
    calibration = model.calibrators.calibration
    if calibration is None:
        raise ModelError("too few leaves to calibrate the confidence", fix="use a larger taxonomy")
    first = first_places(model, test.concepts)
    ids = test.taxonomy.ids
    true = [{ids[parent] for parent in own.tolist()} for own in test.parents]
    result = ConfidenceResult(
        queries=[concept.id for concept in test.concepts],
        confidence=[s.confidence_or_score for s in first],
        scores=[s.score for s in first],
        right=[s.parent.id in own for s, own in zip(first, true, strict=True)],
        thresholds=[calibration.reliability.threshold(precision) for precision in PRECISIONS],
    )
    return asdict(result)


def leaves(trial: Trial) -> tuple[None, Holdout]:
    """Hold out random leaves."""
    whole, count = trial.data.taxonomy.active, trial.parameters["count"]
    return None, hold_out_leaves(whole, MAX_HELD_OUT, count, trial.seed)


def split(trial: Trial) -> tuple[Holdout, Holdout]:
    """Hold out the leaves that files list, the same for every seed."""
    return trial.data.split()


def growth(trial: Trial) -> tuple[None, Holdout]:
    """Place what the newer release adds, the same for every seed."""
    return None, growth_between(trial.data.taxonomy, trial.data.newer).queries


QUERIES: dict[str, Callable[[Trial], tuple[Holdout | None, Holdout]]] = {
    "leaves": leaves,
    "split": split,
    RELEASES: growth,
}
"""The holdouts for validation (None: as the model chooses) and for the test."""


def measure_abstention(trial: Trial) -> Figures:
    """Return the closeness to the taxonomy, for a removed branch and for leaves of the rest."""
    whole = trial.data.taxonomy.active
    id = largest_branch(whole, trial.parameters["max_branch"])
    branch = without_branch(whole, id, trial.parameters["count"], trial.seed)
    model, kept = trial.new_model(), branch.leaves
    model.fit(kept.taxonomy, progress=trial.progress)
    abstention = model.calibrators.abstention
    if abstention is None:
        raise ModelError("too few leaves to learn when to abstain", fix="use a larger taxonomy")

    def odds(concepts: Sequence[Concept]) -> list[float]:
        features = abstention_features(model._ranker, model._queries(concepts))
        found: list[float] = abstention.closeness(features).tolist()
        return found

    result = AbstentionResult(
        branch=whole.concept(id).label,
        size=branch.size,
        outside=odds(branch.concepts),
        has_parent=list(branch.has_parent),
        inside=odds(kept.concepts),
        threshold=abstention.threshold,
    )
    return asdict(result)


def largest_branch(taxonomy: Taxonomy, fraction: float) -> str:
    """Return the id of the concept with the most descendants, if they are at most a fraction."""
    most = fraction * len(taxonomy)
    sizes = {id: len(taxonomy.descendants(id)) for id in taxonomy if id not in taxonomy.roots}
    fitting = {id: size for id, size in sizes.items() if 0 < size <= most}
    if not fitting:
        raise TaxonomyError(
            f"no branch has at most {most:,.0f} concepts", fix="use a larger taxonomy"
        )
    return max(fitting, key=fitting.__getitem__)


def without_branch(whole: Taxonomy, id: str, count: int, seed: int) -> Branch:
    """Return at most `count` concepts of a branch, and as many leaves of the rest."""
    removed = [id, *whole.descendants(id)]
    rest = whole.without(removed)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(removed))[:count])
    ids = [removed[index] for index in chosen]
    has_parent = tuple(any(parent in rest for parent in whole.parents(id)) for id in ids)
    held_out = hold_out_leaves(rest, MAX_HELD_OUT, count, seed)
    return Branch(len(removed), tuple(map(whole.concept, ids)), has_parent, held_out)
