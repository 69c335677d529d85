"""Helpers of the tests of RDF formats: the same statements in other syntaxes, and graphs."""

from __future__ import annotations

from pathlib import Path

import rdflib

from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import ReadOptions
from taxoexpan.taxonomy import Concept
from tests.support.expanded_files import write_file

_KINDS = {".ttl": "turtle", ".nt": "nt", ".owl": "xml", ".rdf": "pretty-xml", ".jsonld": "json-ld"}


def in_syntax(path: Path, suffix: str) -> Path:
    """Write the same statements in another syntax with rdflib."""
    text = rdflib.Graph().parse(path).serialize(format=_KINDS[suffix])
    return write_file(path.with_name(f"copy{suffix}"), text)


def graph_of(path: Path) -> rdflib.Graph:
    """Return the statements of a file."""
    return rdflib.Graph().parse(path, format="xml" if path.suffix == ".owl" else None)


def concepts_of(
    path: Path, format: str | None = None, language: str | None = None
) -> dict[str, Concept]:
    """Return the concepts of a file by the last part of their IRIs."""
    taxonomy = TaxonomyFile.open(path, format, ReadOptions(language)).taxonomy
    return {concept.id.rpartition("/")[2]: concept for concept in taxonomy.concepts}
