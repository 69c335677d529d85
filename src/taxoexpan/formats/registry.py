"""All formats, and the detection of a file's format."""

from __future__ import annotations

from typing import Protocol

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats import category_paths, terms
from taxoexpan.formats.builder import ParsedTaxonomy
from taxoexpan.formats.json import json_format
from taxoexpan.formats.obo import obo_format
from taxoexpan.formats.openfoodfacts import openfoodfacts_format
from taxoexpan.formats.output import Copy, Insertions, Target
from taxoexpan.formats.rdf import owl, skos
from taxoexpan.formats.tables import concept_rows, edge_list
from taxoexpan.formats.text_file import TextFile
from taxoexpan.formats.wordnet import wordnet_format
from taxoexpan.taxonomy import Additions, Taxonomy


class Format(Protocol):
    """The interface of a format's module."""

    NAME: str
    ABOUT: str
    SUFFIXES: tuple[str, ...]
    """File names with these suffixes are written in this format, unless another one is given."""
    NOT_INSERTED: tuple[str, ...]
    """Kinds of data that `write` stores, but `extend` does not."""

    def can_read(self, file: TextFile) -> bool:
        """Whether the file looks like this format."""

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """The taxonomy in the file."""

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """The insertions that add the additions to each file."""

    def supported_fields(self, file: TextFile) -> frozenset[str]:
        """Which of ids, labels, synonyms and definitions of new concepts the file can store."""

    def supported_changes(self, file: TextFile) -> frozenset[str]:
        """Which of moves and synonyms of existing concepts the file can store."""

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """The taxonomy as new files; texts that the format cannot store are adapted."""


FORMATS: dict[str, Format] = {
    module.NAME: module
    for module in (
        terms,
        wordnet_format,
        obo_format,
        owl,
        skos,
        json_format,
        openfoodfacts_format,
        category_paths,
        edge_list,
        concept_rows,
    )
}
"""In the order of detection: the most specific formats come first."""

SUFFIXES = frozenset(suffix for format in FORMATS.values() for suffix in format.SUFFIXES)
PLAIN_SUFFIXES = frozenset({".csv", ".txt", ""})
"""Suffixes that do not determine the format."""


def find_format(file: TextFile, name: str | None = None) -> Format:
    """The format of a file; it is detected unless its name is given."""
    if file.path.is_dir():
        if wordnet_format.can_read(file) and name in (None, wordnet_format.NAME):
            return FORMATS[wordnet_format.NAME]
        message = "this is a directory, but not a WordNet directory; give a file inside it"
        raise FormatError(file.path, message)
    if name is not None:
        return named_format(name)
    for format in FORMATS.values():
        if format.can_read(file):
            return format
    table = "".join(f"\n  {name:<8} {format.ABOUT}" for name, format in FORMATS.items())
    message = "the format is not recognized; a table needs a header such as child,parent"
    raise FormatError(file.path, f"{message}. The known formats are:{table}")


def named_format(name: str) -> Format:
    """The format with this name."""
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise ConfigurationError(f"there is no format {name!r}; choose one of {known}")
    return FORMATS[name]
