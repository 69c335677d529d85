"""How well `clean` finds planted errors: precision at 100, and average precision.

    python benchmarks/error_detection.py TAXONOMY --kind cousin --seed 0 --set epochs=15

A fraction of the leaves is moved to another parent, a random or a plausible one. The benchmark
compares ways to order the relations of all leaves by how suspicious they are, averaged over seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from taxoexpan import Taxonomy
from taxoexpan.config import parse_setting
from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from taxoexpan.curation.cleaning.folds import SuspiciousRelation, concepts_to_check
from taxoexpan.curation.cleaning.self_cleaning import clean
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.taxonomy.arrays import Indices

Floats = NDArray[np.float64]

FIRST = 100
"""The number of relations that a person would look at."""


@dataclass(frozen=True)
class Planted:
    """A taxonomy with errors, and the wrong relations as (parent id, child id)."""

    taxonomy: Taxonomy
    wrong: frozenset[tuple[str, str]]


def main() -> None:
    """Print one line per seed and measure, and the means."""
    options = parse_arguments()
    whole = Taxonomy.read(options.taxonomy).active
    settings = dict(parse_setting(text) for text in options.changes)
    if options.features:
        settings["features"] = options.features
    figures: dict[str, list[tuple[float, float]]] = {}
    for seed in options.seeds:
        planted = plant(whole, options.fraction, options.kind, seed)
        training = ModelOptions(seed=seed, device=options.device, settings=settings)
        relations = clean(planted.taxonomy, training, options.folds)
        measures = model_measures(relations) | {
            "1 − cosine": distances(planted.taxonomy, relations, training)
        }
        wrong = is_wrong(planted, relations)
        print(f"seed {seed}: {wrong.sum()} of {len(wrong)} relations are wrong", flush=True)
        for among, chosen in {
            "wrong relations": wrong,
            f"first {FIRST}": np.arange(len(wrong)) < FIRST,
        }.items():
            right, confidence = better_parents(whole, relations, chosen)
            print(f"  better parents, {among}: {right:.3f} right, mean confidence {confidence:.3f}")
        for name, measure in measures.items():
            both = precision_at(FIRST, measure, wrong), average_precision(measure, wrong)
            figures.setdefault(name, []).append(both)
            print(f"  {name:<40} P@{FIRST} {both[0]:.3f}  AP {both[1]:.3f}", flush=True)
    print(f"\n{options.kind}, {options.fraction:.0%} of the leaves, {len(options.seeds)} seed(s)")
    for name, found in figures.items():
        precision, average = np.mean(found, axis=0)
        print(f"  {name:<40} P@{FIRST} {precision:.3f}  AP {average:.3f}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("taxonomy", type=Path)
    parser.add_argument(
        "--fraction", type=float, default=0.02, help="the fraction of the leaves to move"
    )
    parser.add_argument("--kind", choices=("random", "cousin"), default="random")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, nargs="+", default=[0], dest="seeds")
    parser.add_argument("--features", help="the encoder, as in taxoexpan train")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", action="append", default=[], dest="changes", metavar="NAME=VALUE")
    return parser.parse_args()


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
    return 1 - np.einsum("ij,ij->i", vectors[concepts], vectors[parents]).astype(np.float64)


def is_wrong(planted: Planted, relations: Sequence[SuspiciousRelation]) -> NDArray[np.bool_]:
    """Return which relations were planted."""
    return np.array(
        [(relation.parent.id, relation.concept.id) in planted.wrong for relation in relations]
    )


def better_parents(
    whole: Taxonomy, relations: Sequence[SuspiciousRelation], chosen: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the fraction of right better parents, and their mean confidence.

    The confidence is NaN if it could not be learned.
    """
    right = [relation.better.id in whole.parents(relation.concept.id) for relation in relations]
    confidence = np.array([relation.confidence for relation in relations], np.float64)
    return float(np.mean(np.array(right)[chosen])), float(confidence[chosen].mean())


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


if __name__ == "__main__":
    main()
