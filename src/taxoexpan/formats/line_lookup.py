"""Finds the lines of concepts and relations, also in formats whose readers do not note them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from taxoexpan.formats.builder import ParsedTaxonomy
from taxoexpan.formats.json import json_format
from taxoexpan.formats.obographs import obographs_format
from taxoexpan.formats.rdf import owl, skos
from taxoexpan.formats.rdf.subject_lines import subject_lines
from taxoexpan.formats.source_lines import Described, Position, SourceLines
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import TextFile

_RDF = (owl.NAME, skos.NAME)
_SLOW_READERS: dict[str, Callable[[TextFile], ParsedTaxonomy]] = {
    json_format.NAME: json_format.read_with_lines,
    obographs_format.NAME: obographs_format.read_with_lines,
}


def find_positions(file: TaxonomyFile, wanted: Collection[Described]) -> dict[Described, Position]:
    """Return where a file describes concepts and relations, as far as it can be found.

    A relation without a line of its own is where its child is.
    """
    if not wanted:
        return {}
    everything = {*wanted, *(Described(each.id) for each in wanted)}
    if file.format.NAME in _RDF:
        found = _resources(file.file, everything)
    else:
        sources = _with_lines(file)
        found = {k: v for source in sources for k, v in source.find(everything).items()}
    positions = {each: found.get(each) or found.get(Described(each.id)) for each in wanted}
    return {each: position for each, position in positions.items() if position}


def find_unordered_lines(file: TaxonomyFile, ids: Collection[str]) -> dict[str, int]:
    """Return the lines of concepts, if the taxonomy does not have them in the order of the file.

    A concept of an RDF file is read where it is mentioned first, which may be in a list of
    narrower concepts before its own description.
    """
    return subject_lines(file.file, ids) if file.format.NAME in _RDF else {}


def _resources(file: TextFile, wanted: Collection[Described]) -> dict[Described, Position]:
    lines = subject_lines(file, {each.id for each in wanted})
    return {Described(iri): Position(file.path, line) for iri, line in lines.items()}


def _with_lines(file: TaxonomyFile) -> tuple[SourceLines, ...]:
    """Return the lines that the reader noted; JSON is first read without them."""
    sources = file.parsed.sources
    if any(source.are_known for source in sources):
        return sources
    read_with_lines = _SLOW_READERS.get(file.format.NAME)
    return read_with_lines(file.file).sources if read_with_lines else sources
