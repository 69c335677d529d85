"""Errors that are planted in a taxonomy, and how well `clean` finds them.

A fraction of the leaves is moved to another parent, a `random` or a plausible one (`cousin`). Ways
to order the relations of all leaves by how suspicious they are are compared by their precision at
100 and by their average precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduction.measurements.runs import MeasuredRun
from reproduction.measurements.tables import format_fraction, markdown_table
from reproduction.measurements.trial import Figures, Trial
from taxoexpan import Taxonomy
from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from taxoexpan.curation.cleaning.folds import SuspiciousRelation, concepts_to_check
from taxoexpan.curation.cleaning.self_cleaning import clean
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.taxonomy.arrays import Floats, Indices

FIRST = 100
"""The number of relations that a person would look at."""


@dataclass(frozen=True)
class Planted:
    """A taxonomy with errors, and the wrong relations as (parent id, child id)."""

    taxonomy: Taxonomy
    wrong: frozenset[tuple[str, str]]


def measure(trial: Trial) -> Figures:
    """Plant errors, clean the taxonomy, and measure every order of the relations."""
    whole, parameters = trial.data.taxonomy.active, trial.parameters
    planted = plant(whole, parameters["fraction"], parameters["kind"], trial.seed)
    settings = trial.settings
    preset = settings.pop("preset")
    training = ModelOptions(preset, trial.seed, trial.device, settings)
    relations = clean(planted.taxonomy, training, parameters["folds"])
    wrong = is_wrong(planted, relations)
    measures = model_measures(relations)
    measures["1 − cosine"] = distances(planted.taxonomy, relations, training)
    groups = {"wrong relations": wrong, f"first {FIRST}": np.arange(len(wrong)) < FIRST}
    return {
        "relations": len(wrong),
        "wrong": int(wrong.sum()),
        "better_parents": {
            among: better_parents(whole, relations, chosen) for among, chosen in groups.items()
        },
        "orders": {
            name: {
                "precision": precision_at(FIRST, values, wrong),
                "average_precision": average_precision(values, wrong),
            }
            for name, values in measures.items()
        },
    }


def plant(taxonomy: Taxonomy, fraction: float, kind: str, seed: int) -> Planted:
    """Move a fraction of the leaves, each from all its parents to one wrong parent.

    A wrong parent already has children, since a former leaf would be easy to detect, and it is not
    an ancestor of the leaf, since that would not be an error.
    """
    rng = np.random.default_rng(seed)
    leaves = concepts_to_check(taxonomy)
    moved: dict[int, int] = {}
    for leaf in rng.permutation(leaves).tolist():
        if len(moved) == round(fraction * len(leaves)):
            break
        parents = wrong_parents(taxonomy, leaf, kind)
        if len(parents):
            moved[leaf] = int(rng.choice(parents))
    parents, children = taxonomy.relation_indices
    kept = ~np.isin(children, list(moved))
    wrong = np.array([*moved.values()], np.int64), np.array([*moved], np.int64)
    changed = Taxonomy.from_columns(
        taxonomy.ids,
        taxonomy.labels,
        np.concatenate([parents[kept], wrong[0]]),
        np.concatenate([children[kept], wrong[1]]),
        taxonomy.synonyms,
        taxonomy.definitions,
    )
    pairs = {(taxonomy.ids[parent], taxonomy.ids[leaf]) for leaf, parent in moved.items()}
    return Planted(changed, frozenset(pairs))


def wrong_parents(taxonomy: Taxonomy, leaf: int, kind: str) -> Indices:
    """Return the parents to move a leaf to: any, or the siblings of its parents (cousin)."""
    parents_of, children_of = taxonomy.parents_of, taxonomy.children_of
    ancestors = np.concatenate([[leaf], *parents_of.levels_down(np.array([leaf]))])
    candidates = np.arange(len(taxonomy))
    if kind == "cousin":
        grandparents = parents_of.of_many(parents_of.of(leaf))[1]
        candidates = np.unique(children_of.of_many(grandparents)[1])
    return np.setdiff1d(candidates[children_of.degrees[candidates] > 0], ancestors)


def model_measures(relations: Sequence[SuspiciousRelation]) -> dict[str, Floats]:
    """Return the measures by the models; higher is more suspicious."""
    score = np.log([relation.score for relation in relations])
    better = np.log([relation.better_score for relation in relations])
    return {
        "rank of the parent": np.array([relation.rank for relation in relations], np.float64),
        "log score(better) − log score(parent)": better - score,
        "−log score(parent)": -score,
    }


def distances(
    taxonomy: Taxonomy, relations: Sequence[SuspiciousRelation], options: ModelOptions
) -> Floats:
    """Return the distance between the vectors of concept and parent, which needs no model."""
    encoder = options.new_model().encoder
    vectors = embed_concepts(encoder, taxonomy.concepts)[0]
    concepts = [taxonomy.index(relation.concept.id) for relation in relations]
    parents = [taxonomy.index(relation.parent.id) for relation in relations]
    cosines: Floats = np.einsum("ij,ij->i", vectors[concepts], vectors[parents])
    return 1 - cosines.astype(np.float64)


def is_wrong(planted: Planted, relations: Sequence[SuspiciousRelation]) -> NDArray[np.bool_]:
    """Return which relations were planted."""
    return np.array(
        [(relation.parent.id, relation.concept.id) in planted.wrong for relation in relations]
    )


def better_parents(
    whole: Taxonomy, relations: Sequence[SuspiciousRelation], chosen: NDArray[np.bool_]
) -> Figures:
    """Return the fraction of right better parents, and their mean confidence.

    The confidence is None if it could not be learned.
    """
    right = [relation.better.id in whole.parents(relation.concept.id) for relation in relations]
    confidence = np.array([relation.confidence for relation in relations], np.float64)[chosen]
    mean = None if np.isnan(confidence).any() else float(confidence.mean())
    return {"right": float(np.mean(np.array(right)[chosen])), "confidence": mean}


def precision_at(first: int, measure: Floats, wrong: NDArray[np.bool_]) -> float:
    """Return the fraction of errors among the first; ties at the end count in part."""
    first = min(first, len(measure))
    last = np.sort(measure)[::-1][first - 1]
    above, tied = measure > last, measure == last
    return float((wrong[above].sum() + (first - above.sum()) * wrong[tied].mean()) / first)


def average_precision(measure: Floats, wrong: NDArray[np.bool_]) -> float:
    """Return the mean precision down to each error; ties are taken together."""
    order = np.argsort(-measure, kind="stable")
    found = np.cumsum(wrong[order])
    ends = np.flatnonzero(np.append(np.diff(measure[order]) != 0, True))
    new_errors = np.diff(found[ends], prepend=0)
    return float((new_errors * found[ends] / (ends + 1)).sum() / found[-1])


def tables(runs: Sequence[MeasuredRun]) -> str:
    """Return one table per run."""
    return "\n\n".join(table(run) for run in runs)


def table(run: MeasuredRun) -> str:
    """Return one row per order of the relations."""
    figures = run.figures
    text = f"{run.title}: {figures['wrong']:,} of {figures['relations']:,} relations are wrong"
    for among, better in figures["better_parents"].items():
        right, confidence = (format_fraction(better[name]) for name in ("right", "confidence"))
        text += f"; better parents of the {among}: {right} right, mean confidence {confidence}"
    rows = [
        [name, *(format_fraction(value, 3) for value in values.values())]
        for name, values in figures["orders"].items()
    ]
    columns = ("order", f"precision at {FIRST}", "average precision")
    return f"{text}\n\n{markdown_table(columns, rows)}"
