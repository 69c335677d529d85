"""Find relations that look wrong: hide leaves in turn and see where a model would place them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.argument_types import positive
from taxoexpan.cli.arguments import (
    add_glossary,
    add_keep_formulas,
    add_output,
    add_report,
    add_taxonomy,
    add_training,
    read_defined_taxonomy,
    training_options,
)
from taxoexpan.cli.messages import as_json, note
from taxoexpan.errors import FormatError

if TYPE_CHECKING:
    from taxoexpan.curation.cleaning import SuspiciousRelation
    from taxoexpan.taxonomy import Taxonomy


EXTENSIONS = (".csv", ".json", ".html")
"""The file name extensions of the output, which determine its format."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_taxonomy(parser)
    add_output(parser, "file to write: .csv, .json, or a .html report", required=True)
    parser.add_argument(
        "--folds",
        type=positive,
        default=5,
        help="number of groups of concepts that are hidden in turn (default: 5)",
    )
    parser.add_argument(
        "--top", type=positive, default=100, help="number of relations to write (default: 100)"
    )
    parser.add_argument(
        "--inner", action="store_true", help="also examine concepts that have children"
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        default=1,
        help="number of folds to train in parallel (default: 1); each fold uses "
        "1/FOLDS of the cores, so that the result does not depend on the number of jobs",
    )
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="folder for intermediate results (default: OUT.folds); run the same command again to "
        "resume",
    )
    add_report(parser, "also write an HTML report, in addition to the .csv or .json output")
    add_training(parser)
    add_glossary(parser)
    add_keep_formulas(parser)


def run(options: argparse.Namespace) -> int:
    """Score the relations of all leaves, and write the most suspicious ones."""
    from taxoexpan.files import output_lock, preflight, write_whole

    _refuse_extension(options.output)
    outputs = list(filter(None, (options.output, options.report)))
    preflight(outputs, list(filter(None, (options.taxonomy, options.glossary))), options.force)
    training = training_options(options)
    taxonomy = read_defined_taxonomy(options.taxonomy, options)

    from taxoexpan.curation.cleaning import ModelOptions, clean
    from taxoexpan.curation.cleaning.folds import remove_folds
    from taxoexpan.curation.cleaning.self_cleaning import EXPLAINED

    work = options.work or options.output.with_name(f"{options.output.name}.folds")
    try:
        with output_lock(options.output):
            relations = clean(
                taxonomy,
                ModelOptions(training.preset, training.seed, training.device, training.settings),
                options.folds,
                options.inner,
                options.jobs,
                work,
                None if options.quiet else note,
                max(options.top, EXPLAINED),
            )
    except KeyboardInterrupt:
        if work.exists():
            note(f"\nthe finished folds are saved in {work}; run the same command to resume")
        raise
    shown = relations[: options.top]
    extension = options.output.suffix
    page = ""
    if options.report or extension == ".html":
        page = _html_report(options, taxonomy, shown, len(relations))
    texts = {options.output: page if extension == ".html" else _text(options, shown)}
    if options.report:
        texts[options.report] = page
    write_whole({path: text.encode() for path, text in texts.items()}, options.force)
    remove_folds(work)
    if not relations:
        note("note: no relation has another possible parent to compare with, so none is suspicious")
    where = " and ".join(map(str, outputs))
    note(f"{len(relations):,} relations checked; the {len(shown):,} most suspicious are in {where}")
    return 0


def _html_report(
    options: argparse.Namespace,
    taxonomy: Taxonomy,
    relations: Sequence[SuspiciousRelation],
    checked: int,
) -> str:
    """The relations as an HTML report; `checked` is the number of relations that were scored."""
    from taxoexpan.report import suspicious_relations_page
    from taxoexpan.report.html import render

    title = f"Suspicious relations of {options.taxonomy.name}"
    return render(suspicious_relations_page(taxonomy, relations, checked, title, datetime.now(UTC)))


def _text(options: argparse.Namespace, relations: Sequence[SuspiciousRelation]) -> str:
    """The relations as JSON or CSV."""
    from taxoexpan.curation.cleaning import suspicious_relations_csv

    if options.output.suffix == ".json":
        return as_json({"suspicious_relations": [relation.as_json() for relation in relations]})
    return suspicious_relations_csv(relations, options.keep_formulas)


def _refuse_extension(output: Path) -> None:
    if output.suffix not in EXTENSIONS:
        message = f"unknown output format; the file name must end in {', '.join(EXTENSIONS)}"
        raise FormatError(output, message)
