"""All formats, and the detection of a file's format."""

from __future__ import annotations

from typing import Protocol

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats import category_paths, terms
from taxoexpan.formats.builder import ParsedTaxonomy
from taxoexpan.formats.json import json_format
from taxoexpan.formats.obo import obo_format
from taxoexpan.formats.obographs import obographs_format
from taxoexpan.formats.openfoodfacts import openfoodfacts_format
from taxoexpan.formats.output import Copy, Insertions, Target
from taxoexpan.formats.path_parts import MARKER
from taxoexpan.formats.rdf import owl, skos
from taxoexpan.formats.rdf.statements import SYNTAXES
from taxoexpan.formats.tables import concept_rows, edge_list
from taxoexpan.formats.tables.table_file import column_error, is_table, open_if_table
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
        obographs_format,
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

SUGGESTION_COLUMNS = frozenset({"query", "query_id", "rank", "parent_id"})
"""The columns by which a table of suggestions is recognized."""

TABLES = (category_paths.NAME, edge_list.NAME, concept_rows.NAME)
"""The formats of tables; the header decides between them, and no other cell."""


def find_format(file: TextFile, name: str | None = None) -> Format:
    """The format of a file; it is detected unless its name is given."""
    if file.path.is_dir():
        if wordnet_format.can_read(file) and name in (None, wordnet_format.NAME):
            return FORMATS[wordnet_format.NAME]
        message = "this is a directory, but not a WordNet directory; give a file inside it"
        raise FormatError(file.path, message)
    if name is not None:
        return named_format(name)
    _refuse_suggestions(file)
    for format in _candidates(file):
        if format.can_read(file):
            return format
    raise _unrecognized(file)


def _refuse_suggestions(file: TextFile) -> None:
    """Refuse a table of suggestions, whose columns could be read as those of a taxonomy."""
    table = open_if_table(file) if is_table(file) and not file.options.columns else None
    if table is not None and SUGGESTION_COLUMNS.issubset(table.header):
        message = "this is a table of suggestions, not a taxonomy; check the order of the arguments"
        raise FormatError(file.path, message, table.line)


def named_format(name: str) -> Format:
    """The format with this name."""
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise ConfigurationError(f"there is no format {name!r}; choose one of {known}")
    return FORMATS[name]


def format_table() -> str:
    """All formats, with one line for each."""
    width = max(map(len, FORMATS))
    return "\n".join(f"  {name:<{width}}  {each.ABOUT}" for name, each in FORMATS.items())


def _candidates(file: TextFile) -> list[Format]:
    """The formats that a file may have, by its name and its first line.

    A format that owns the suffix comes first, so that no text inside the file can change it.
    """
    if file.text.startswith(MARKER):
        return [FORMATS[category_paths.NAME]]
    owners = [format for format in FORMATS.values() if file.suffix in format.SUFFIXES]
    if is_table(file) or (file.options.columns and not owners):
        return [FORMATS[name] for name in TABLES]
    if file.suffix in PLAIN_SUFFIXES:
        return list(FORMATS.values())
    if file.suffix in SYNTAXES:
        return [FORMATS[owl.NAME], FORMATS[skos.NAME]]
    return [*owners, *(format for format in FORMATS.values() if format not in owners)]


def _unrecognized(file: TextFile) -> FormatError:
    """An error that lists the columns of a table, or else all formats."""
    if "\r" in file.text and "\n" not in file.text:
        message = "the lines end with CR, as on old Macintosh computers; save the file with LF"
        fix = f"for example: tr '\\r' '\\n' < {file.path.name} > new{file.path.suffix}"
        raise FormatError(file.path, f"{message} ({fix})")
    table = open_if_table(file) if is_table(file) or file.options.columns else None
    if table is not None and (len(table.header) > 1 or file.options.columns):
        problem = "the columns do not say how the concepts are related"
        return column_error(table, "; ".join([problem, *file.remarks]))
    if file.delimiter:
        message = "; ".join(["the sheet has only one column", *file.remarks])
        sheet = ["sheet=NAME"] if "sheet=NAME" in message else []
        return FormatError(file.path, message).naming(*sheet)
    message = "the format is not recognized; give format=NAME, if it is one of these"
    return FormatError(file.path, f"{message}:\n{format_table()}").naming("format=NAME")
