"""Finds the lines of concepts and relations, also in formats whose readers do not note them."""

from __future__ import annotations

from collections.abc import Collection

from taxoexpan.formats.source_lines import Described, Position, SourceLines
from taxoexpan.formats.taxonomy_file import TaxonomyFile


def find_positions(file: TaxonomyFile, wanted: Collection[Described]) -> dict[Described, Position]:
    """Return where a file describes concepts and relations, as far as it can be found.

    A relation without a line of its own is where its child is.
    """
    if not wanted:
        return {}
    everything = {*wanted, *(Described(each.id) for each in wanted)}
    if file.format.is_rdf:
        lines = file.format.subject_lines(file.file, {each.id for each in everything})
        found = {Described(iri): Position(file.path, line) for iri, line in lines.items()}
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
    return file.format.subject_lines(file.file, ids)


def _with_lines(file: TaxonomyFile) -> tuple[SourceLines, ...]:
    """Return the lines that the reader noted; JSON is first read without them."""
    sources = file.parsed.sources
    if any(source.are_known for source in sources):
        return sources
    return file.format.read_with_lines(file.file).sources
