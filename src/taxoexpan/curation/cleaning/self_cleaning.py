"""Self-cleaning (Section 5.1.5, item 7): hide each group of concepts in turn and score it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from taxoexpan.curation.cleaning.fold_scoring import ModelOptions, score_fold
from taxoexpan.curation.cleaning.folds import (
    FoldFiles,
    RelationScores,
    SuspiciousRelation,
    concepts_to_check,
    split_into_folds,
    suspicious_relations,
)
from taxoexpan.errors import ConfigurationError
from taxoexpan.files import temporary_folder
from taxoexpan.model import TaxoExpan
from taxoexpan.progress import spell_duration
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.run import identity_of

EXPLAINED = 300
"""Relations that are explained per fold; the first relations overall are the first of a fold."""


def clean(
    taxonomy: Taxonomy,
    options: ModelOptions | None = None,
    folds: int = 5,
    inner: bool = False,
    work: str | Path | None = None,
    report: Callable[[str], None] | None = None,
    explained: int = EXPLAINED,
) -> list[SuspiciousRelation]:
    """Score the relations of leaves by models that did not see them, most suspicious first.

    The leaves (with `inner` all concepts) are split into `folds` groups, which are hidden in turn.
    Deprecated concepts are left out. Finished folds are saved in the directory `work`, and not
    computed again. `report` gets a message after each fold. The `explained` most suspicious
    relations of each fold get evidence.
    """
    if not isinstance(explained, int) or explained < 0:
        message = f"explained is {explained!r}"
        raise ConfigurationError(message, fix="it must be a whole number, at least 0")
    options = options or ModelOptions()
    known = taxonomy.canonical.active
    model = options.new_model()
    groups = split_into_folds(concepts_to_check(known, inner), folds, model.seed)
    with nullcontext(Path(work)) if work else temporary_folder() as folder:
        files = FoldFiles(folder, _identity(model, known, folds, inner, explained))
        saved = files.load()
        if report and saved:
            report(f"{len(saved)} of {folds} folds were finished before")
        missing = {n: group for n, group in enumerate(groups, start=1) if n not in saved}
        began = time.monotonic()
        for done, (number, queries) in enumerate(missing.items(), start=1):
            scores = score_fold(known, queries, options, explained, progress=report is not None)
            files.save(number, scores)
            if report:
                seconds = (time.monotonic() - began) * (len(missing) - done) / done
                rest = f"; about {spell_duration(seconds)} left" if done < len(missing) else ""
                report(f"{len(saved) + done} of {folds} folds are finished{rest}")
        merged = RelationScores.concatenate(list(files.load().values()))
    return suspicious_relations(known, merged)


def _identity(model: TaxoExpan, taxonomy: Taxonomy, folds: int, inner: bool, explained: int) -> str:
    """Return a digest of everything that determines the result, including the vectors."""
    own = (model.config.model_dump(), model.seed, model.encoder.fingerprint())
    return identity_of("cleaning", taxonomy_digest(taxonomy), *own, folds, inner, explained)
