"""Measure when a model that grows without training should be trained again.

    python benchmarks/update_quality.py TAXONOMY --preset fast --json results.json
    python benchmarks/update_quality.py OLD --new NEW --preset fast --json results.json

Some concepts are test queries. Others are growth: a model is trained without them, and they are
added as anchors afterwards (`TaxoExpan.update`). The updated model is compared with one that
continues the training on the grown taxonomy (`TaxoExpan.refit`), and with one that is trained anew.
All of them rank the same queries in the same grown taxonomy.

Without NEW, test queries and growth are held out of TAXONOMY, as taxonomies grow. With NEW, both
are concepts that the release has added, half of them each, drawn at random.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.training.holdout import Holdout, hold_out, hold_out_growth
from taxoexpan.training.metrics import Metrics, compute_metrics


def held_out_growth(
    taxonomy: Taxonomy, percentages: list[float], tested: int, seed: int
) -> Iterator[tuple[float, Taxonomy, Holdout]]:
    """Yield how far a taxonomy grows, its older version, and the test queries in the newer one."""
    test = hold_out_growth(taxonomy.active, 0.5, tested, 1000 + seed)
    newer = test.taxonomy
    for percentage in percentages:
        count = round(len(newer) * percentage / (100 + percentage))
        yield percentage, hold_out_growth(newer, 0.99, count, 2000 + seed).taxonomy, test


def real_growth(
    old: Taxonomy, new: Taxonomy, seed: int
) -> Iterator[tuple[float, Taxonomy, Holdout]]:
    """Yield the same of two releases; half of the added leaves are the test queries."""
    leaves = [id for id in new.leaves if id not in old]
    rng = np.random.default_rng(seed)
    tested = rng.permutation(np.array(leaves, dtype=object))[: len(leaves) // 2].tolist()
    test = hold_out(new, tested)
    shared = sum(id in old for id in test.taxonomy)
    yield 100 * (len(test.taxonomy) - shared) / len(old), old, test


def compare(
    percentage: float, older: Taxonomy, test: Holdout, options: argparse.Namespace, seed: int
) -> dict[str, Any]:
    """Train on the older version, and compare the ways to the newer one on the test queries."""
    began = time.process_time()
    model = TaxoExpan(options.preset, seed, options.device).fit(older)
    seconds = {"fit": time.process_time() - began}
    known = [[i for i in own if test.taxonomy.ids[i] in older] for own in test.parents]
    figures = {"updated": measure(model, test, known)}
    if options.refit:
        began = time.process_time()
        continued = copy.copy(model)
        continued.refit(test.taxonomy)
        seconds["refit"] = time.process_time() - began
        figures["continued"] = measure(continued, test, known)
    return {"seed": seed, "growth": percentage, "cpu_seconds": seconds, "models": figures}


def measure(model: TaxoExpan, test: Holdout, known: list[list[int]]) -> dict[str, Any]:
    """Return the metrics of all queries, and of those with an old or only new parents."""
    ranks = model.true_ranks(test)
    old = [rank for rank, own in zip(ranks, known, strict=True) if own]
    new = [rank for rank, own in zip(ranks, known, strict=True) if not own]
    parts = {"all": ranks, "old parent": old, "new parent": new}
    return {name: _figures(compute_metrics(some)) for name, some in parts.items() if some}


def _figures(metrics: Metrics) -> dict[str, float]:
    names = ("queries", "hit_at_1", "hit_at_3", "hit_at_10", "reciprocal_rank", "mr")
    return {name: round(asdict(metrics)[name], 4) for name in names}


def main() -> None:
    """Compare the models for every growth and seed, and print one line of JSON each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("taxonomy", type=Path)
    parser.add_argument("--new", type=Path, help="the newer release")
    parser.add_argument("--growth", nargs="+", type=float, default=[1, 5, 10, 20])
    parser.add_argument("--tested", type=int, default=2000)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--refit", action="store_true", help="also continue the training")
    parser.add_argument("--json", type=Path, help="append one line per result to this file")
    options = parser.parse_args()
    taxonomy = Taxonomy.read(options.taxonomy)
    for seed in options.seeds:
        if options.new:
            cases = [*real_growth(taxonomy, Taxonomy.read(options.new), seed)]
        else:
            cases = [*held_out_growth(taxonomy, options.growth, options.tested, seed)]
        for case in cases:
            report(compare(*case, options, seed), options.json)
        test = cases[0][2]
        began = time.process_time()
        anew = TaxoExpan(options.preset, seed, options.device).fit(test.taxonomy)
        spent = {"fit": time.process_time() - began}
        known = [[i for i in own if test.taxonomy.ids[i] in cases[0][1]] for own in test.parents]
        figures = {"trained anew": measure(anew, test, known)}
        report({"seed": seed, "cpu_seconds": spent, "models": figures}, options.json)


def report(result: dict[str, Any], path: Path | None) -> None:
    """Print a result, and append it to a file."""
    line = json.dumps(result)
    print(line, flush=True)
    if path:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
