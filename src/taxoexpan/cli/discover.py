"""Find new concepts in a text corpus, as a list for suggest or expand."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from taxoexpan.cli.argument_types import positive
from taxoexpan.cli.arguments import add_keep_formulas, add_output, add_read_options, read_taxonomy
from taxoexpan.cli.messages import as_json, note
from taxoexpan.errors import FormatError
from taxoexpan.phrasing import pluralize


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "corpus",
        type=Path,
        metavar="CORPUS",
        help="documents, one per line or row: .txt, .csv, .tsv or .jsonl (optionally gzipped), or "
        "a folder of such files; a header row is read as a document",
    )
    parser.add_argument(
        "--taxonomy",
        type=Path,
        metavar="TAXONOMY",
        required=True,
        help="taxonomy for which to find new concepts",
    )
    add_read_options(parser)
    add_output(parser, "CSV file to write (default: standard output)")
    add_keep_formulas(parser)
    parser.add_argument(
        "--top", type=positive, default=500, help="maximum number of concepts (default: 500)"
    )
    parser.add_argument(
        "--min-count",
        type=positive,
        default=5,
        help="ignore phrases with fewer mentions (default: 5)",
    )
    parser.add_argument(
        "--workers",
        type=positive,
        help="number of processes that read the corpus (default: one per core)",
    )
    parser.add_argument("--json", action="store_true", help="write JSON instead of CSV")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(options: argparse.Namespace) -> int:
    """Write the new concepts as a table or as JSON."""
    from taxoexpan.curation.discovery import discover, discovered_concepts_table
    from taxoexpan.files import preflight, write_whole

    if options.output:
        preflight([options.output], [options.corpus, options.taxonomy], options.force)
    concepts = discover(
        options.corpus,
        read_taxonomy(options.taxonomy, options),
        top=options.top,
        min_count=options.min_count,
        workers=options.workers,
        progress=not options.quiet,
    )
    if not concepts:
        times = pluralize(options.min_count, "time")
        message = f"no new phrase occurs at least {times}; lower --min-count or add more texts"
        raise FormatError(options.corpus, message)
    if options.json:
        text = as_json([asdict(concept) for concept in concepts])
    else:
        path = options.output or Path("new.csv")
        text = discovered_concepts_table(path, concepts, options.keep_formulas)
    if not options.output:
        print(text, end="")
        return 0
    write_whole({options.output: text.encode()}, options.force, checked=True)
    duplicates = sum(bool(concept.might_duplicate) for concept in concepts)
    note(
        f"{pluralize(len(concepts), 'new concept')} in {options.output}; {duplicates} may be in "
        "the taxonomy already (see the column might_duplicate)"
    )
    return 0
