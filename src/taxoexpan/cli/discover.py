"""Find new concepts in a text corpus, as a list for suggest or expand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.argument_types import positive
from taxoexpan.cli.arguments import add_keep_formulas, add_output, add_read_options, read_taxonomy
from taxoexpan.cli.messages import as_json, note
from taxoexpan.errors import FormatError

if TYPE_CHECKING:
    from taxoexpan.curation.discovery import DiscoveredConcept


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
        "--top",
        type=positive,
        default=500,
        help="maximum number of concepts (default: %(default)s)",
    )
    parser.add_argument(
        "--min-count",
        type=positive,
        default=5,
        help="ignore phrases with fewer mentions (default: %(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=positive,
        help="number of processes that read the corpus (default: one per core)",
    )
    parser.add_argument("--json", action="store_true", help="write JSON instead of CSV")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(options: argparse.Namespace) -> int:
    """Write the new concepts of a corpus."""
    from taxoexpan.curation.discovery import discover
    from taxoexpan.files import preflight

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
        raise _nothing_found(options)
    return _write(options, concepts)


def _write(options: argparse.Namespace, concepts: list[DiscoveredConcept]) -> int:
    """Write the new concepts as a table or as JSON."""
    from dataclasses import asdict

    from taxoexpan.curation.discovery import discovered_concepts_table
    from taxoexpan.files import write_whole
    from taxoexpan.phrasing import pluralize

    duplicates = sum(bool(concept.might_duplicate) for concept in concepts)
    if options.json:
        text = as_json([asdict(concept) for concept in concepts])
    else:
        text = discovered_concepts_table(
            options.output or Path("new.csv"), concepts, options.keep_formulas
        )
    if options.output:
        write_whole({options.output: text.encode()}, options.force, checked=True)
        note(
            f"{pluralize(len(concepts), 'new concept')} in {options.output}; {duplicates} may be "
            "in the taxonomy already (see the column might_duplicate)"
        )
    else:
        print(text, end="")
    return 0


def _nothing_found(options: argparse.Namespace) -> FormatError:
    from taxoexpan.phrasing import pluralize

    times = pluralize(options.min_count, "time")
    message = f"no new phrase occurs at least {times}; lower --min-count or add more texts"
    return FormatError(options.corpus, message)
