"""How well a model that grows without training ranks, against models that are trained again.

Some concepts are test queries. Others are growth: a model is trained without them, and they are
added as anchors afterwards (`TaxoExpan.update`). The updated model is compared with one that
continues the training on the grown taxonomy (`TaxoExpan.refit`), and with one that is trained anew.
All of them rank the same queries in the same grown taxonomy.

Test queries and growth are `held-out`, as taxonomies grow; or both are concepts that a newer
release has added (`releases`), half of them each, drawn at random.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from reproduction.measurements.runs import MeasuredRun
from reproduction.measurements.tables import format_fraction, markdown_table
from reproduction.measurements.trial import RELEASES, Figures, Trial
from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.training.holdout import Holdout, hold_out, hold_out_growth
from taxoexpan.training.metrics import Metrics, compute_metrics

METRICS = ("hit_at_1", "hit_at_3", "hit_at_10", "reciprocal_rank", "mr")


def measure(trial: Trial) -> Figures:
    """Compare the models for every growth."""
    rows: list[Figures] = []
    cases = [*growths(trial)]
    for percentage, older, test in cases:
        rows += [{"growth": percentage, **row} for row in compare(trial, older, test)]
    percentage, older, test = cases[0]
    began = time.process_time()
    anew = trial.new_model().fit(test.taxonomy, progress=trial.progress)
    seconds = time.process_time() - began
    anew_row = {"growth": None, "model": "trained anew", "cpu_seconds": seconds}
    rows.append(anew_row | figures_of(anew, older, test))
    return {"rows": rows}


def growths(trial: Trial) -> Iterator[tuple[float, Taxonomy, Holdout]]:
    """Yield how far a taxonomy grows, its older version, and the test queries in the newer one."""
    data, parameters = trial.data, trial.parameters
    if parameters["growth"] == RELEASES:
        yield real_growth(data.taxonomy, data.newer, trial.seed)
        return
    percentages, tested = parameters["percentages"], parameters["tested"]
    yield from held_out_growth(data.taxonomy, percentages, tested, trial.seed)


def held_out_growth(
    taxonomy: Taxonomy, percentages: Sequence[float], tested: int, seed: int
) -> Iterator[tuple[float, Taxonomy, Holdout]]:
    """Yield the same for held-out concepts, one growth in percent after the other."""
    test = hold_out_growth(taxonomy.active, 0.5, tested, 1000 + seed)
    newer = test.taxonomy
    for percentage in percentages:
        count = round(len(newer) * percentage / (100 + percentage))
        yield percentage, hold_out_growth(newer, 0.99, count, 2000 + seed).taxonomy, test


def real_growth(old: Taxonomy, new: Taxonomy, seed: int) -> tuple[float, Taxonomy, Holdout]:
    """Return the same of two releases; half of the added leaves are the test queries."""
    leaves = [id for id in new.leaves if id not in old]
    rng = np.random.default_rng(seed)
    tested = rng.permutation(np.array(leaves, dtype=object))[: len(leaves) // 2].tolist()
    test = hold_out(new, tested)
    shared = sum(id in old for id in test.taxonomy)
    return 100 * (len(test.taxonomy) - shared) / len(old), old, test


def compare(trial: Trial, older: Taxonomy, test: Holdout) -> Iterator[Figures]:
    """Train on the older version, and yield the figures of both ways to the newer one."""
    model = trial.new_model().fit(older, progress=trial.progress)
    for name, change in (("updated", TaxoExpan.update), ("continued", TaxoExpan.refit)):
        changed, began = copy.copy(model), time.process_time()
        change(changed, test.taxonomy)
        seconds = time.process_time() - began
        yield {"model": name, "cpu_seconds": seconds} | figures_of(changed, older, test)


def figures_of(model: TaxoExpan, older: Taxonomy, test: Holdout) -> dict[str, Any]:
    """Return the metrics of all queries, and of those with an old or only new parents."""
    ids = test.taxonomy.ids
    is_known = [any(ids[i] in older for i in own) for own in test.parents]
    ranks = model.true_ranks(test)
    old = [rank for rank, known in zip(ranks, is_known, strict=True) if known]
    new = [rank for rank, known in zip(ranks, is_known, strict=True) if not known]
    parts = {"all": ranks, "old parent": old, "new parent": new}
    return {name: _figures(compute_metrics(some)) for name, some in parts.items() if some}


def _figures(metrics: Metrics) -> dict[str, float]:
    return {name: round(asdict(metrics)[name], 4) for name in ("queries", *METRICS)}


def tables(runs: Sequence[MeasuredRun]) -> str:
    """Return one table per run."""
    return "\n\n".join(f"{run.title}\n\n{table(run)}" for run in runs)


def table(run: MeasuredRun) -> str:
    """Return one row per growth, model and kind of query."""
    columns = ["growth", "model", "queries", "", "Hit@1", "Hit@3", "Hit@10", "MRR", "mean rank"]
    rows = []
    for row in run.figures["rows"]:
        growth, model, seconds, parts = row["growth"], row["model"], row["cpu_seconds"], row
        for part in ("all", "old parent", "new parent"):
            if part not in parts:
                continue
            metrics = parts[part]
            *fractions, mean_rank = (metrics[name] for name in METRICS)
            cells = ["" if growth is None else f"{growth:.1f} %", model, f"{metrics['queries']:,}"]
            cells += [part, *(format_fraction(value, 3) for value in fractions)]
            rows.append([*cells, f"{mean_rank:.0f}", f"{seconds:.0f}"])
    return markdown_table([*columns, "CPU seconds"], rows)
