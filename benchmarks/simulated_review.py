"""Simulate a curator who reviews the growth of a taxonomy, and measure what a model learns from it.

    python benchmarks/simulated_review.py validation OLD --seeds 0 1 2 --json validation.json
    python benchmarks/simulated_review.py test OLD NEW --seeds 0 1 2 --json test.json

A model is trained on the old release, and suggests five parents for each new concept. The curator
knows the true parents and answers the first concepts of the queue: accepts the best true parent
among the proposals, or searches for it, which rejects the proposals above it. Then the remaining
concepts are ranked by the old model, by the old model with the accepted concepts as anchors, and by
models that continue the training with the decisions (`TaxoExpan.refit`), one per recipe.

In `test`, the new concepts are those that the release NEW adds. In `validation`, they are held out
of OLD as taxonomies grow: recipes are chosen there.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from taxoexpan import Concept, TaxoExpan, Taxonomy
from taxoexpan.config import parse_setting
from taxoexpan.evaluation.growth import growth_between
from taxoexpan.placement.fitting.judged_taxonomy import apply_feedback
from taxoexpan.placement.suggesting.feedback import Feedback
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.training.holdout import Holdout, hold_out_growth
from taxoexpan.training.metrics import compute_metrics
from taxoexpan.training.sampling import DEFAULT_RECIPE, Recipe

ORDERS = ("listed", "parent", "confidence", "random")
"""The orders of the queue: as in the file, grouped by proposed parent, most confident first."""
SHOWN = 5
"""Proposals that the curator sees of each concept."""


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
    for suggestion in model.suggest(growth.concepts, SHOWN):
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


def measure(model: TaxoExpan, growth: Holdout) -> dict[str, float | None]:
    """Return how a model ranks the true parents of concepts, and how far its confidence is off."""
    metrics, reliability = compute_metrics(model.true_ranks(growth)), model.reliability(growth)
    return {
        "hit_at_1": metrics.hit_at_1,
        "hit_at_3": metrics.hit_at_3,
        "hit_at_10": metrics.hit_at_10,
        "reciprocal_rank": metrics.reciprocal_rank,
        "calibration_error": None if reliability is None else reliability.error,
    }


def placed_in(taxonomy: Taxonomy, growth: Holdout) -> Holdout:
    """Return the same concepts, to be placed in a larger taxonomy."""
    old = growth.taxonomy
    parents = (np.array([taxonomy.index(old.ids[i]) for i in own]) for own in growth.parents)
    return replace(growth, taxonomy=taxonomy, parents=tuple(parents))


def review(
    model: TaxoExpan, queue: Queue, answers: int, recipes: dict[str, Recipe], anew: bool
) -> dict[str, Any]:
    """Answer the first concepts of a queue, and measure all models on the others."""
    first = queue.select(range(min(answers, len(queue))))
    others = queue.select(range(len(first), len(queue))).growth
    feedback, taxonomy = answer(first), model.taxonomy
    expanded = apply_feedback(taxonomy, feedback).taxonomy
    results = {
        "old": measure(model, others),
        "anchors": measure(model, placed_in(expanded, others)),
    }
    for name, result in results.items():
        print_row(name, result)
    for name, recipe in recipes.items():
        refitted, began = copy.copy(model), _clocks()
        refitted.refit(taxonomy, feedback, recipe=recipe)
        results[name] = _timed(refitted, others, began)
        print_row(name, results[name])
    if anew:
        began = _clocks()
        results["trained anew"] = _timed(copy.copy(model).fit(expanded), others, began)
        print_row("trained anew", results["trained anew"])
    return {
        "answers": len(first),
        "answers_hit_at_1": float(np.mean([first.true_rank(i) == 1 for i in range(len(first))])),
        "rejected": len(feedback.rejected),
        "remaining": len(others.concepts),
        "models": results,
    }


def _clocks() -> tuple[float, float]:
    """Return the current time, and the CPU time of this process."""
    return time.monotonic(), time.process_time()


def _timed(model: TaxoExpan, growth: Holdout, began: tuple[float, float]) -> dict[str, Any]:
    """Measure a model whose training began at a time and has just ended."""
    seconds, cpu = (round(end - start, 1) for end, start in zip(_clocks(), began, strict=True))
    times = {"seconds": seconds, "cpu_seconds": cpu}
    return measure(model, placed_in(model.taxonomy, growth)) | times


def parse_recipe(text: str) -> tuple[str, Recipe]:
    """Parse `NAME:KEY=VALUE,…`; what is not given is as in the default recipe."""
    name, _, changes = text.partition(":")
    kinds = {field.name: type(getattr(DEFAULT_RECIPE, field.name)) for field in fields(Recipe)}
    given: dict[str, Any] = {}
    for change in filter(None, changes.split(",")):
        key, _, value = change.partition("=")
        if key not in kinds:
            raise SystemExit(f"a recipe has no {key!r}; it has {', '.join(kinds)}")
        given[key] = value in ("1", "true") if kinds[key] is bool else kinds[key](value)
    return name, replace(DEFAULT_RECIPE, **given)


def print_row(name: str, result: dict[str, Any]) -> None:
    """Print the figures of one model."""
    error = result["calibration_error"]
    text = f"  {name:24} Hit@1 {result['hit_at_1']:.3f}  Hit@3 {result['hit_at_3']:.3f}"
    text += f"  MRR {result['reciprocal_rank']:.3f}"
    text += "" if error is None else f"  calibration error {error:.3f}"
    if "seconds" in result:
        text += f"  {result['seconds']:.0f} s, {result['cpu_seconds']:.0f} s of CPU time"
    print(text, flush=True)


def main() -> None:
    """Train one model per seed, review with it in every order, and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=("validation", "test"))
    parser.add_argument("releases", nargs="+", type=Path, help="OLD, and NEW for the test")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--answers", nargs="+", type=int, default=[300])
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=list(ORDERS))
    parser.add_argument("--recipe", action="append", default=[], metavar="NAME:KEY=VALUE,…")
    parser.add_argument("--held-out", type=int, default=1000, help="new concepts in validation")
    parser.add_argument("--anew", action="store_true", help="also train a new model each time")
    parser.add_argument("--preset", default="best")
    parser.add_argument("--features", help="the encoder (default: that of the preset)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    options = parser.parse_args()
    if len(options.releases) != (1 if options.task == "validation" else 2):
        parser.error("validation needs OLD, and test needs OLD and NEW")
    recipes = dict(map(parse_recipe, options.recipe or ["default"]))
    changes = dict(map(parse_setting, options.changes))
    if options.features:
        changes["features"] = options.features
    runs = []
    for seed in options.seeds:
        growth = _growth(options, seed)
        model = TaxoExpan(options.preset, seed, options.device, **changes)
        began = time.monotonic()
        model.fit(growth.taxonomy)
        seconds = round(time.monotonic() - began, 1)
        queue = propose(model, growth)
        run: dict[str, Any] = {"task": options.task, "seed": seed, "fit_seconds": seconds}
        run |= {"new": len(queue), "actions": count_actions(queue), "orders": {}}
        print(f"\nseed {seed}: trained in {seconds} s, {len(queue)} new concepts, {run['actions']}")
        for order in options.orders:
            first = ordered(queue, order, seed)
            for answers in options.answers:
                print(f"\n{order}, {answers} answers", flush=True)
                result = review(model, first, answers, recipes, options.anew)
                run["orders"].setdefault(order, []).append(result)
        runs.append(run)
        if options.json:
            content = {"recipes": {n: asdict(r) for n, r in recipes.items()}, "runs": runs}
            options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _growth(options: argparse.Namespace, seed: int) -> Holdout:
    """Return the new concepts: those of the new release, or held-out ones."""
    releases = [Taxonomy.read(path) for path in options.releases]
    old = releases[0]
    if options.task == "test":
        return growth_between(*releases).queries
    return hold_out_growth(old.active, 0.5, options.held_out, 100 + seed)


if __name__ == "__main__":
    main()
