"""A preset against Closest-Parent on small taxonomies, which are subtrees of a large one.

No two subtrees have a concept in common. A fraction of the leaves is held out as taxonomies grow. A
model learns from the rest and places the held-out concepts. Closest-Parent does the same with the
vectors of the model's encoder. The confidence in the first suggestions is pooled over all subtrees:
one of them has too few held-out concepts to measure it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from reproduction.measurements.runs import MeasuredRun
from reproduction.measurements.tables import format_fraction, markdown_table
from reproduction.measurements.trial import Figures, Trial
from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.errors import TaxonomyError
from taxoexpan.evaluation.methods import Method
from taxoexpan.evaluation.results import evaluate_methods
from taxoexpan.evaluation.rules import ClosestParent
from taxoexpan.placement.joint.prior_learning import remove_subtrees
from taxoexpan.placement.learned.confidence import Reliability
from taxoexpan.training.holdout import hold_out_growth


@dataclass(frozen=True)
class SubtreeResult:
    """Hit@1 of both methods on the held-out concepts of one subtree.

    The confidence of the model in its first suggestions is sorted, and empty if there is none.
    """

    root: str
    concepts: int
    queries: int
    model: float
    baseline: float
    confidence: Sequence[float] = ()
    right: Sequence[bool] = ()


def measure(trial: Trial) -> Figures:
    """Train one model per subtree."""
    count, *sizes = (trial.parameters[name] for name in ("count", "min_size", "max_size"))
    subtrees = small_subtrees(trial.data.taxonomy.active, count, sizes, trial.seed)
    fraction = trial.parameters["fraction"]
    results = [compare_on(each, trial.new_model(), fraction, trial.seed) for each in subtrees]
    return {"subtrees": [asdict(result) for result in results]}


def small_subtrees(
    taxonomy: Taxonomy, count: int, sizes: Sequence[int], seed: int
) -> list[Taxonomy]:
    """Return random subtrees of these sizes as taxonomies of their own, without common concepts."""
    min_size, max_size = sizes
    batches = remove_subtrees(taxonomy, count, min_size, max_size, seed).batches
    if len(batches) < count:
        found = f"{len(batches)} disjoint subtrees have {min_size} to {max_size} concepts"
        raise TaxonomyError(f"only {found}, fewer than {count}; give a larger taxonomy")
    subtrees = []
    for batch in batches:
        inside = {concept.id for concept in batch.concepts}
        subtrees.append(taxonomy.without([id for id in taxonomy if id not in inside]))
    return subtrees


def compare_on(subtree: Taxonomy, model: TaxoExpan, fraction: float, seed: int) -> SubtreeResult:
    """Hold out a part of a subtree, and let both methods place it."""
    holdout = hold_out_growth(subtree, fraction, len(subtree), seed)
    methods: dict[str, Method | TaxoExpan] = {"model": model, "baseline": ClosestParent()}
    results = evaluate_methods(holdout, methods, model.encoder)
    ours, closest = (results[name].metrics.hit_at_1 for name in methods)
    root = subtree.concept(subtree.roots[0]).label
    known = model.reliability(holdout) or Reliability((), ())
    counts = len(subtree), len(holdout.concepts)
    return SubtreeResult(root, *counts, ours, closest, known.confidence, known.right)


def tables(runs: Sequence[MeasuredRun]) -> str:
    """Return one table per run, and the figures of all runs of an experiment together."""
    by_title: dict[str, list[SubtreeResult]] = {}
    for run in runs:
        by_title.setdefault(run.experiment.title, []).extend(results_of(run))
    pooled = [f"{title}, all data: {summary(results)}" for title, results in by_title.items()]
    return "\n\n".join([*(table(run) for run in runs), *pooled])


def results_of(run: MeasuredRun) -> list[SubtreeResult]:
    """Return the results of a stored run."""
    return [SubtreeResult(**each) for each in run.figures["subtrees"]]


def summary(results: Sequence[SubtreeResult]) -> str:
    """Describe the means, the wins and losses, and the calibration error of some subtrees."""
    differences = np.array([each.model - each.baseline for each in results])
    means = (np.mean([getattr(each, name) for each in results]) for name in ("model", "baseline"))
    model, baseline = (format_fraction(float(mean), 3) for mean in means)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    ties = len(results) - wins - losses
    confidence = np.array([value for each in results for value in each.confidence])
    right = np.array([value for each in results for value in each.right], dtype=np.bool_)
    text = f"Hit@1 {model}, Closest-Parent {baseline}, wins {wins}, losses {losses}, ties {ties}"
    if not len(confidence):
        return text
    error = format_fraction(Reliability.of(confidence, right).error, 3)
    return f"{text}, calibration error {error} ({len(confidence):,} concepts)"


def table(run: MeasuredRun) -> str:
    """Return one row per subtree, and their summary."""
    results = results_of(run)
    columns = ["subtree", "concepts", "held out", run.experiment.title, "Closest-Parent"]
    rows = [row(each) for each in results]
    return f"{run.title}: {summary(results)}\n\n{markdown_table([*columns, 'difference'], rows)}"


def row(result: SubtreeResult) -> list[str]:
    """Return the cells of one subtree."""
    model, baseline = (format_fraction(hit, 3) for hit in (result.model, result.baseline))
    counts = [str(result.concepts), str(result.queries)]
    return [result.root, *counts, model, baseline, f"{result.model - result.baseline:+.3f}"]
