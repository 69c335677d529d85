"""The predicates that describe each concept of an RDF file."""

from __future__ import annotations

from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.graph_index import GraphIndex, short_name
from taxoexpan.taxonomy import Taxonomy

_RELATIONS = frozenset(
    {
        vocabulary.TYPE,
        vocabulary.BROADER,
        vocabulary.NARROWER,
        vocabulary.SUBCLASS_OF,
        vocabulary.TOP_CONCEPT_OF,
        vocabulary.HAS_TOP_CONCEPT,
    }
)
"""Predicates that state relations; a leaf lacks some of them."""


def index_predicates(index: GraphIndex, taxonomy: Taxonomy) -> PropertyIndex:
    """Return which predicates the concepts of a file have, by short name and language."""
    prefixes = {**index.prefixes, **vocabulary.USUAL_PREFIXES}
    namespaces = {iri: name for name, iri in prefixes.items() if iri}
    properties = PropertyIndex(set(taxonomy))
    for (predicate, language), subjects in index.described_by.items():
        if predicate not in _RELATIONS:
            name = short_name(predicate, namespaces) + (f"@{language}" if language else "")
            properties.having[name] = subjects & properties.concepts
    return properties
