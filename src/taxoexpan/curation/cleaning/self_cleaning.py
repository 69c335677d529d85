"""Self-cleaning (Section 5.1.5, item 7): hide each group of concepts in turn and score it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch

from taxoexpan.curation.cleaning.fold_files import FoldFiles
from taxoexpan.curation.cleaning.fold_results import FoldResult
from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from taxoexpan.curation.cleaning.fold_workers import FoldTask, run_folds
from taxoexpan.curation.cleaning.folds import concepts_to_check, split_into_folds
from taxoexpan.curation.cleaning.suspicious_relations import (
    SuspiciousRelation,
    suspicious_relations,
)
from taxoexpan.errors import ConfigurationError
from taxoexpan.features.embedding import names_of
from taxoexpan.model import TaxoExpan
from taxoexpan.progress import spell_duration
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.checkpoint import identity_of

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
    """Score the relations between the leaves and their parents, and return them sorted.

    The most suspicious relation comes first. The leaves (with `inner` all concepts) are split into
    `folds` groups. Each group is hidden in turn; a model learns from the other concepts and ranks
    the parents of the hidden ones. Deprecated concepts are left out.

    Every finished fold is saved in the folder `work`, and a saved fold is not computed again. With
    `jobs` > 1 that many folds run at the same time, which does not change the result. `report` is
    called with a message after each fold; a single job then shows its progress too. The `explained`
    most suspicious relations of each fold get evidence.
    """
    _check_number("jobs", jobs, lowest=1)
    _check_number("explained", explained, lowest=0)
    options, known = options or ModelOptions(), taxonomy.active
    model = options.new_model()
    groups = split_into_folds(concepts_to_check(known, inner), folds, model.seed)
    # An encoder that learns from a corpus learns here once; every fold finds the result on disk.
    model.encoder.learn(names_of(known.concepts))
    identity = _identity(model, known, folds, inner, explained)
    files = FoldFiles(Path(work), identity) if work else None
    finished = files.load() if files else {}
    if report and finished:
        report(f"{len(finished)} of {folds} folds were finished before")
    # Sums differ in their last bits with the number of threads, so that number depends on the
    # number of folds and not on the number of jobs.
    threads = max(1, torch.get_num_threads() // folds)
    tasks = [
        FoldTask(number, queries, options, threads, explained)
        for number, queries in enumerate(groups, start=1)
        if number not in finished
    ]
    began = time.monotonic()
    for done, (number, result) in enumerate(
        run_folds(known, tasks, jobs, progress=report is not None), start=1
    ):
        finished[number] = result
        if files:
            files.save(number, result)
        if report:
            seconds = (time.monotonic() - began) * (len(tasks) - done) / done
            rest = f"; about {spell_duration(seconds)} left" if done < len(tasks) else ""
            report(f"{len(finished)} of {folds} folds are finished{rest}")
    results = [finished[number] for number in sorted(finished)]
    return suspicious_relations(known, FoldResult.concatenate(results))


def _check_number(name: str, number: int, lowest: int) -> None:
    """Refuse an argument that is no whole number, or too low."""
    if not isinstance(number, int) or number < lowest:
        message = f"{name} is {number!r}; it must be a whole number, at least {lowest}"
        raise ConfigurationError(message)


def _identity(model: TaxoExpan, taxonomy: Taxonomy, folds: int, inner: bool, explained: int) -> str:
    """A digest of everything that determines the result, including the vectors."""
    own = (model.config.model_dump(), model.seed, model.encoder.fingerprint())
    return identity_of("cleaning", taxonomy_digest(taxonomy), *own, folds, inner, explained)
