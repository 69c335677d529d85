"""The names of RDF, SKOS and OWL that taxonomies use, and the triples made of them."""

from __future__ import annotations

from typing import NamedTuple

import pyoxigraph as ox

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
SKOS_XL = "http://www.w3.org/2008/05/skos-xl#"
OWL = "http://www.w3.org/2002/07/owl#"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD = "http://www.w3.org/2001/XMLSchema#"

PREFIXES = {"rdf": RDF, "skos": SKOS, "owl": OWL}
"""What a new file calls them."""

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


class Triple(NamedTuple):
    """A statement that we make: about an IRI, with another IRI or with words."""

    subject: str
    predicate: str
    object: ox.NamedNode | ox.Literal


def link(subject: str, predicate: str, object: str) -> Triple:
    """A statement that relates two resources."""
    return Triple(subject, predicate, ox.NamedNode(object))
