"""How well self-cleaning finds errors that were planted: precision at 100, average precision.

    python benchmarks/error_detection.py TAXONOMY --kind cousin --seed 0 --set epochs=15

A share of the leaves is moved to another parent, a random one or a plausible one; what is compared
are ways to order the relations of all leaves by how doubtful they are. Several seeds are averaged.
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
from taxoexpan.curation.cleaning import ModelOptions, SuspiciousRelation, clean
from taxoexpan.curation.cleaning.folds import concepts_to_check
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.taxonomy.arrays import Indices

Floats = NDArray[np.float64]

FIRST = 100
"""How many relations a person is thought to look at."""


@dataclass(frozen=True)
class Planted:
    """A taxonomy with errors, and the (parent id, child id) relations that are wrong."""

    taxonomy: Taxonomy
    wrong: frozenset[tuple[str, str]]


def main() -> None:
    """Print a line a seed and measure, and the means."""
    options = parsed()
    whole = Taxonomy.read(options.taxonomy).active
    settings = dict(parse_setting(text) for text in options.changes)
    if options.features:
        settings["features"] = options.features
    figures: dict[str, list[tuple[float, float]]] = {}
    for seed in options.seeds:
        planted = plant(whole, options.share, options.kind, seed)
        training = ModelOptions(seed=seed, device=options.device, settings=settings)
        doubts = clean(planted.taxonomy, training, options.folds, jobs=options.jobs)
        measures = candidates(doubts) | {
            "1 − cosine": distances(planted.taxonomy, doubts, training)
        }
        wrong = is_wrong(planted, doubts)
        print(f"seed {seed}: {wrong.sum()} of {len(wrong)} relations are wrong", flush=True)
        for among, those in {
            "wrong relations": wrong,
            f"first {FIRST}": np.arange(len(wrong)) < FIRST,
        }.items():
            right, sure = better_places(whole, doubts, those)
            print(f"  better places of the {among}: {right:.3f} right, mean confidence {sure:.3f}")
        for name, measure in measures.items():
            both = precision_at(FIRST, measure, wrong), average_precision(measure, wrong)
            figures.setdefault(name, []).append(both)
            print(f"  {name:<40} P@{FIRST} {both[0]:.3f}  AP {both[1]:.3f}", flush=True)
    print(f"\n{options.kind}, {options.share:.0%} of the leaves, {len(options.seeds)} seed(s)")
    for name, found in figures.items():
        precision, average = np.mean(found, axis=0)
        print(f"  {name:<40} P@{FIRST} {precision:.3f}  AP {average:.3f}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("taxonomy", type=Path)
    parser.add_argument("--share", type=float, default=0.02, help="of the leaves that is moved")
    parser.add_argument("--kind", choices=("random", "cousin"), default="random")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, nargs="+", default=[0], dest="seeds")
    parser.add_argument("--features", help="what makes vectors of names, as for taxoexpan train")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], dest="changes", metavar="NAME=VALUE")
    return parser.parse_args()


def plant(taxonomy: Taxonomy, share: float, kind: str, seed: int) -> Planted:
    """Move this share of the leaves, each under one wrong parent and away from all true ones.

    A wrong parent has children already, since one that had none before would give itself away, and
    is not above the leaf, since that would be no error.
    """
    generator = np.random.default_rng(seed)
    leaves = concepts_to_check(taxonomy)
    moved: dict[int, int] = {}
    for leaf in generator.permutation(leaves).tolist():
        if len(moved) == round(share * len(leaves)):
            break
        places = wrong_parents(taxonomy, leaf, kind)
        if len(places):
            moved[leaf] = int(generator.choice(places))
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
    """Where a leaf could be moved: anywhere, or to the siblings of its parents."""
    parents_of, children_of = taxonomy.parents_of, taxonomy.children_of
    above = parents_of.reach_of_many(np.array([leaf]))[1]
    places = np.arange(len(taxonomy))
    if kind == "cousin":
        grandparents = parents_of.of_many(parents_of.of(leaf))[1]
        places = np.unique(children_of.of_many(grandparents)[1])
    return np.setdiff1d(places[children_of.degrees[places] > 0], above)


def candidates(doubts: Sequence[SuspiciousRelation]) -> dict[str, Floats]:
    """The ways to order relations by what the models say of them, higher is more doubtful."""
    share = np.log([doubt.score for doubt in doubts])
    better = np.log([doubt.better_score for doubt in doubts])
    return {
        "rank of the parent": np.array([doubt.rank for doubt in doubts], np.float64),
        "log share(better) − log share(parent)": better - share,
        "−log share(parent)": -share,
    }


def distances(
    taxonomy: Taxonomy, doubts: Sequence[SuspiciousRelation], options: ModelOptions
) -> Floats:
    """How far a concept's vector is from its parent's: what needs no model."""
    encoder = options.new_model().encoder
    vectors = embed_concepts(encoder, taxonomy.concepts)[0]
    concepts = [taxonomy.index(doubt.concept.id) for doubt in doubts]
    parents = [taxonomy.index(doubt.parent.id) for doubt in doubts]
    return 1 - np.einsum("ij,ij->i", vectors[concepts], vectors[parents]).astype(np.float64)


def is_wrong(planted: Planted, doubts: Sequence[SuspiciousRelation]) -> NDArray[np.bool_]:
    """Which relations were planted."""
    return np.array([(doubt.parent.id, doubt.concept.id) in planted.wrong for doubt in doubts])


def better_places(
    whole: Taxonomy, doubts: Sequence[SuspiciousRelation], those: NDArray[np.bool_]
) -> tuple[float, float]:
    """How many of some better places were right before errors were planted, and how sure they are.

    Where no confidence could be learned, it is NaN.
    """
    right = [doubt.better.id in whole.parents(doubt.concept.id) for doubt in doubts]
    sure = np.array([doubt.confidence for doubt in doubts], np.float64)
    return float(np.mean(np.array(right)[those])), float(sure[those].mean())


def precision_at(first: int, measure: Floats, wrong: NDArray[np.bool_]) -> float:
    """The share of errors among the first; of relations alike at its end a part of each counts."""
    first = min(first, len(measure))
    last = np.sort(measure)[::-1][first - 1]
    sure, alike = measure > last, measure == last
    return float((wrong[sure].sum() + (first - sure.sum()) * wrong[alike].mean()) / first)


def average_precision(measure: Floats, wrong: NDArray[np.bool_]) -> float:
    """The mean over all errors of the precision down to each; relations alike come together."""
    order = np.argsort(-measure, kind="stable")
    found = np.cumsum(wrong[order])
    ends = np.flatnonzero(np.append(np.diff(measure[order]) != 0, True))
    here = np.diff(found[ends], prepend=0)
    return float((here * found[ends] / (ends + 1)).sum() / found[-1])


if __name__ == "__main__":
    main()
