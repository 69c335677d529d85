"""A simulated curator, who reviews the growth of a taxonomy, and what a model learns from it.

A model is trained on the old release, and suggests five parents for each new concept. The curator
knows the true parents and answers the first concepts of the queue: accepts the best true parent
among the proposals, or searches for it, which rejects the proposals above it. Then the remaining
concepts are ranked by the old model, by the old model with the accepted concepts as anchors, and by
models that continue the training with the decisions (`TaxoExpan.refit`), one per recipe.

The new concepts are those that a newer release adds (`releases`), or are `held-out` as taxonomies
grow: recipes are chosen there.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reproduction.measurements.runs import MeasuredRun
from reproduction.measurements.tables import format_fraction, markdown_table
from reproduction.measurements.trial import RELEASES, Figures, Trial
from taxoexpan import Concept, TaxoExpan, Taxonomy
from taxoexpan.decisions.feedback import Feedback
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind
from taxoexpan.evaluation.growth import growth_between
from taxoexpan.placement.fitting.judged_taxonomy import apply_feedback
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.training.continuation import DEFAULT_RECIPE, Recipe
from taxoexpan.training.holdout import Holdout, hold_out_growth
from taxoexpan.training.metrics import compute_metrics

SHOWN = 5
"""Proposals that the curator sees of each concept."""
METRICS = {"hit_at_1": "Hit@1", "hit_at_3": "Hit@3", "hit_at_10": "Hit@10", "mrr": "scaled MRR"}


def measure(trial: Trial) -> Figures:
    """Train a model, review with it in every order, and return all figures."""
    parameters, growth = trial.parameters, growth_of(trial)
    given: Mapping[str, Mapping[str, Any]] = parameters["recipes"]
    recipes = {name: replace(DEFAULT_RECIPE, **changes) for name, changes in given.items()}
    model = trial.new_model().fit(growth.taxonomy, progress=trial.progress)
    queue = propose(model, growth)
    reviews = []
    for order in parameters["orders"]:
        first = ordered(queue, order, trial.seed)
        for answers in parameters["answers"]:
            found = review(model, first, answers, recipes, parameters["anew"])
            reviews.append({"order": order, **found})
    return {"new": len(queue), "actions": count_actions(queue), "reviews": reviews}


def growth_of(trial: Trial) -> Holdout:
    """Return the new concepts: those of the new release, or held-out ones."""
    old, parameters = trial.data.taxonomy, trial.parameters
    if parameters["growth"] == RELEASES:
        return growth_between(old, trial.data.newer).queries
    return hold_out_growth(old.active, 0.5, parameters["held_out"], 100 + trial.seed)


@dataclass(frozen=True)
class Queue:
    """New concepts in the order in which they are reviewed, with the model's proposals."""

    growth: Holdout
    proposals: Sequence[Sequence[Suggestion]]

    def __len__(self) -> int:
        return len(self.growth.concepts)

    def select(self, rows: Sequence[int]) -> Queue:
        """Return the concepts in these rows, in their order."""
        growth = self.growth
        chosen = replace(
            growth,
            concepts=tuple(growth.concepts[row] for row in rows),
            parents=tuple(growth.parents[row] for row in rows),
        )
        return Queue(chosen, [self.proposals[row] for row in rows])

    def true_parents(self, row: int) -> set[str]:
        """Return the ids of the true parents of a concept."""
        return {self.growth.taxonomy.ids[index] for index in self.growth.parents[row]}

    def true_rank(self, row: int) -> int | None:
        """Return the rank of the first proposal that is right; None if the curator must search."""
        true = self.true_parents(row)
        ranks = (
            proposal.rank
            for proposal in self.proposals[row]
            if proposal.parent.id in true and proposal.kind != SuggestionKind.MERGE
        )
        return next(ranks, None)


def propose(model: TaxoExpan, growth: Holdout) -> Queue:
    """Let a model suggest parents for all new concepts.

    Names that the taxonomy has, and repeated names, are left out, as in the desk.
    """
    names = known_names(growth.taxonomy)
    first = {normalize_name(c.label): row for row, c in reversed([*enumerate(growth.concepts)])}
    rows = sorted(row for name, row in first.items() if name not in names)
    growth = Queue(growth, [()] * len(growth.concepts)).select(rows).growth
    by_id: dict[str, list[Suggestion]] = {concept.id: [] for concept in growth.concepts}
    for suggestion in model.suggest(growth.concepts, SHOWN).flat:
        by_id[suggestion.query.id].append(suggestion)
    return Queue(growth, [by_id[concept.id] for concept in growth.concepts])


def ordered(queue: Queue, order: str, seed: int) -> Queue:
    """Sort a queue; the largest groups of one proposed parent come first in the order `parent`."""
    rows = np.arange(len(queue))
    first = [proposals[0] for proposals in queue.proposals]
    if order == "confidence":
        rows = np.argsort([-each.confidence_or_score for each in first], kind="stable")
    elif order == "parent":
        _, groups, sizes = np.unique(
            [each.parent.id for each in first], return_inverse=True, return_counts=True
        )
        rows = np.lexsort((rows, groups, -sizes[groups]))
    elif order == "random":
        rows = np.random.default_rng(seed).permutation(len(queue))
    return queue.select(rows.tolist())


