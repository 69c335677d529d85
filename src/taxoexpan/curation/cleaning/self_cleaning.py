"""Self-cleaning (Section 5.1.5, item 7): hide each group of concepts in turn and score it."""

from __future__ import annotations

import multiprocessing
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

import numpy as np
import torch
from torch import Tensor

from taxoexpan.curation.cleaning.folds import (
    FoldFiles,
    RelationScores,
    SuspiciousRelation,
    columns_of,
    concepts_to_check,
    hide_parents,
    split_into_folds,
    suspicious_relations,
)
from taxoexpan.errors import ConfigurationError, ModelError, TaxoExpanError
from taxoexpan.explain import Evidence, explain
from taxoexpan.explain.similarity import ConceptLookup
from taxoexpan.features.corpus.parallel import exit_with_parent
from taxoexpan.features.embedding import names_of
from taxoexpan.files import temporary_folder
from taxoexpan.model import TaxoExpan
from taxoexpan.placement.learned.confidence import Calibration
from taxoexpan.placement.scoring.ranking import Ranking
from taxoexpan.placement.scoring.scorer import best_of
from taxoexpan.progress import keep_lock_in_process, spell_duration
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.reach_intervals import AncestorIntervals
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.holdout import hold_out
from taxoexpan.training.metrics import rank_true_parents
from taxoexpan.training.run import identity_of


@dataclass(frozen=True)
class ModelOptions:
    """The arguments of `TaxoExpan` for the model of every fold."""

    preset: str = "best"
    seed: int = 0
    device: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def new_model(self) -> TaxoExpan:
        """Return an untrained model that will calibrate its confidence on held-out leaves."""
        if self.settings.get("validation", "leaves") != "leaves":
            raise ConfigurationError(
                "cleaning checks the relations of single leaves, so the confidence must be "
                "calibrated on single leaves too; remove the setting validation"
            )
        settings = {**self.settings, "validation": "leaves"}
        return TaxoExpan(self.preset, self.seed, self.device, **settings)


def score_fold(
    taxonomy: Taxonomy,
    queries: Indices,
    options: ModelOptions,
    explained: int = 0,
    progress: bool = False,
) -> RelationScores:
    """Train without the parents of the queries, and score the hidden relations.

    The `explained` most suspicious relations get a reason.
    """
    remaining = hide_parents(taxonomy, queries)
    holdout = hold_out(taxonomy, [taxonomy.ids[i] for i in queries.tolist()], remaining)
    model = options.new_model()
    model.fit(remaining, progress=progress, expected=holdout.concepts)
    if model.training.interrupted:
        raise KeyboardInterrupt  # an unfinished model must not score relations
    kept = np.array([taxonomy.index(id) for id in remaining.ids])
    ranker, calibration = model._ranker, model.calibrators.calibration
    log_match = ranker.log_match
    parts = []
    for start, held_out in model._queries(holdout.concepts).blocks(len(ranker.keys)):
        scores, stop = ranker.scores(held_out), start + len(held_out)
        parents = holdout.parents[start:stop]
        block = _Block(taxonomy, kept, queries[start:stop], parents, calibration)
        parts.append(block.score(scores, log_match(scores)))
    relation_scores = RelationScores.concatenate(parts)
    reasons = _reasons(model, taxonomy, kept, relation_scores, explained)
    return replace(relation_scores, reasons=reasons)


