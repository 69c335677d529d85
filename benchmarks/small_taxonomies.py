"""Compare a preset with Closest-Parent on small taxonomies: subtrees of a large one.

    python benchmarks/small_taxonomies.py TAXONOMY --preset best --count 20 --seed 0

Every subtree has 200 to 500 concepts, and no two have a concept in common. A fifth of the leaves is
held out as taxonomies grow. A model learns from the rest and places the held-out concepts.
Closest-Parent does the same with the vectors of the model's encoder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.config import parse_setting
from taxoexpan.errors import TaxoExpanError, TaxonomyError
from taxoexpan.evaluation.growth import Growth, evaluate_growth
from taxoexpan.evaluation.rules import ClosestParent
from taxoexpan.placement.joint.prior_learning import remove_subtrees
from taxoexpan.training.holdout import hold_out_growth
from taxoexpan.training.metrics import compute_metrics

MIN_SIZE, MAX_SIZE = 200, 500
"""The number of concepts of a small taxonomy."""
FRACTION = 0.2
"""The fraction of the leaves that is held out."""


@dataclass(frozen=True)
class SubtreeResult:
    """Hit@1 of the model and of Closest-Parent on the held-out concepts of one subtree."""

    root: str
    concepts: int
    queries: int
    model: float
    baseline: float


def main() -> None:
    """Train one model per subtree, and print the table."""
    options = parse_arguments()
    try:
        taxonomy = Taxonomy.read(options.taxonomy).active
        settings = dict(map(parse_setting, options.changes))
        if options.features:
            settings["features"] = options.features
        results = []
        for subtree in small_subtrees(taxonomy, options.count, MIN_SIZE, MAX_SIZE, options.seed):
            model = TaxoExpan(options.preset, options.seed, options.device, **settings)
            results.append(compare_on(subtree, model, options.seed))
            print(row(results[-1]), file=sys.stderr, flush=True)
    except TaxoExpanError as error:
        sys.exit(f"error: {error}")
    print(table(results, options.preset))


def small_subtrees(
    taxonomy: Taxonomy, count: int, min_size: int, max_size: int, seed: int
) -> list[Taxonomy]:
    """Return random subtrees of these sizes as taxonomies of their own, without common concepts."""
    batches = remove_subtrees(taxonomy, count, min_size, max_size, seed).batches
    if len(batches) < count:
        raise TaxonomyError(
            f"only {len(batches)} disjoint subtrees have {min_size} to {max_size} concepts; give a "
            "lower --count or a larger taxonomy"
        )
    subtrees = []
    for batch in batches:
        inside = {concept.id for concept in batch.concepts}
        subtrees.append(taxonomy.without([id for id in taxonomy if id not in inside]))
    return subtrees


def compare_on(subtree: Taxonomy, model: TaxoExpan, seed: int) -> SubtreeResult:
    """Hold out a part of a subtree, and let both methods place it."""
    holdout = hold_out_growth(subtree, FRACTION, len(subtree), seed)
    growth = Growth(holdout, deprecated=0, known=0, orphans=0)
    methods = {"model": model, "baseline": ClosestParent()}
    results = evaluate_growth(growth, methods, model.encoder)
    hits = {name: compute_metrics(result.ranks).hit_at_1 for name, result in results.items()}
    root = subtree.concept(subtree.roots[0]).label
    return SubtreeResult(root, len(subtree), len(holdout.concepts), **hits)


def table(results: Sequence[SubtreeResult], preset: str) -> str:
    """Return one row per subtree, the means, and the number of wins and losses of the model."""
    differences = np.array([each.model - each.baseline for each in results])
    means = (np.mean([getattr(each, name) for each in results]) for name in ("model", "baseline"))
    model, baseline = (f"{mean:.3f}" for mean in means)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    lines = [
        f"| subtree | concepts | held out | {preset} | Closest-Parent | difference |",
        "|---|---|---|---|---|---|",
        *map(row, results),
        f"| mean | | | {model} | {baseline} | {differences.mean():+.3f} |",
        "",
        f"Hit@1: wins {wins}, losses {losses}, ties {len(results) - wins - losses}",
    ]
    return "\n".join(lines)


def row(result: SubtreeResult) -> str:
    """Return the row of one subtree."""
    difference = result.model - result.baseline
    hits = f"{result.model:.3f} | {result.baseline:.3f} | {difference:+.3f}"
    return f"| {result.root} | {result.concepts} | {result.queries} | {hits} |"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("taxonomy", type=Path)
    parser.add_argument("--preset", default="best")
    parser.add_argument("--count", type=int, default=20, help="number of subtrees")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--features", help="as for taxoexpan train")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", action="append", default=[], dest="changes", metavar="NAME=VALUE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
