"""The terms of RDF, SKOS, OWL and OBO that taxonomies use, and functions for IRIs and triples."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

import pyoxigraph as ox

from taxoexpan.errors import ConfigurationError
from taxoexpan.formats.format import clean_ids
from taxoexpan.taxonomy import Taxonomy

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
SKOS_XL = "http://www.w3.org/2008/05/skos-xl#"
OWL = "http://www.w3.org/2002/07/owl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
OBO = "http://purl.obolibrary.org/obo/"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"

PREFIXES = {"rdf": RDF, "skos": SKOS, "owl": OWL}
"""The prefixes of a new SKOS file."""
USUAL_PREFIXES = {**PREFIXES, "rdfs": RDFS, "xsd": XSD, "obo": OBO, "oboInOwl": OBO_IN_OWL}
"""The names that files usually give to these namespaces."""

TYPE = RDF + "type"
VALUE = RDF + "value"
XML_LITERAL = RDF + "XMLLiteral"
HTML = RDF + "HTML"
RDFS_LABEL = RDFS + "label"
COMMENT = RDFS + "comment"
SUBCLASS_OF = RDFS + "subClassOf"
IS_DEFINED_BY = RDFS + "isDefinedBy"
OWL_CLASS = OWL + "Class"
RDFS_CLASS = RDFS + "Class"
DEPRECATED_CLASS = OWL + "DeprecatedClass"
THING = OWL + "Thing"
ONTOLOGY = OWL + "Ontology"
OBO_DEFINITION = OBO + "IAO_0000115"
OBO_SYNONYM = OBO + "IAO_0000118"
OBO_ROOT = OBO + "IAO_0000700"
OBO_NAMESPACE = OBO_IN_OWL + "hasOBONamespace"
OBO_ID = OBO_IN_OWL + "id"
OLD_OBO_DEFINITION = OBO_IN_OWL + "hasDefinition"
EXACT_SYNONYM = OBO_IN_OWL + "hasExactSynonym"
OBO_SYNONYMS = tuple(
    f"{OBO_IN_OWL}has{kind}Synonym" for kind in ("Exact", "Related", "Narrow", "Broad")
)
CREATED_BY = OBO_IN_OWL + "created_by"
CREATION_DATE = OBO_IN_OWL + "creation_date"
CONCEPT = SKOS + "Concept"
SCHEME = SKOS + "ConceptScheme"
PREF_LABEL = SKOS + "prefLabel"
ALT_LABEL = SKOS + "altLabel"
HIDDEN_LABEL = SKOS + "hiddenLabel"
DEFINITION = SKOS + "definition"
SCOPE_NOTE = SKOS + "scopeNote"
CHANGE_NOTE = SKOS + "changeNote"
BROADER = SKOS + "broader"
NARROWER = SKOS + "narrower"
IN_SCHEME = SKOS + "inScheme"
TOP_CONCEPT_OF = SKOS + "topConceptOf"
HAS_TOP_CONCEPT = SKOS + "hasTopConcept"
DEPRECATED = OWL + "deprecated"
STRING = XSD + "string"
BOOLEAN = XSD + "boolean"

_PREFIXED_ID = re.compile(r"([A-Za-z][\w.-]*):([\w.-]+)")


def namespace_of(iri: str) -> str:
    """Return an IRI up to its last slash, hash or colon."""
    return iri[: max(map(iri.rfind, "/#:")) + 1]


def local_name(iri: str) -> str:
    """Return the last part of an IRI."""
    return re.split(r"[/#:]", iri.rstrip("/#:"))[-1] or iri


def is_iri(text: str) -> bool:
    """Return whether a string is a valid IRI."""
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


def as_iris(taxonomy: Taxonomy, base: str) -> dict[str, str]:
    """Return an IRI for every id; ids that are not IRIs are appended to the base."""
    if not is_iri(base):
        message = f"the base {base!r} is not an IRI"
        raise ConfigurationError(message, fix="write http://…/ or urn:…:")
    return clean_ids(taxonomy, lambda id: _as_iri(id, base))


def _as_iri(id: str, base: str) -> str:
    """Return a web IRI or URN unchanged, or the base with the id; `GO:1` becomes `GO_1`."""
    if is_iri(id) and ("://" in id or id.startswith("urn:")):
        return id
    prefixed = _PREFIXED_ID.fullmatch(id)
    return base + (f"{prefixed[1]}_{prefixed[2]}" if prefixed else quote(id, safe=""))


def link(subject: str, predicate: str, object: str) -> ox.Triple:
    """Return a triple of three IRIs."""
    return ox.Triple(ox.NamedNode(subject), ox.NamedNode(predicate), ox.NamedNode(object))


def text(subject: str, predicate: str, value: str, language: str) -> ox.Triple:
    """Return a triple with a text, with a language tag unless `language` is blank."""
    literal = ox.Literal(value, language=language) if language else ox.Literal(value)
    return ox.Triple(ox.NamedNode(subject), ox.NamedNode(predicate), literal)


def flag(subject: str, predicate: str) -> ox.Triple:
    """Return a triple with the value true."""
    true = ox.Literal("true", datatype=ox.NamedNode(BOOLEAN))
    return ox.Triple(ox.NamedNode(subject), ox.NamedNode(predicate), true)


def by_subject(triples: Iterable[ox.Triple]) -> list[list[ox.Triple]]:
    """Group triples by subject without repetitions, in order of first occurrence."""
    groups: dict[object, list[ox.Triple]] = {}
    for triple in dict.fromkeys(triples):
        groups.setdefault(triple.subject, []).append(triple)
    return list(groups.values())
