"""Run a demo on included data: place new foods in the food branch of WordNet."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path

from taxoexpan.cli.expand import expand_with_messages
from taxoexpan.cli.messages import note
from taxoexpan.errors import FormatError
from taxoexpan.option_declarations import json_option, output_option, switch
from taxoexpan.shared_options import ExpandOptions, TrainingOptions


@dataclass(frozen=True, kw_only=True)
class Options(TrainingOptions):
    """The options of `demo`."""

    output: Path = output_option("output directory", Path("demo-output"))
    force: bool = switch("overwrite existing output files")
    json: bool = json_option("instead of a table of placements, print what was added,")


def run(options: Options) -> int:
    """Expand the included taxonomy and print the placements."""
    from taxoexpan.cli.suggestion_output import placements_table
    from taxoexpan.files import check_output

    folder = options.output
    check_output(folder, options.force)
    if folder.exists() and not folder.is_dir():
        raise FormatError(folder, "is a file", fix="give the name of a folder")
    training = {each.name: getattr(options, each.name) for each in fields(TrainingOptions)}
    folder.mkdir(exist_ok=True)
    try:
        with resources.as_file(resources.files("taxoexpan") / "data") as data:
            suggestions = expand_with_messages(
                ExpandOptions(
                    taxonomy=data / "food.csv",
                    new=data / "new-foods.csv",
                    output=folder / "food-expanded.csv",
                    suggestions=folder / "suggestions.csv",
                    model=folder / "model",
                    force=options.force,
                    **training,
                ),
                options.json,
            )
    finally:
        with suppress(OSError):  # removes the folder only if it is empty
            folder.rmdir()
    if not options.json:
        print(placements_table(suggestions))
    note(f"\nWith your own files: taxoexpan expand TAXONOMY NEW -o OUT (results are in {folder})")
    return 0
