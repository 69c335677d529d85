"""Rank parents for new concepts with a trained model."""

from __future__ import annotations

import argparse
from pathlib import Path

from taxoexpan.cli.options import (
    add_device,
    add_new_concepts,
    add_output,
    as_json,
    note,
    positive,
    screen_concepts,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model directory, from train")
    add_new_concepts(parser)
    add_output(parser, "the CSV file to write (standard output unless given)")
    parser.add_argument(
        "--top-k", type=positive, default=5, help="parents for each new concept (default 5)"
    )
    parser.add_argument(
        "--features",
        metavar="SPEC",
        help="where the model's vectors are now, if they have moved since the training",
    )
    add_device(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="JSON instead of CSV")
    how.add_argument("--table", action="store_true", help="a table to read instead of CSV")


def run(options: argparse.Namespace) -> int:
    """Write the ranked parents."""
    from taxoexpan.cli.table import placements_table
    from taxoexpan.decisions import suggestions_csv
    from taxoexpan.files import preflight, write_whole
    from taxoexpan.formats.concepts import read_concepts

    if options.output:
        preflight([options.output], [options.new, options.model], options.force)
    concepts = read_concepts(options.new)
    from taxoexpan.model import TaxoExpan

    model = TaxoExpan.load(options.model, options.device, options.features)
    screening = screen_concepts(model.taxonomy, concepts)
    suggestions = model.rank(screening.new, options.top_k)
    if options.json:
        text = as_json(
            {
                "suggestions": [suggestion.as_dict() for suggestion in suggestions],
                "already_present": [
                    {"query": concept.label, "id": known.id, "label": known.label}
                    for concept, known in screening.present
                ],
            }
        )
    elif options.table:
        text = placements_table(suggestions) + "\n"
    else:
        text = suggestions_csv(suggestions)
    if options.output:
        write_whole({options.output: text.encode()}, options.force)
        note(f"{len(screening.new)} new concepts ranked; suggestions in {options.output}")
    else:
        print(text, end="")
    return 0
