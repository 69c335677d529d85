"""The terms of RDF, SKOS and OWL that taxonomies use, and helpers for triples."""

from __future__ import annotations

from collections.abc import Iterable

import pyoxigraph as ox

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
SKOS_XL = "http://www.w3.org/2008/05/skos-xl#"
OWL = "http://www.w3.org/2002/07/owl#"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD = "http://www.w3.org/2001/XMLSchema#"

PREFIXES = {"rdf": RDF, "skos": SKOS, "owl": OWL}
"""The prefixes of a new file."""

TYPE, VALUE = RDF + "type", RDF + "value"
XML_LITERAL, HTML = RDF + "XMLLiteral", RDF + "HTML"
OWL_CLASS = OWL + "Class"
CONCEPT, SCHEME = SKOS + "Concept", SKOS + "ConceptScheme"
PREF_LABEL, ALT_LABEL, HIDDEN_LABEL = SKOS + "prefLabel", SKOS + "altLabel", SKOS + "hiddenLabel"
DEFINITION, SCOPE_NOTE, CHANGE_NOTE = SKOS + "definition", SKOS + "scopeNote", SKOS + "changeNote"
BROADER, NARROWER, IN_SCHEME = SKOS + "broader", SKOS + "narrower", SKOS + "inScheme"
TOP_CONCEPT_OF, HAS_TOP_CONCEPT = SKOS + "topConceptOf", SKOS + "hasTopConcept"
DEPRECATED = OWL + "deprecated"
STRING, BOOLEAN = XSD + "string", XSD + "boolean"


def is_iri(text: str) -> bool:
    """Return whether a text is a valid IRI."""
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


def link(subject: str, predicate: str, object: str) -> ox.Triple:
    """Return a triple of three IRIs."""
    return ox.Triple(ox.NamedNode(subject), ox.NamedNode(predicate), ox.NamedNode(object))


def text(subject: str, predicate: str, value: str, language: str) -> ox.Triple:
    """Return a triple with a text, which has a language tag unless `language` is blank."""
    literal = ox.Literal(value, language=language) if language else ox.Literal(value)
    return ox.Triple(ox.NamedNode(subject), ox.NamedNode(predicate), literal)


def by_subject(triples: Iterable[ox.Triple]) -> list[list[ox.Triple]]:
    """Group triples by their subject, without repetitions, in order of first occurrence."""
    groups: dict[object, list[ox.Triple]] = {}
    for triple in dict.fromkeys(triples):
        groups.setdefault(triple.subject, []).append(triple)
    return list(groups.values())
