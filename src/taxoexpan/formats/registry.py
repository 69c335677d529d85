"""All formats: each is asked in turn whether a file is its own, unless the user names one."""

from __future__ import annotations

from typing import Protocol

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats import category_paths, terms
from taxoexpan.formats.builder import ParsedTaxonomy
from taxoexpan.formats.json import json_format
from taxoexpan.formats.obo import obo_format
from taxoexpan.formats.output import Copy, Insertions, Target
from taxoexpan.formats.rdf import skos
from taxoexpan.formats.tables import concept_rows, edge_list
from taxoexpan.formats.text_file import TextFile
from taxoexpan.formats.wordnet import wordnet_format
from taxoexpan.taxonomy import Additions, Taxonomy


class Format(Protocol):
    """What a format's module offers."""

    NAME: str
    ABOUT: str
    SUFFIXES: tuple[str, ...]
    """Names that a copy in this format may have, unless the user names the format."""
    NOT_INSERTED: tuple[str, ...]
    """What an expanded file never has, though one made anew would."""

    def can_read(self, source: TextFile) -> bool:
        """Whether the file looks like one of this format."""

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """The taxonomy in the file."""

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """What to put in, by the file it belongs to."""

    def supported_fields(self, source: TextFile) -> frozenset[str]:
        """Which of ids, labels, synonyms and definitions the file has a place for."""

    def supported_changes(self, source: TextFile) -> frozenset[str]:
        """Which of moves and synonyms old concepts can have without any other change."""

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """The taxonomy written anew; what the format cannot hold is made to fit."""


FORMATS: dict[str, Format] = {
    module.NAME: module
    for module in (
        terms,
        wordnet_format,
        obo_format,
        skos,
        json_format,
        category_paths,
        edge_list,
        concept_rows,
    )
}
"""In the order in which they are asked: the more telling first."""

SUFFIXES = frozenset(suffix for format in FORMATS.values() for suffix in format.SUFFIXES)
PLAIN_SUFFIXES = frozenset({".csv", ".txt", ""})
"""Names of tables and lines, which do not say how these are to be read."""


def find_format(source: TextFile, name: str | None = None) -> Format:
    """The format of a file, sniffed unless named."""
    if source.path.is_dir():
        if wordnet_format.can_read(source) and name in (None, wordnet_format.NAME):
            return FORMATS[wordnet_format.NAME]
        message = "this is a directory, and not one of WordNet's; give a file inside it"
        raise FormatError(source.path, message)
    if name is not None:
        return named_format(name)
    for format in FORMATS.values():
        if format.can_read(source):
            return format
    known = "; ".join(f"{format.NAME} ({format.ABOUT})" for format in FORMATS.values())
    raise FormatError(
        source.path,
        f"not recognised; a table needs a header such as child,parent. Known formats: {known}",
    )


def named_format(name: str) -> Format:
    """The format of this name."""
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise ConfigurationError(f"no format is called {name!r}; choose one of {known}")
    return FORMATS[name]
