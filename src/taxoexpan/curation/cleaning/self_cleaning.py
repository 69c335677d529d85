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
from dataclasses import dataclass
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

import torch

from taxoexpan.curation.cleaning.fold_scoring import ModelOptions, score_fold
from taxoexpan.curation.cleaning.folds import (
    FoldFiles,
    RelationScores,
    SuspiciousRelation,
    columns_of,
    concepts_to_check,
    split_into_folds,
    suspicious_relations,
)
from taxoexpan.errors import ConfigurationError, ModelError, TaxoExpanError
from taxoexpan.features.corpus.parallel import exit_with_parent
from taxoexpan.files import temporary_folder
from taxoexpan.model import TaxoExpan
from taxoexpan.progress import keep_lock_in_process, spell_duration
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.run import identity_of

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
    options, known = options or ModelOptions(), taxonomy.canonical.active
    model = options.new_model()
    groups = split_into_folds(concepts_to_check(known, inner), folds, model.seed)
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
