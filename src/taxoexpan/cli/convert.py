"""Write a taxonomy in another format, and list what that format cannot hold."""

from __future__ import annotations

import argparse
from pathlib import Path

from taxoexpan.cli.arguments import add_keep_formulas, add_taxonomy, read_options
from taxoexpan.cli.messages import note, print_protected, spell_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_taxonomy(parser)
    parser.add_argument(
        "output",
        type=Path,
        metavar="OUT",
        help="the file to write, or - for standard output (then give --to)",
    )
    parser.add_argument(
        "--to",
        metavar="NAME",
        help="format of OUT (default: by the suffix of OUT), "
        "or a syntax of RDF: ttl, nt, rdf, jsonld",
    )
    parser.add_argument(
        "--base",
        metavar="IRI",
        help="prefix for ids that are not IRIs, when writing RDF (default: http://example.org/, or "
        "http://purl.obolibrary.org/obo/ if TAXONOMY is OBO)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite OUT if it exists")
    add_keep_formulas(parser)


def run(options: argparse.Namespace) -> int:
    """Convert, and print every loss."""
    from taxoexpan.files import preflight
    from taxoexpan.formats.conversion import convert
    from taxoexpan.formats.format import DEFAULT_BASE, Target
    from taxoexpan.phrasing import pluralize

    preflight([options.output], [options.taxonomy], options.force)
    target = Target(options.output, options.base or DEFAULT_BASE, options.language or "")
    done = convert(
        options.taxonomy,
        target,
        options.format,
        options.to,
        read_options(options),
        options.force,
        options.keep_formulas,
    )
    if done.base:
        changed = pluralize(sum(id.startswith(done.base) for id in done.ids.values()), "id")
        default = "" if options.base else "; --base sets another"
        note(f"note: {changed} written as IRIs that start with {done.base}{default}")
    print_protected(done.protected)
    for loss in done.losses:
        note(f"note: {loss}")
    size = pluralize(len(done.copy), "concept")
    note(
        f"{size} and {pluralize(len(done.copy.relations), 'relation')} in {spell_files(done.files)}"
    )
    return 0
