"""Self-cleaning (Section 5.1.5, item 7): every group of concepts is masked and judged in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

from taxoexpan.archive import taxonomy_digest
from taxoexpan.curation.cleaning.doubts import Doubt, doubts_of
from taxoexpan.curation.cleaning.fold_files import FoldFiles
from taxoexpan.curation.cleaning.fold_workers import Task, judged
from taxoexpan.curation.cleaning.folds import asked_for, groups_of
from taxoexpan.curation.cleaning.judging import Training
from taxoexpan.curation.cleaning.reasons import Fold
from taxoexpan.errors import ConfigurationError
from taxoexpan.features.embedding import names_of
from taxoexpan.model import TaxoExpan
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.checkpoint import identity_of

EXPLAINED = 300
"""Relations of every fold that are explained: what is among the first of all is among its own."""


def clean(
    taxonomy: Taxonomy,
    training: Training | None = None,
    folds: int = 5,
    inner: bool = False,
    jobs: int = 1,
    work: str | Path | None = None,
    tell: Callable[[str], None] | None = None,
    explained: int = EXPLAINED,
) -> list[Doubt]:
    """Every relation of the leaves to their parents, the most doubtful first.

    The leaves (with `inner` all concepts) are parted into `folds` groups. Each is masked in turn, a
    model learns from the rest, and says where it would put them. Deprecated concepts take no part.
    There is evidence for the most doubtful relations of each group, so many as are `explained`.
    Every fold that is done is kept in the folder `work`, and one that is there is not computed
    again. So many `jobs` compute at a time; what is found does not depend on that. `tell` is given
    a line on each fold; one job then shows its progress too.
    """
    if not isinstance(jobs, int) or jobs < 1:
        raise ConfigurationError(f"jobs is {jobs!r}; it must be a whole number, at least 1")
    if not isinstance(explained, int) or explained < 0:
        message = f"explained is {explained!r}; it must be a whole number, at least 0"
        raise ConfigurationError(message)
    training, known = training or Training(), taxonomy.active
    model = training.model()
    groups = groups_of(asked_for(known, inner), folds, model.seed)
    # What is learned from a corpus is learned here once, and found on disk by every fold.
    model.encoder.learn(names_of(known.concepts))
    identity = _identity(model, known, folds, inner, explained)
    files = FoldFiles(Path(work), identity) if work else None
    done = files.load() if files else {}
    if tell and done:
        tell(f"{len(done)} of {folds} folds are kept from before")
    # Sums differ in their last bits with the threads, so those depend on the folds, not the jobs.
    threads = max(1, torch.get_num_threads() // folds)
    tasks = [
        Task(number, queries, training, threads, explained)
        for number, queries in enumerate(groups, start=1)
        if number not in done
    ]
    for number, fold in judged(known, tasks, jobs, progress=tell is not None):
        done[number] = fold
        if files:
            files.save(number, fold)
        if tell:
            tell(f"{len(done)} of {folds} folds are done")
    return doubts_of(known, Fold.together([done[number] for number in sorted(done)]))


def _identity(model: TaxoExpan, taxonomy: Taxonomy, folds: int, inner: bool, explained: int) -> str:
    """What tells a run from every other, its vectors included."""
    own = (asdict(model.config), model.seed, model.encoder.fingerprint())
    return identity_of("cleaning", taxonomy_digest(taxonomy), *own, folds, inner, explained)
