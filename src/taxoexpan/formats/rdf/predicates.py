"""The predicates that describe each concept of an RDF file."""

from __future__ import annotations

from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.graph_index import short_name
from taxoexpan.formats.rdf.statements import Statements
from taxoexpan.formats.text_file import TextFile
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


def index_properties(source: TextFile, taxonomy: Taxonomy) -> PropertyIndex:
    """Return which predicates the concepts of a file have, by short name."""
    index, statements = PropertyIndex(set(taxonomy)), Statements(source)
    for quad in statements:
        subject = str(getattr(quad.subject, "value", ""))
        if subject in taxonomy and quad.predicate.value not in _RELATIONS:
            language = getattr(quad.object, "language", None)
            tag = f"@{language}" if language else ""
            index.add(subject, [quad.predicate.value + tag])
    prefixes = {**statements.prefixes, **vocabulary.USUAL_PREFIXES}
    namespaces = {iri: name for name, iri in prefixes.items() if iri}
    return index.named({iri: short_name(iri, namespaces) for iri in index.having})