@dataclass(frozen=True)
class _Block:
    """A block of queries and the anchors of their parents; anchor i is concept `kept[i]`."""

    taxonomy: Taxonomy
    kept: Indices
    queries: Indices
    parents: tuple[Indices, ...]
    calibration: Calibration | None

    def score(self, scores: Tensor, log_match: Tensor) -> RelationScores:
        """Score the relations by the scores that order the anchors and by log f, both [N, Q]."""
        lowest = scores.new_tensor(-torch.inf)
        # A concept cannot be placed under itself or under its descendants.
        below = self._pairs(*self.taxonomy.descendant_intervals.pairs(self.queries))
        scores, log_match = scores.index_put(below, lowest), log_match.index_put(below, lowest)
        ranks = np.concatenate(rank_true_parents(scores, self.parents)).astype(np.int64)
        top_two = best_of(scores, min(2, len(scores)))[1].cpu().numpy()
        # An ancestor is not a better parent: the concept is below it already, and a model that
        # prefers it only doubts the precision of the relation. A descendant of the parent can be a
        # better parent: then the relation is too coarse.
        ancestors = AncestorIntervals(self.taxonomy.parents_of, self.queries)
        above = self._pairs(*ancestors.pairs(self.queries))
        best, best_anchors = scores.index_put_(above, lowest).max(0)
        rows = np.concatenate(self.parents)
        columns = np.repeat(np.arange(len(self.queries)), [len(each) for each in self.parents])
        log_scores, better = _log_softmax(log_match), best_anchors.cpu().numpy()[columns]
        confidences = self._confidences(log_match, top_two, columns, np.stack([rows, better]))
        relation_scores = RelationScores(
            concepts=self.queries[columns],
            parents=self.kept[rows],
            ranks=ranks,
            log_scores=_at(log_scores, rows, columns),
            better=self.kept[better],
            better_log_scores=_at(log_scores, better, columns),
            confidences=confidences[0],
            better_confidences=confidences[1],
        )
        return relation_scores.where((best > lowest).cpu().numpy()[columns])

    def _confidences(
        self, log_match: Tensor, top_two: Indices, columns: Indices, rows: Indices
    ) -> Floats:
        """Return confidences [P, R] of anchors `rows`; `top_two` [2, Q] are the best anchors."""
        if self.calibration is None:
            return np.full(rows.shape, np.nan)
        tempered = _log_softmax(log_match / self.calibration.temperature)
        # Confidence never rises with the rank. The curve of the anchors after the first is
        # monotonic, so the second anchor stands in for all anchors between it and this one.
        ahead = [_at(tempered, anchors, columns) for anchors in top_two[:, columns]]
        confidences = []
        for anchors in rows:
            log_scores = np.stack([*ahead, _at(tempered, anchors, columns)], axis=1)
            each = self.calibration.confidence(np.exp(log_scores))
            confidences.append(np.where(anchors == top_two[0, columns], each[:, 0], each[:, -1]))
        return np.stack(confidences)

    def _pairs(self, columns: Indices, concepts: Indices) -> tuple[Tensor, Tensor]:
        """Return the anchors of the kept concepts, and their columns."""
        row_of = np.full(len(self.taxonomy), -1)
        row_of[self.kept] = np.arange(len(self.kept))
        rows = row_of[concepts]
        return torch.from_numpy(rows[rows >= 0]), torch.from_numpy(columns[rows >= 0])


def _log_softmax(log_match: Tensor) -> Tensor:
    """Return the logarithm of the softmax over all anchors [N, Q]."""
    highest = log_match.amax(0)
    return log_match - (highest + (log_match - highest).exp().sum(0).log())


def _at(values: Tensor, rows: Indices, columns: Indices) -> Floats:
    """Return the values at these rows and columns as a NumPy array."""
    device = values.device
    picked = values[torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)]
    return picked.cpu().numpy().astype(np.float64)


def _reasons(
    model: TaxoExpan, taxonomy: Taxonomy, kept: Indices, scores: RelationScores, count: int
) -> dict[tuple[int, int], Mapping[str, Any]]:
    """Explain the `count` most suspicious relations; `kept` are the indices of the anchors."""
    rows = scores.order[:count]
    if not len(rows):
        return {}
    pairs = np.stack([scores.better[rows], scores.parents[rows]], axis=1)
    log_scores = np.stack([scores.better_log_scores[rows], scores.log_scores[rows]], axis=1)
    anchor_of = np.full(len(taxonomy), -1)
    anchor_of[kept] = np.arange(len(kept))
    pair_scores = np.exp(log_scores).astype(np.float32)
    indices = scores.concepts[rows].tolist()
    concepts = [taxonomy.concept_at(index) for index in indices]
    ranking = Ranking(anchor_of[pairs], pair_scores, pair_scores)
    evidence = explain(model._ranker, model._queries(concepts), ranking)
    whole = ConceptLookup(taxonomy)
    return {
        (concept, parent): _in_whole_taxonomy(each, whole, better, parent).to_dict()
        for concept, (better, parent), each in zip(indices, pairs.tolist(), evidence, strict=True)
    }


def _in_whole_taxonomy(
    evidence: Evidence, whole: ConceptLookup, better: int, parent: int
) -> Evidence:
    """Correct the paths and child counts in the evidence, because hidden concepts lack parents."""
    children = whole.taxonomy.children_of.degrees
    first, second = evidence.suggestions
    first = replace(first, path=whole.path(better), child_count=int(children[better]))
    second = replace(second, path=whole.path(parent), child_count=int(children[parent]) - 1)
    comparison = evidence.comparison
    if comparison is not None:
        position = whole.position(parent, relative_to=better)
        comparison = replace(comparison, position=position)
    return replace(evidence, suggestions=(first, second), comparison=comparison)


EXPLAINED = 300
"""Relations that are explained per fold; the first relations overall are the first of a fold."""


