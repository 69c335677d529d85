"""Write the decisions of curators to a file: for apply, as changes, or as a history."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import add_keep_formulas, add_output, add_read_options, open_taxonomy
from taxoexpan.cli.messages import note
from taxoexpan.cli.server_arguments import require_web_extra
from taxoexpan.errors import ConfigurationError
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.desk.store.decision_store import DecisionStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "store",
        metavar="DECISIONS",
        help="the file of decisions that review writes, such as reviews.db, or postgresql://…",
    )
    add_output(
        parser,
        "the file to write: .csv with the decisions for apply (also on standard output, the "
        "default); with --taxonomy, the changes as .kgcl, .sssom.tsv (the merges) or .md",
    )
    parser.add_argument(
        "--taxonomy",
        type=Path,
        metavar="FILE",
        help="the taxonomy file to which the changes belong",
    )
    parser.add_argument(
        "--history",
        action="store_true",
        help="write all decisions, also those that were undone: who, when, what",
    )
    add_keep_formulas(parser)
    add_read_options(parser)


def run(options: argparse.Namespace) -> int:
    """Write the decisions."""
    from taxoexpan.files import preflight, write_whole

    require_web_extra()
    _refuse_contradictions(options)
    from taxoexpan.desk.store.decision_store import DecisionStore

    inputs = [Path(options.store), *filter(None, [options.taxonomy])]
    preflight([*filter(None, [options.output])], inputs, options.force)
    with DecisionStore.open(options.store, must_exist=True) as store:
        text, summary = _content(options, store)
    if options.output:
        write_whole({options.output: text.encode()}, options.force)
        note(f"{summary} written to {options.output}")
    else:
        print(text, end="")
    return 0


def _refuse_contradictions(options: argparse.Namespace) -> None:
    table = options.output is None or options.output.suffix.lower() == ".csv"
    if options.history and not table:
        raise ConfigurationError("--history writes CSV; use a name that ends in .csv")
    if table and options.taxonomy:
        raise ConfigurationError("a CSV file needs no --taxonomy; omit it, or write .kgcl")
    if not table:
        from taxoexpan.formats.changes.change_set import change_format

        try:
            change_format(options.output)
        except ConfigurationError as error:
            other = "or in .csv (the decisions for apply, without --taxonomy)"
            raise ConfigurationError(f"{error}, {other}") from None
    if not table and not options.taxonomy:
        message = f"{options.output} describes the changes of a taxonomy file"
        raise ConfigurationError(f"{message}; give it with --taxonomy, or use a name with .csv")


def _content(options: argparse.Namespace, store: DecisionStore) -> tuple[str, str]:
    """Return the text to write, and what it contains."""
    from taxoexpan.desk.store.change_export import changes_text
    from taxoexpan.desk.store.history_table import history_csv
    from taxoexpan.formats.changes.change_set import change_format
    from taxoexpan.placement.suggesting.suggestions import Verdict
    from taxoexpan.placement.suggesting.tables import suggestions_csv

    if options.history:
        logged = store.history(limit=None)
        return history_csv(logged, options.keep_formulas), pluralize(len(logged), "decision")
    decided = store.export_suggestions()
    accepted = {s.query.label for s in decided if s.decision == Verdict.ACCEPTED}
    summary = pluralize(len(accepted), "accepted concept")
    if not options.taxonomy:
        return suggestions_csv(decided, options.keep_formulas, details=True), summary
    format = change_format(options.output)
    file = open_taxonomy(options.taxonomy, options)
    text, notes = changes_text(file.taxonomy, file, decided, format)
    for message in notes:
        note(f"note: {message}")
    return text, summary
