"""Find new concepts in a text corpus, as a list for suggest or expand."""

from __future__ import annotations

import argparse
from pathlib import Path

from taxoexpan.cli.arguments import add_output, add_read_options, positive, read_taxonomy
from taxoexpan.cli.messages import as_json, note


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "corpus",
        type=Path,
        metavar="CORPUS",
        help="texts, one a line: .txt, .tsv, .csv or .jsonl, also with .gz; or a directory of them",
    )
    parser.add_argument(
        "--taxonomy",
        type=Path,
        metavar="TAXONOMY",
        required=True,
        help="the taxonomy that lacks the concepts",
    )
    add_read_options(parser)
    add_output(parser, "the CSV file to write (standard output unless given)")
    parser.add_argument(
        "--top", type=positive, default=500, help="the most concepts to list (default 500)"
    )
    parser.add_argument(
        "--min-count",
        type=positive,
        default=5,
        help="leave out what is said fewer times than this (default 5)",
    )
    parser.add_argument(
        "--workers", type=positive, help="processes that read the corpus (default: one a core)"
    )
    parser.add_argument("--json", action="store_true", help="JSON instead of CSV")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Write the discoveries."""
    from dataclasses import asdict

    from taxoexpan.curation.discovery import discover, discoveries_text
    from taxoexpan.errors import FormatError
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.phrasing import pluralize

    if options.output:
        preflight([options.output], [options.corpus, options.taxonomy], options.force)
    found = discover(
        options.corpus,
        read_taxonomy(options.taxonomy, options),
        top=options.top,
        min_count=options.min_count,
        workers=options.workers,
        progress=not options.quiet,
    )
    if not found:
        often = pluralize(options.min_count, "time")
        message = f"nothing new is said {often} or more; lower --min-count, or give more texts"
        raise FormatError(options.corpus, message)
    doubles = sum(bool(one.might_duplicate) for one in found)
    if options.json:
        text = as_json([asdict(one) for one in found])
    else:
        text = discoveries_text(options.output or Path("new.csv"), found)
    if options.output:
        write_whole({options.output: text.encode()}, options.force)
        note(
            f"{pluralize(len(found), 'new concept')} in {options.output}; {doubles} may be in the "
            "taxonomy already, see the column might_duplicate"
        )
    else:
        print(text, end="")
    return 0
