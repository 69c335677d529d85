"""Write a taxonomy in another format, and say what that one has no place for."""

from __future__ import annotations

import argparse
from pathlib import Path

from taxoexpan.cli.arguments import add_taxonomy, reading_of
from taxoexpan.cli.messages import note


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_taxonomy(parser)
    parser.add_argument("output", type=Path, metavar="OUT", help="the file to make")
    parser.add_argument(
        "--to", metavar="NAME", help="the format of OUT, where its name does not say it"
    )
    parser.add_argument(
        "--base",
        metavar="IRI",
        help="in SKOS, what stands before ids that are no web addresses (default "
        "http://example.org/)",
    )
    parser.add_argument("--force", action="store_true", help="replace what is there")


def run(options: argparse.Namespace) -> int:
    """Convert, and list every loss."""
    from taxoexpan.files import preflight
    from taxoexpan.formats.conversion import convert
    from taxoexpan.formats.output import DEFAULT_BASE, Target
    from taxoexpan.phrasing import pluralize

    preflight([options.output], [options.taxonomy], options.force)
    target = Target(options.output, options.base or DEFAULT_BASE, options.language or "")
    done = convert(
        options.taxonomy, target, options.format, options.to, reading_of(options), options.force
    )
    for loss in done.losses:
        note(f"note: {loss}")
    written = " and ".join(map(str, done.files))
    size = pluralize(len(done.copy), "concept")
    note(f"{size} and {pluralize(done.copy.relation_count, 'relation')} in {written}")
    return 0
