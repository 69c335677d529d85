"""What several commands do with their options: open files, and refuse missing libraries."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.taxonomy_messages import print_file_notes
from taxoexpan.errors import ConfigurationError
from taxoexpan.shared_options import ReadingOptions

if TYPE_CHECKING:
    from taxoexpan.formats.taxonomy_file import TaxonomyFile


def require_extra(extra: str, *modules: str) -> None:
    """Refuse to start a command if libraries of an extra are not installed."""
    for name in modules:
        if find_spec(name) is None:
            message = f"this command needs {name}, which is not installed"
            raise ConfigurationError(message, fix=f"pip install 'taxoexpan[{extra}]'")


def refuse_json_beside(output: Path) -> None:
    """Refuse to print JSON on standard output if another output is already there."""
    if str(output) == "-":
        message = "standard output has no place for JSON besides the taxonomy"
        raise ConfigurationError(message, fix="write the taxonomy to a file", option="json")


def open_taxonomies(paths: Sequence[Path], options: ReadingOptions) -> list[TaxonomyFile]:
    """Open taxonomy files, and print each note of their readers once."""
    from taxoexpan.formats.taxonomy_file import TaxonomyFile, read_options

    reading = read_options(options)
    files = [TaxonomyFile.open(path, options.format, reading) for path in paths]
    # An option may be meant for one of several files.
    if set.intersection(*(set(file.unused_options) for file in files)):
        files[0].refuse_unused_options()
    print_file_notes(*files)
    return files


def open_taxonomy(path: Path, options: ReadingOptions) -> TaxonomyFile:
    """Open a taxonomy file and print the notes of its reader."""
    return open_taxonomies([path], options)[0]
