"""Place new foods in the food branch of WordNet: nothing to prepare, two minutes."""

from __future__ import annotations

import argparse
from contextlib import suppress
from importlib import resources
from pathlib import Path

from taxoexpan.cli import expand
from taxoexpan.cli.arguments import add_output, add_training
from taxoexpan.cli.messages import note
from taxoexpan.errors import FormatError

SHARED = ("preset", "features", "seed", "epochs", "changes", "device", "quiet", "force")
"""The options that are passed on to `expand`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_output(parser, "the folder to fill (default demo-output)")
    parser.set_defaults(output=Path("demo-output"))
    add_training(parser)


def run(options: argparse.Namespace) -> int:
    """Expand the taxonomy that comes with the package, and show the placements."""
    from taxoexpan.cli.text_table import placements_table
    from taxoexpan.files import refuse_overwriting
    from taxoexpan.placement.suggestions import read_suggestions

    folder: Path = options.output
    refuse_overwriting(folder, options.force)
    if folder.exists() and not folder.is_dir():
        raise FormatError(folder, "is a file; give the name of a folder")
    folder.mkdir(exist_ok=True)
    suggestions = folder / "suggestions.csv"
    with resources.as_file(resources.files("taxoexpan") / "data") as here:
        files = [here / "food.csv", here / "new-foods.csv", "-o", folder / "food-expanded.csv"]
        files += ["--suggestions", suggestions, "--model", folder / "model"]
        # Whatever else expand can be asked keeps its default.
        expansion = _parser().parse_args([str(file) for file in files])
        vars(expansion).update({name: vars(options)[name] for name in SHARED})
        try:
            status = expand.run(expansion)
        finally:
            with suppress(OSError):  # a folder that holds something stays
                folder.rmdir()
    print(placements_table(read_suggestions(suggestions)))
    note(f"\nThe same with your own files: taxoexpan expand TAXONOMY NEW -o OUT (see {folder})")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    expand.add_arguments(parser)
    return parser