def answer(queue: Queue) -> Feedback:
    """Return the decisions of the simulated curator about all concepts of a queue."""
    accepted, rejected = [], []
    for row, concept in enumerate(queue.growth.concepts):
        true, best = queue.true_parents(row), queue.true_rank(row)
        accepted += [Suggestion(concept, 0, Concept(id, "")) for id in sorted(true)]
        for each in queue.proposals[row]:
            if best is None or each.rank < best:
                rejected.append(replace(each, query=concept))
    return Feedback(accepted, rejected)


def single_actions(queue: Queue, row: int) -> int:
    """Return the actions for one concept: one key, or a search and a choice."""
    return 2 if queue.true_rank(row) is None else 1


def count_actions(queue: Queue) -> dict[str, float]:
    """Return the actions per concept, one by one and with groups of one proposed parent.

    A group is accepted with one action if all its proposals are right, otherwise one by one. In
    `wrong_first`, the curator decides about the wrong ones first, and then accepts the others
    together.
    """
    groups: dict[str, list[int]] = {}
    for row, proposals in enumerate(queue.proposals):
        groups.setdefault(proposals[0].parent.id, []).append(row)
    whole = wrong_first = 0
    for rows in groups.values():
        wrong = [row for row in rows if queue.true_rank(row) != 1]
        whole += sum(single_actions(queue, row) for row in rows) if wrong else 1
        wrong_first += sum(single_actions(queue, row) for row in wrong)
        wrong_first += len(wrong) < len(rows)
    alone = sum(single_actions(queue, row) for row in range(len(queue)))
    actions = {"one_by_one": alone, "grouped": whole, "wrong_first": wrong_first}
    return {name: count / max(len(queue), 1) for name, count in actions.items()} | {
        "concepts": len(queue),
        "groups": len(groups),
    }


def metrics_of(model: TaxoExpan, growth: Holdout) -> Figures:
    """Return how a model ranks the true parents of concepts, and how far its confidence is off."""
    metrics, reliability = compute_metrics(model.true_ranks(growth)), model.reliability(growth)
    return {
        "hit_at_1": metrics.hit_at_1,
        "hit_at_3": metrics.hit_at_3,
        "hit_at_10": metrics.hit_at_10,
        "mrr": metrics.reciprocal_rank,
        "calibration_error": None if reliability is None else reliability.error,
    }


def placed_in(taxonomy: Taxonomy, growth: Holdout) -> Holdout:
    """Return the same concepts, to be placed in a larger taxonomy."""
    old = growth.taxonomy
    parents = (np.array([taxonomy.index(old.ids[i]) for i in own]) for own in growth.parents)
    return replace(growth, taxonomy=taxonomy, parents=tuple(parents))


def review(
    model: TaxoExpan, queue: Queue, answers: int, recipes: Mapping[str, Recipe], anew: bool
) -> Figures:
    """Answer the first concepts of a queue, and measure all models on the others."""
    first = queue.select(range(min(answers, len(queue))))
    others = queue.select(range(len(first), len(queue))).growth
    feedback, taxonomy = answer(first), model.taxonomy
    expanded = apply_feedback(taxonomy, feedback).taxonomy
    results: dict[str, Figures] = {
        "old": metrics_of(model, others),
        "anchors": metrics_of(model, placed_in(expanded, others)),
    }
    for name, recipe in recipes.items():
        refitted, began = copy.copy(model), time.process_time()
        refitted.refit(taxonomy, feedback, recipe=recipe)
        results[name] = timed(refitted, others, began)
    if anew:
        began = time.process_time()
        results["trained anew"] = timed(copy.copy(model).fit(expanded), others, began)
    return {
        "answers": len(first),
        "answers_hit_at_1": float(np.mean([first.true_rank(i) == 1 for i in range(len(first))])),
        "rejected": len(feedback.rejected),
        "remaining": len(others.concepts),
        "models": results,
    }


def timed(model: TaxoExpan, growth: Holdout, began: float) -> Figures:
    """Measure a model whose training began at a CPU time and has just ended."""
    seconds = round(time.process_time() - began, 1)
    return metrics_of(model, placed_in(model.taxonomy, growth)) | {"cpu_seconds": seconds}


def tables(runs: Sequence[MeasuredRun]) -> str:
    """Return one table per run."""
    return "\n\n".join(table(run) for run in runs)


def table(run: MeasuredRun) -> str:
    """Return the number of actions, and one row per review and model."""
    actions = run.figures["actions"]
    names = ("one_by_one", "grouped", "wrong_first")
    counts = ", ".join(f"{name.replace('_', ' ')} {actions[name]:.2f}" for name in names)
    text = f"{run.title}: {run.figures['new']:,} new concepts; actions per concept: {counts}"
    columns = ["order", "answers", "remaining", "model", *METRICS.values()]
    rows = []
    for each in run.figures["reviews"]:
        first = [each["order"], str(each["answers"]), str(each["remaining"])]
        for name, metrics in each["models"].items():
            cells = [format_fraction(metrics[metric], 3) for metric in METRICS]
            error = format_fraction(metrics["calibration_error"], 3)
            seconds = "" if "cpu_seconds" not in metrics else f"{metrics['cpu_seconds']:.0f}"
            rows.append([*first, name, *cells, error, seconds])
    return f"{text}\n\n{markdown_table([*columns, 'calibration error', 'CPU seconds'], rows)}"
