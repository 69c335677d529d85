"""Write a taxonomy with accepted suggestions added to it."""

from __future__ import annotations

import argparse
from pathlib import Path

from taxoexpan.cli.arguments import (
    acceptance,
    add_acceptance,
    add_output,
    add_taxonomy,
    open_taxonomy,
)
from taxoexpan.cli.messages import note, print_applied
from taxoexpan.phrasing import pluralize


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_taxonomy(parser)
    parser.add_argument(
        "decisions",
        type=Path,
        metavar="DECISIONS",
        help="a CSV file from suggest or expand, edited or not",
    )
    add_output(parser, "the taxonomy file to write, or - for standard output", required=True)
    add_acceptance(parser, "also add the concepts that are marked as undecided")
    parser.add_argument(
        "--concepts",
        type=Path,
        metavar="NEW",
        help="the list of new concepts, to copy definitions and synonyms from",
    )


def run(options: argparse.Namespace) -> int:
    """Apply the decisions."""
    from taxoexpan.expansion import apply_suggestions, with_details
    from taxoexpan.files import preflight
    from taxoexpan.formats.concept_list import read_concepts
    from taxoexpan.placement.suggestions import read_suggestions

    inputs = [options.decisions, *filter(None, [options.concepts])]
    preflight([options.output], inputs, options.force)
    accept = acceptance(options)
    file = open_taxonomy(options.taxonomy, options)
    file.check_changes(accept.allowed_changes)
    suggestions = read_suggestions(
        options.decisions, file.taxonomy if options.allow_moves else None
    )
    if options.concepts:
        suggestions = with_details(suggestions, read_concepts(options.concepts))
    applied = apply_suggestions(file, suggestions, options.output, accept, options.force)
    print_applied(file.taxonomy, applied, accept)
    if applied.accepted.undecided:
        count = pluralize(applied.accepted.undecided, "concept")
        fix = f"write accepted into the column decision of {options.decisions}, or use --all"
        note(f"{count} left undecided; to add one, {fix}")
    return 0
