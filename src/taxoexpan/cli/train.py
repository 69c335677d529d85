"""Train a model on a taxonomy and save it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import require_extra
from taxoexpan.cli.glossaries import read_taxonomy
from taxoexpan.cli.messages import announce, note, print_json, warn
from taxoexpan.cli.reports import write_report
from taxoexpan.cli.training_messages import begin_training, print_training
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.option_declarations import (
    PATH,
    declared_options,
    json_option,
    option,
    output_option,
    switch,
)
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import GlossaryOptions, TaxonomyOptions, TrainingOptions

if TYPE_CHECKING:
    from taxoexpan.decisions.feedback import Feedback
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.fitting.judged_taxonomy import JudgedTaxonomy


@dataclass(frozen=True, kw_only=True)
class Options(TaxonomyOptions, TrainingOptions, GlossaryOptions):
    """The options of `train`."""

    output: Path = output_option("output model directory", MISSING)
    force: bool = switch("overwrite existing output files")
    start: Path | None = option(
        "start from this model, with its settings and vectors, which is faster than training "
        "from scratch; use it if the taxonomy has grown, or with --decisions",
        kind=PATH,
        metavar="MODEL",
        flags=("--from",),
    )
    decisions: str | None = option(
        "learn from review decisions (a SQLite file such as reviews.db, or a postgresql:// URL): "
        "accepted placements become training data, and rejected placements are not suggested "
        "again; requires --from",
        metavar="STORE",
    )
    json: bool = json_option("print the training metrics")
    resume: bool = switch("resume an interrupted training run with the same OUT")
    log: Path | None = option(
        "append the metrics of each epoch to this file, as JSON Lines", kind=PATH, metavar="FILE"
    )
    tensorboard: Path | None = option(
        "write the metrics of each epoch for TensorBoard to this directory (requires the package "
        "tensorboard)",
        kind=PATH,
        metavar="DIR",
    )
    report: Path | None = option("also write an HTML report", kind=PATH, metavar="HTML")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start is None and self.decisions is not None:
            message = "decisions are learned when the training of a model is continued"
            raise ConfigurationError(message, fix="give the model with --from", option="decisions")
        declared = declared_options(Options)
        for name in ("preset", "features", "settings", "epochs", "resume"):
            if self.start is not None and getattr(self, name) != declared[name][1]:
                message = "a continued training has the settings and the vectors of the model"
                flag = "set" if name == "settings" else name
                raise ConfigurationError(
                    message, fix="omit this, or train without --from", option=flag
                )

    @property
    def checkpoints(self) -> list[Path]:
        """The existing checkpoint files of the network and its tower."""
        from taxoexpan.training.run import tower_path

        path = self.checkpoint
        return [each for each in (path, tower_path(path)) if each.exists()]

    @property
    def checkpoint(self) -> Path:
        """The checkpoint file of the network."""
        return self.output.with_name(f"{self.output.name}.checkpoint")


def run(options: Options) -> int:
    """Train a model and save it."""
    try:
        model = _train(options)
    except KeyboardInterrupt:
        for path in options.checkpoints[-1:]:
            announce(f"\n--resume continues the training from {path}")
        raise
    if options.report:
        from taxoexpan.report.training_page import training_page

        page = training_page(model, f"A model of {options.taxonomy.name}", datetime.now(UTC))
        write_report(options.report, page, options.force)
    if options.json:
        print_json(model.training.as_dict())
    return 0


def _train(options: Options) -> TaxoExpan:
    """Train a model and save it; an interrupted training keeps its checkpoints."""
    from taxoexpan.files import output_lock

    replaces = options.force or (options.resume and bool(options.checkpoints))
    _refuse_outputs(options, replaces)
    # Two trainings with the same output would overwrite each other's checkpoints.
    with output_lock(options.output):
        model = _continued(options, options.start) if options.start else _trained(options)
        is_finished = False
        try:
            model.save(options.output, replaces)
            note(f"model written to {options.output}")
            is_finished = not model.training.interrupted
        finally:
            for path in options.checkpoints:
                if is_finished:
                    path.unlink()
                else:
                    announce(f"--resume continues the training from {path}")
    return model


def _trained(options: Options) -> TaxoExpan:
    """Return a newly trained model."""
    from taxoexpan.expansion import check_training, new_model

    check_training(options)
    model = new_model(options)
    _begin_checkpoint(options)
    taxonomy = read_taxonomy(options.taxonomy, options, options.glossary, options.quiet)
    begin_training(model, taxonomy)
    model.fit(
        taxonomy,
        progress=not options.quiet,
        log=options.log,
        checkpoint=options.checkpoint if model.has_checkpoints or options.resume else None,
        tensorboard=options.tensorboard,
    )
    print_training(model)
    return model


def _continued(options: Options, start: Path) -> TaxoExpan:
    """Continue the training of a model; read the decisions before anything expensive."""
    feedback = _read_feedback(options.decisions) if options.decisions else None
    taxonomy = read_taxonomy(options.taxonomy, options, options.glossary, options.quiet)
    from taxoexpan.model import TaxoExpan

    model = TaxoExpan.load(start, options.device)
    if options.seed is not None:
        model.seed = options.seed
    note(f"continuing the training of {start}")
    judged = model.refit(taxonomy, feedback, not options.quiet, options.log, options.tensorboard)
    if feedback:
        _print_decisions(judged)
    print_training(model, is_continued=True)
    return model


def _read_feedback(store: str) -> Feedback:
    """Read the decisions of a store; refuse a store without decisions."""
    require_extra("web", "sqlalchemy")
    from taxoexpan.desk.store.decision_store import DecisionStore

    with DecisionStore.open(store, must_exist=True) as opened:
        feedback = opened.feedback()
        name = opened.name
    if not feedback:
        message = f"{name} has no accepted or rejected placements to learn from"
        raise ConfigurationError(message, fix="review some concepts first, or omit --decisions")
    return feedback


def _refuse_outputs(options: Options, replaces: bool) -> None:
    """Refuse outputs that would overwrite each other or an input."""
    from taxoexpan.files import check_directory, check_output, preflight, refuse_inside
    from taxoexpan.model_directory import OWN
    from taxoexpan.training.run import tower_path

    check_directory(options.output, OWN, replaces)
    if options.log:
        check_output(options.log, force=True)  # a log is appended to
    if options.tensorboard:
        from taxoexpan.training.log import check_tensorboard

        check_tensorboard(options.tensorboard)
    outputs = [options.log, options.tensorboard, options.report]
    for path in filter(None, outputs):
        refuse_inside(path, options.output)
    if options.report:
        checkpoints = options.checkpoint, tower_path(options.checkpoint)
        inputs = options.glossary, options.start, *outputs[:2], *checkpoints
        preflight([options.report], [options.taxonomy, *filter(None, inputs)], options.force)
        refuse_inside(options.report, options.taxonomy, "is an input")


def _begin_checkpoint(options: Options) -> None:
    """Refuse to discard an existing checkpoint without --force."""
    existing = options.checkpoints
    if options.resume and not existing:
        warn(f"{options.checkpoint} does not exist; the training starts from the beginning")
    elif existing and not options.resume:
        if not options.force:
            message = "holds an interrupted training"
            fix = "--resume continues it, --force deletes it and starts again"
            raise FormatError(existing[0], message, fix=fix)
        for each in existing:
            each.unlink()


def _print_decisions(judged: JudgedTaxonomy) -> None:
    """Print how many decisions of each kind were learned from, and how many were left out."""
    placed = pluralize(len(judged.placed), "accepted concept")
    merged = pluralize(judged.merged, "merge")
    rejected = pluralize(judged.rejections.count, "rejected placement")
    note(f"learned from {placed}, {merged} and {rejected}")
    if judged.present:
        count = pluralize(judged.present, "accepted concept is", "accepted concepts are")
        note(f"note: {count} in the taxonomy by now, where the parents may differ")
    if judged.without_parent:
        count = pluralize(judged.without_parent, "decision is", "decisions are")
        warn(f"{count} left out: the parent is not in the taxonomy, or deprecated")
