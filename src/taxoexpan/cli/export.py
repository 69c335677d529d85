"""Export review decisions as input for apply, as a list of changes, or as a history; back up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.arguments import open_taxonomy, require_extra
from taxoexpan.cli.messages import as_json, note, warn
from taxoexpan.errors import ConfigurationError
from taxoexpan.option_declarations import (
    PATH,
    TEXT,
    argument,
    json_option,
    option,
    output_option,
    switch,
)
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import QuietOptions, ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.desk.store.decision_store import DecisionStore
    from taxoexpan.formats.changes.change_set import ChangeFormat


@dataclass(frozen=True, kw_only=True)
class Options(ReadingOptions, QuietOptions):
    """The options of `export`."""

    store: str = argument(
        "DECISIONS",
        "decision database written by review: a SQLite file such as reviews.db, or a "
        "postgresql:// URL",
        TEXT,
    )
    output: Path | None = output_option(
        "output file: .csv (input for apply), or, with --taxonomy, .kgcl, .md or .sssom.tsv "
        "(merges only) (default: CSV on standard output)"
    )
    force: bool = switch("overwrite existing output files")
    taxonomy: Path | None = option(
        "taxonomy file to which the changes apply", kind=PATH, metavar="FILE"
    )
    history: bool = switch(
        "write the full history, including undone decisions, with curator and time"
    )
    backup: Path | None = option(
        "instead, copy the SQLite file, also while review uses it", kind=PATH, metavar="FILE"
    )
    json: bool = json_option("instead of CSV, write the decisions, or the history,")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.json and (self.taxonomy or self.backup):
            message = "JSON has the decisions, without a taxonomy or a backup"
            raise ConfigurationError(message, fix="omit one of them", option="json")


def run(options: Options) -> int:
    """Write the decisions."""
    from taxoexpan.files import preflight, write_whole

    require_extra("web", "sqlalchemy")
    if options.backup:
        return _back_up(options, options.backup)
    format = _change_format(options)
    from taxoexpan.desk.store.decision_store import DecisionStore

    inputs = [Path(options.store), *filter(None, [options.taxonomy])]
    preflight([*filter(None, [options.output])], inputs, options.force)
    with DecisionStore.open(options.store, must_exist=True) as store:
        text, summary = _content(options, store, format)
    if options.output:
        write_whole({options.output: text.encode()}, options.force)
        note(f"{summary} written to {options.output}")
    else:
        print(text, end="")
    return 0


def _back_up(options: Options, backup: Path) -> int:
    """Copy the store to a file."""
    from taxoexpan.desk.store.decision_store import DecisionStore
    from taxoexpan.files import preflight, whole_file

    if options.output or options.taxonomy or options.history:
        message = "--backup copies the whole store, without -o, --taxonomy and --history"
        raise ConfigurationError(message, fix="give these in a second command")
    preflight([backup], [Path(options.store)], options.force)
    with DecisionStore.open(options.store, must_exist=True) as store:
        with whole_file(backup, options.force) as file:
            store.back_up(Path(file.name))
        note(f"{store.name} copied to {backup}")
    return 0


def _change_format(options: Options) -> ChangeFormat | None:
    """Return the format of the changes, or None for a CSV table of the decisions."""
    from taxoexpan.formats.changes.change_set import change_format

    if options.json:
        return None
    if options.output is None or options.output.suffix.lower() == ".csv":
        if options.taxonomy:
            raise ConfigurationError(
                "a CSV file needs no --taxonomy", fix="omit it, or write .kgcl"
            )
        return None
    if options.history:
        raise ConfigurationError("--history writes CSV", fix="use a name that ends in .csv")
    try:
        format = change_format(options.output)
    except ConfigurationError as error:
        other = "or in .csv (the decisions for apply, without --taxonomy)"
        raise ConfigurationError(error.problem, fix=f"{error.fix}, {other}") from None
    if not options.taxonomy:
        message = f"{options.output} describes the changes of a taxonomy file"
        raise ConfigurationError(message, fix="give it with --taxonomy, or use a name with .csv")
    return format


def _content(
    options: Options, store: DecisionStore, format: ChangeFormat | None
) -> tuple[str, str]:
    """Return the text to write, and a summary of it."""
    from taxoexpan.decisions.applying import changes_text
    from taxoexpan.decisions.suggestion import Verdict
    from taxoexpan.decisions.suggestion_tables import suggestions_csv, suggestions_json
    from taxoexpan.desk.store.log import history_csv, history_rows

    if options.history:
        logged = store.log()
        summary = pluralize(len(logged), "decision")
        if options.json:
            return as_json({"history": history_rows(reversed(logged))}) + "\n", summary
        return history_csv(reversed(logged)), summary
    decided = store.export_suggestions()
    accepted = {s.query.label for s in decided if s.decision == Verdict.ACCEPTED}
    summary = pluralize(len(accepted), "accepted concept")
    if options.json:
        return as_json({"decisions": suggestions_json(decided)}) + "\n", summary
    if format is None or options.taxonomy is None:
        return suggestions_csv(decided, details=True), summary
    file = open_taxonomy(options.taxonomy, options)
    text, notes, summary = changes_text(file.taxonomy, file, decided, format)
    for message in notes:
        warn(message)
    return text, summary
