"""Place new foods in the food branch of WordNet (included data; takes a few minutes)."""

from __future__ import annotations

import argparse
from contextlib import suppress
from importlib import resources
from pathlib import Path

from taxoexpan.cli.arguments import add_output, add_training, training_options
from taxoexpan.cli.expand import expand
from taxoexpan.cli.messages import note
from taxoexpan.errors import FormatError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_output(parser, "the folder to write to (default: demo-output)")
    parser.set_defaults(output=Path("demo-output"))
    add_training(parser)


def run(options: argparse.Namespace) -> int:
    """Expand the included taxonomy and print the placements."""
    from taxoexpan.cli.text_table import placements_table
    from taxoexpan.expansion import ExpansionRequest
    from taxoexpan.files import check_output

    folder: Path = options.output
    check_output(folder, options.force)
    if folder.exists() and not folder.is_dir():
        raise FormatError(folder, "is a file; give the name of a folder")
    training = training_options(options)
    folder.mkdir(exist_ok=True)
    try:
        with resources.as_file(resources.files("taxoexpan") / "data") as data:
            request = ExpansionRequest(
                taxonomy=data / "food.csv",
                new=data / "new-foods.csv",
                output=folder / "food-expanded.csv",
                suggestions=folder / "suggestions.csv",
                model=folder / "model",
                force=options.force,
            )
            placed = expand(request, training)
    finally:
        with suppress(OSError):  # removes the folder only if it is empty
            folder.rmdir()
    print(placements_table(placed.suggestions))
    note(f"\nWith your own files: taxoexpan expand TAXONOMY NEW -o OUT (results are in {folder})")
    return 0