def clean(
    taxonomy: Taxonomy,
    options: ModelOptions | None = None,
    folds: int = 5,
    inner: bool = False,
    jobs: int = 1,
    work: str | Path | None = None,
    report: Callable[[str], None] | None = None,
    explained: int = EXPLAINED,
) -> list[SuspiciousRelation]:
    """Score the relations of leaves by models that did not see them, most suspicious first.

    The leaves (with `inner` all concepts) are split into `folds` groups, which are hidden in turn.
    Deprecated concepts are left out. Finished folds are saved in the directory `work`, and not
    computed again. `jobs` folds run at the same time, which does not change the result. `report`
    gets a message after each fold. The `explained` most suspicious relations of each fold get
    evidence.
    """
    for name, number, lowest in (("jobs", jobs, 1), ("explained", explained, 0)):
        if not isinstance(number, int) or number < lowest:
            message = f"{name} is {number!r}; it must be a whole number, at least {lowest}"
            raise ConfigurationError(message)
    options, known = options or ModelOptions(), taxonomy.active
    model = options.new_model()
    groups = split_into_folds(concepts_to_check(known, inner), folds, model.seed)
    # An encoder that learns from a corpus learns here once; every fold finds the result on disk.
    model.encoder.learn(names_of(known.concepts))
    with nullcontext(Path(work)) if work else temporary_folder() as folder:
        files = FoldFiles(folder, _identity(model, known, folds, inner, explained))
        saved = files.load()
        if report and saved:
            report(f"{len(saved)} of {folds} folds were finished before")
        # Sums differ in their last bits with the number of threads, so that number depends on the
        # number of folds and not on the number of jobs.
        run = FoldRun(options, explained, max(1, torch.get_num_threads() // folds), files)
        missing = {n: group for n, group in enumerate(groups, start=1) if n not in saved}
        began = time.monotonic()
        for done, _ in enumerate(_run_folds(run, known, missing, jobs, report is not None), 1):
            if report:
                seconds = (time.monotonic() - began) * (len(missing) - done) / done
                rest = f"; about {spell_duration(seconds)} left" if done < len(missing) else ""
                report(f"{len(saved) + done} of {folds} folds are finished{rest}")
        scores = RelationScores.concatenate(list(files.load().values()))
    return suspicious_relations(known, scores)


def _identity(model: TaxoExpan, taxonomy: Taxonomy, folds: int, inner: bool, explained: int) -> str:
    """Return a digest of everything that determines the result, including the vectors."""
    own = (model.config.model_dump(), model.seed, model.encoder.fingerprint())
    return identity_of("cleaning", taxonomy_digest(taxonomy), *own, folds, inner, explained)


@dataclass(frozen=True)
class FoldRun:
    """The settings for scoring every fold, and the files for the scores."""

    options: ModelOptions
    explained: int
    threads: int
    files: FoldFiles

    def score(
        self, taxonomy: Taxonomy, number: int, queries: Indices, progress: bool = False
    ) -> None:
        """Score one fold and save the result."""
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            scores = score_fold(taxonomy, queries, self.options, self.explained, progress)
        finally:
            torch.set_num_threads(before)
        self.files.save(number, scores)

    def score_in_worker(self, columns: dict[str, Any], number: int, queries: Indices) -> list[str]:
        """Score one fold in a worker, save the scores, and return the warnings.

        The scores are not returned, because a worker that is killed in the middle of a long message
        would block the main process forever.
        """
        with warnings.catch_warnings(record=True) as caught:
            try:
                self.score(Taxonomy.from_columns(**columns), number, queries)
            except TaxoExpanError as error:
                # Not every error or warning can be sent to another process as it is.
                raise ModelError(f"fold {number}: {error}") from None
        return [str(warning.message) for warning in caught]


def _run_folds(
    run: FoldRun, taxonomy: Taxonomy, groups: Mapping[int, Indices], jobs: int, progress: bool
) -> Iterator[None]:
    """Score the folds, one after another or in worker processes; yield after each fold."""
    if jobs > 1 and len(groups) > 1:
        yield from _run_in_pool(run, taxonomy, groups, min(jobs, len(groups)))
        return
    for number, queries in groups.items():
        run.score(taxonomy, number, queries, progress)
        yield


def _run_in_pool(
    run: FoldRun, taxonomy: Taxonomy, groups: Mapping[int, Indices], jobs: int
) -> Iterator[None]:
    """Score the folds in worker processes, which are stopped at the end or on an error."""
    # A forked process could use neither a GPU nor torch's threads.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, context, initializer=_prepare_worker)
    try:
        columns = columns_of(taxonomy)
        with _interrupts_ignored():  # all workers start here
            futures = [pool.submit(run.score_in_worker, columns, *each) for each in groups.items()]
        for future in as_completed(futures):
            for message in future.result():
                warnings.warn(message, stacklevel=2)
            yield
    except BrokenProcessPool:
        raise ModelError(
            "a worker process ended before its fold was finished, perhaps for lack of memory; "
            "use fewer jobs"
        ) from None
    finally:
        # A pool would wait for the running folds, which can take hours.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _prepare_worker() -> None:
    """Ignore interrupts, which the main process handles, and exit when it has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_lock_in_process()
    Thread(target=exit_with_parent, daemon=True).start()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C while workers start; a worker that is importing would print a traceback."""
    if current_thread() is not main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
