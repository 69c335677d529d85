"""Find relations that look wrong: mask leaves in turn, and see where a model would put them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import (
    add_output,
    add_taxonomy,
    add_training,
    positive,
    read_taxonomy,
    settings_of,
)
from taxoexpan.cli.messages import as_json, note
from taxoexpan.cli.report_output import add_report
from taxoexpan.errors import FormatError

if TYPE_CHECKING:
    from taxoexpan.curation.cleaning import Doubt
    from taxoexpan.taxonomy import Taxonomy


ENDINGS = (".csv", ".json", ".html")
"""How an output may end, which says what is written."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    add_output(parser, "the file to write: .csv, .json, or .html to read", required=True)
    parser.add_argument(
        "--folds", type=positive, default=5, help="groups that are masked in turn (default 5)"
    )
    parser.add_argument(
        "--top", type=positive, default=100, help="relations to write (default 100)"
    )
    parser.add_argument(
        "--inner", action="store_true", help="doubt the parents of inner concepts too"
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        default=1,
        help="folds computed at a time (default 1); each takes its share of the cores, so up to as "
        "many as there are folds go faster, and find the same",
    )
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="the folder for folds that are done, from which a run that was stopped goes on "
        "(default OUT.folds)",
    )
    add_report(parser, "the same as a report to read in a browser, beside a .csv or .json")
    add_training(parser)


def run(options: argparse.Namespace) -> int:
    """Judge all leaves, and write the most doubtful relations."""
    from taxoexpan.files import preflight, write_whole

    _refuse_ending(options.output)
    outputs = list(filter(None, (options.output, options.report)))
    preflight(outputs, [options.taxonomy], options.force)
    settings = settings_of(options)
    taxonomy = read_taxonomy(options.taxonomy, options)

    from taxoexpan.curation.cleaning import Training, clean
    from taxoexpan.curation.cleaning.fold_files import remove_folds
    from taxoexpan.curation.cleaning.self_cleaning import EXPLAINED

    work = options.work or options.output.with_name(f"{options.output.name}.folds")
    try:
        doubts = clean(
            taxonomy,
            Training(options.preset, options.seed, options.device, settings),
            options.folds,
            options.inner,
            options.jobs,
            work,
            None if options.quiet else note,
            max(options.top, EXPLAINED),
        )
    except KeyboardInterrupt:
        if work.exists():
            note(
                f"\nthe folds that are done are kept in {work}; the same command goes on from them"
            )
        raise
    most = doubts[: options.top]
    ending = options.output.suffix
    asked = options.report or ending == ".html"
    page = _as_page(options, taxonomy, most, len(doubts)) if asked else ""
    texts = {options.output: page if ending == ".html" else spelled(most, ending)}
    if options.report:
        texts[options.report] = page
    write_whole({path: text.encode() for path, text in texts.items()}, options.force)
    remove_folds(work)
    where = " and ".join(map(str, outputs))
    if not doubts:
        note("note: no relation has another place to be compared with, so there is none to doubt")
    note(f"{len(doubts):,} relations judged; the {len(most):,} most doubtful in {where}")
    return 0


def _as_page(
    options: argparse.Namespace, taxonomy: Taxonomy, doubts: Sequence[Doubt], judged: int
) -> str:
    """The doubts as a report."""
    from taxoexpan.report import suspicious_relations_page
    from taxoexpan.report.html import render

    title = f"Doubtful relations of {options.taxonomy.name}"
    return render(suspicious_relations_page(taxonomy, doubts, judged, title, datetime.now(UTC)))


def spelled(doubts: Sequence[Doubt], ending: str) -> str:
    """The doubts as a file with this ending holds them."""
    from taxoexpan.curation.cleaning import doubts_csv

    if ending == ".json":
        return as_json({"doubts": [doubt.as_json() for doubt in doubts]})
    return doubts_csv(doubts)


def _refuse_ending(output: Path) -> None:
    if output.suffix not in ENDINGS:
        message = f"cannot tell what to write; the name must end in {', '.join(ENDINGS)}"
        raise FormatError(output, message)
