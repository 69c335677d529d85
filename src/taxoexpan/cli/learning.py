"""Continuing the training of a model from the command line, with the decisions of curators."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.fitting import print_training
from taxoexpan.cli.messages import note
from taxoexpan.errors import ConfigurationError
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.fitting.judged_taxonomy import JudgedTaxonomy
    from taxoexpan.placement.suggesting.feedback import Feedback
    from taxoexpan.taxonomy import Taxonomy

FIXED = ("preset", "features", "changes", "epochs", "expect", "resume")
"""The options that a continued training has no use for."""


def add_continuation(parser: argparse.ArgumentParser) -> None:
    """Add the options for continuing the training of a model."""
    parser.add_argument(
        "--from",
        type=Path,
        dest="start",
        metavar="MODEL",
        help="continue the training of this model, with its settings and vectors, in a fraction of "
        "the time; for a taxonomy that has grown, or with --decisions",
    )
    parser.add_argument(
        "--decisions",
        metavar="STORE",
        help="learn from the decisions of a review (a file such as reviews.db, or postgresql://…): "
        "accepted placements are added to the taxonomy for the training, and rejected ones are "
        "not proposed again; needs --from",
    )


def refuse_conflicts(options: argparse.Namespace) -> None:
    """Refuse options that do not fit together."""
    if options.start is None:
        if options.decisions is not None:
            message = "--decisions continues the training of a model"
            raise ConfigurationError(f"{message}; give the model with --from")
        return
    for name in FIXED:
        if getattr(options, name):
            flag = "--set" if name == "changes" else f"--{name}"
            message = f"with --from, the settings and the vectors are those of the model, so {flag}"
            raise ConfigurationError(f"{message} has no effect; omit it, or train without --from")


def read_feedback(store: str) -> Feedback:
    """Read the decisions of a store; one without decisions is an error."""
    if find_spec("sqlalchemy") is None:
        message = "reading decisions needs SQLAlchemy, which is not installed"
        raise ConfigurationError(f"{message}; pip install 'taxoexpan[web]'")
    from taxoexpan.desk.store.decision_store import DecisionStore

    with DecisionStore.open(store, must_exist=True) as opened:
        feedback, name = opened.feedback(), opened.name
    if not feedback:
        message = f"{name} has no accepted or rejected placements to learn from"
        raise ConfigurationError(f"{message}; review some concepts first, or omit --decisions")
    return feedback


def refit_model(
    options: argparse.Namespace,
    taxonomy: Taxonomy,
    feedback: Feedback | None,
) -> TaxoExpan:
    """Load a model, continue its training, and print what it has learned."""
    from taxoexpan.model import TaxoExpan

    model = TaxoExpan.load(options.start, options.device)
    if options.seed is not None:
        model.seed = options.seed
    if not options.quiet:
        note(f"continuing the training of {options.start}")
    judged = model.refit(
        taxonomy,
        feedback,
        not options.quiet,
        options.log,
        options.tensorboard,
    )
    if feedback:
        _print_decisions(judged)
    print_training(model, options.quiet)
    return model


def _print_decisions(judged: JudgedTaxonomy) -> None:
    """Say how many decisions of each kind were learned from, and which were left out."""
    placed = pluralize(len(judged.placed), "accepted concept")
    merged = pluralize(judged.merged, "merge")
    rejected = pluralize(judged.rejections.count, "rejected placement")
    note(f"learned from {placed}, {merged} and {rejected}")
    if judged.present:
        count = pluralize(judged.present, "accepted concept is", "accepted concepts are")
        note(f"note: {count} in the taxonomy by now, where the parents may differ")
    if judged.without_parent:
        count = pluralize(judged.without_parent, "decision is", "decisions are")
        note(f"note: {count} left out: the parent is not in the taxonomy, or deprecated")
