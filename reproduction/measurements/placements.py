"""First suggestions for the new concepts of a release, scored as papers on taxonomy expansion do.

*Accuracy* is the fraction of the new concepts whose first suggestion is a true parent, *MRR* the
mean reciprocal rank of the true parent among all concepts of the older release, and *Wu&P* the mean
similarity of Wu and Palmer between the first suggestion and the true parent. New concepts are not
candidates. If a concept has several true parents, the one with the best figure counts.

The code of two papers on SemEval-2016 Task 13 computes Wu&P differently. In the code of BoxTaxo, a
root has depth 1, and the first parent of a concept, in arbitrary order, is its only one; here, all
parents count, which is the same in a tree. In the code of QuanTaxo, a root has depth 0, but a
common ancestor at least depth 1, so that two children of the root have similarity 1 and a root and
its child 2. Anchors with the same score as the true parent count half here, and in the order of a
sort there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from reproduction.experiments import Experiment, all_experiments
from reproduction.measurements.runs import MeasuredRun
from reproduction.measurements.tables import format_fraction, markdown_table
from reproduction.measurements.trial import Data, Figures, Trial, first_places
from reproduction.runner import rank_queries
from reproduction.semeval.wu_palmer import WuPalmer
from taxoexpan.config import load_preset
from taxoexpan.errors import ConfigurationError
from taxoexpan.evaluation.methods import TrainedMethod
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.holdout import Holdout, hold_out

RESAMPLES = 10_000
"""The number of samples of concepts, with replacement, for an interval of a mean."""
NORMAL_QUANTILE = 1.959964
"""Between this value and its negative lie 95 % of a normal distribution."""
COLUMNS = ("", "accuracy", "95 %", "MRR", "95 %", "Wu&P", "95 %", "runs")

Interval = tuple[float, float]


@dataclass(frozen=True)
class Placement:
    """The first suggestion for a new concept, the best rank of a true parent, and the similarity.

    The similarity is that of Wu and Palmer between the suggestion and the closest true parent.
    """

    concept: str
    parents: tuple[str, ...]
    placed: str
    rank: float
    similarity: float


def measure(trial: Trial) -> Figures:
    """Let a model or a rule place all new concepts."""
    queries = new_concepts(trial.data)
    place = place_by_rule if trial.experiment.method else place_by_model
    places, ranks = place(trial, queries)
    similarity = WuPalmer(queries.taxonomy)
    ids = queries.taxonomy.ids
    placements = [
        Placement(
            concept.id,
            tuple(ids[i] for i in parents.tolist()),
            ids[placed],
            float(own.min()),
            max(similarity(placed, parent) for parent in parents.tolist()),
        )
        for concept, parents, placed, own in zip(
            queries.concepts, queries.parents, places, ranks, strict=True
        )
    ]
    return {"anchors": len(ids), "placements": [asdict(each) for each in placements]}


def new_concepts(data: Data) -> Holdout:
    """Return the concepts that only the newer release has, to be placed in the older one."""
    return hold_out(data.newer, [id for id in data.newer if id not in data.taxonomy], data.taxonomy)


def place_by_model(
    trial: Trial, queries: Holdout
) -> tuple[Sequence[int], Sequence[NDArray[np.floating]]]:
    """Train a model on the older release; return the suggested parents and the true ranks."""
    model = trial.new_model().fit(queries.taxonomy, progress=trial.progress)
    suggested = first_places(model, queries.concepts)
    places = [queries.taxonomy.index(each.parent.id) for each in suggested]
    return places, model.true_ranks(queries)


def place_by_rule(
    trial: Trial, queries: Holdout
) -> tuple[Sequence[int], Sequence[NDArray[np.floating]]]:
    """Rank by a rule, with the vectors of the encoder of `best` or the given one."""
    method = trial.experiment.make_method()
    if isinstance(method, TrainedMethod):
        problem = f"{trial.experiment.method} is trained, and only rules and models are measured"
        raise ConfigurationError(problem, fix="compare it by `taxoexpan evaluate`")
    taxonomy = queries.taxonomy
    features = trial.features or load_preset("best").features
    encoder = make_encoder(features, device=trial.device)
    encoder.show_progress(trial.progress)
    method.set_anchors(taxonomy, torch.from_numpy(embed_concepts(encoder, taxonomy.concepts)))
    vectors = torch.from_numpy(embed_concepts(encoder, queries.concepts))
    labeled = LabeledQueries(vectors, None, queries.concepts, parents=queries.parents)
    ranking = rank_queries(method, labeled, len(taxonomy), count=1)
    first: Indices = ranking.best[:, 0]
    return first.tolist(), ranking.ranks


def tables(runs: Sequence[MeasuredRun]) -> str:
    """Return one table for each data set and encoder."""
    by_data: dict[tuple[str, str], list[MeasuredRun]] = {}
    for run in runs:
        by_data.setdefault((run.task.name, run.task.features), []).append(run)
    return "\n\n".join(_table(own) for own in by_data.values())


def _table(runs: Sequence[MeasuredRun]) -> str:
    """Return one row for each experiment, and one for each published result on this data set."""
    first = runs[0]
    count = len(placements_of(first))
    by_title: dict[str, list[MeasuredRun]] = {}
    for run in runs:
        by_title.setdefault(run.experiment.title, []).append(run)
    rows = [_row(title, own) for title, own in by_title.items()]
    domain = first.task.name.rpartition("-")[2]
    quoted = quoted_experiments(first.experiment.group)
    rows += [_quoted_row(each, domain, count) for each in quoted if domain in each.published]
    encoder = f", vectors `{first.task.features}`" if first.task.features else ""
    head = f"**{first.task.name}**{encoder}, {count:,} new concepts"
    head += f" to place below {first.figures['anchors']:,}"
    return f"{head}\n\n{markdown_table(COLUMNS, rows)}"


def quoted_experiments(group: str) -> list[Experiment]:
    """Return the published results of a group that are only quoted."""
    return [e for e in all_experiments() if e.group == group and not (e.method or e.measurement)]


def placements_of(run: MeasuredRun) -> list[Placement]:
    """Return the placements of a stored run."""
    return [Placement(**each) for each in run.figures["placements"]]


def _row(title: str, runs: Sequence[MeasuredRun]) -> list[str]:
    """Return the cells of one experiment: means over the seeds, with intervals."""
    scores = [scores_of(placements_of(run)) for run in runs]
    means = {name: np.mean([each[name] for each in scores], axis=0) for name in scores[0]}
    cells = []
    for name, values in means.items():
        mean = float(values.mean())
        is_fraction = name == "accuracy"
        interval = wilson_interval(mean, len(values)) if is_fraction else mean_interval(values)
        cells += [format_fraction(mean, 3), _format_interval(interval)]
    return [title, *cells, str(len(runs))]


def _quoted_row(experiment: Experiment, domain: str, count: int) -> list[str]:
    """Return the cells of a published result; its own number of concepts may be another one."""
    accuracy = experiment.published[domain]
    own_count = round(experiment.published.get(f"{domain}-terms", count))
    interval = _format_interval(wilson_interval(accuracy, own_count))
    other = "" if own_count == count else f", {own_count} other concepts"
    return [experiment.title, format_fraction(accuracy, 3), interval, *[""] * 4, f"quoted{other}"]


def scores_of(placements: Sequence[Placement]) -> Mapping[str, NDArray[np.float64]]:
    """Return the three figures of each placement, the means of which are reported: [Q] each."""
    return {
        "accuracy": np.array([each.placed in each.parents for each in placements], dtype=float),
        "mrr": np.array([1 / each.rank for each in placements]),
        "wu_palmer": np.array([each.similarity for each in placements]),
    }


def wilson_interval(fraction: float, count: int) -> Interval:
    """Return the 95 % interval of Wilson for a fraction of `count` independent queries."""
    z = NORMAL_QUANTILE
    center = fraction + z**2 / (2 * count)
    half = z * np.sqrt(fraction * (1 - fraction) / count + z**2 / (4 * count**2))
    scale = 1 + z**2 / count
    return float((center - half) / scale), float((center + half) / scale)


def mean_interval(values: NDArray[np.float64]) -> Interval:
    """Return the 95 % bootstrap interval of the mean of the queries' values [Q]."""
    rng = np.random.default_rng(0)
    means = values[rng.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _format_interval(interval: Interval) -> str:
    low, high = (format_fraction(max(0.0, end)) for end in interval)
    return f"{low} to {high}"
