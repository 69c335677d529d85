"""The statements of an ontology, indexed by class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

import pyoxigraph as ox

from taxoexpan.formats.builder import Note
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.graph_index import GraphIndex, is_blank_node
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.vocabulary import local_name, namespace_of

CLASS_TYPES = (vocabulary.OWL_CLASS, vocabulary.RDFS_CLASS)
LABELS = (vocabulary.RDFS_LABEL, vocabulary.PREF_LABEL)
SYNONYMS = (
    *vocabulary.OBO_SYNONYMS,
    vocabulary.ALT_LABEL,
    vocabulary.HIDDEN_LABEL,
    vocabulary.OBO_SYNONYM,
)
DEFINITIONS = (
    vocabulary.OBO_DEFINITION,
    vocabulary.DEFINITION,
    vocabulary.OLD_OBO_DEFINITION,
    vocabulary.COMMENT,
)
"""Properties of definitions, in order of preference."""
INHERITED = (vocabulary.IS_DEFINED_BY, vocabulary.OBO_NAMESPACE)
"""Properties whose values a new class has in common with its parent."""

_LANGUAGE_NAMESPACES = (vocabulary.RDF, vocabulary.RDFS, vocabulary.OWL)
Node = ox.NamedNode | ox.Literal


@dataclass
class OwlIndex(GraphIndex):
    """The named classes of a file, and how the file describes them."""

    TEXT_PROPERTIES: ClassVar = frozenset({*LABELS, *SYNONYMS, *DEFINITIONS})
    OTHER_USED: ClassVar = frozenset({vocabulary.TYPE, vocabulary.DEPRECATED})

    types: dict[str, list[str]] = field(default_factory=dict)
    inherited: dict[str, dict[str, list[Node]]] = field(default_factory=dict)
    """The values of the inherited properties, by property and subject."""
    obo_ids: int = 0
    """How many classes have an `oboInOwl:id` that follows from their IRI."""
    label_properties: list[str] = field(default_factory=lambda: list(LABELS))
    """The properties of labels, the most frequent one first."""
    own_namespaces: set[str] = field(default_factory=set)
    """The namespaces of the classes that the file declares and describes."""
    bare: set[str] = field(default_factory=set)
    """Classes of other vocabularies that the file declares, but does not describe."""

    def labels(self, id: str) -> list[Text]:
        """Return the labels of a class with the most frequent label property that it has."""
        return self.first_texts(id, self.label_properties)

    def synonyms(self, id: str) -> list[Text]:
        """Return the synonyms of a class, and its labels with the other label property."""
        return self.texts_of(id, [*self.label_properties, *SYNONYMS])

    def definitions(self, id: str) -> list[Text]:
        """Return the definitions of a class, or else its comments."""
        return self.first_texts(id, DEFINITIONS)

    def substitute_label(self, id: str, _: Languages) -> tuple[Text, Note | None]:
        """Return the end of the IRI as a label, with a note if other classes have labels."""
        name = local_name(id)
        note = None
        if id not in self.described:
            is_own = namespace_of(id) in self.own_namespaces
            code = "undescribed-concept" if is_own else "external-concept"
            message = f"only named as a superclass or subclass; {name!r} is used as its label"
            note = Note(0, message, code, id)
        elif id not in self.deprecated and any(self.texts[each] for each in LABELS):
            note = Note(0, f"no label; {name!r} is used", "missing-label", id)
        return ("", name), note

    def count_ignored(self) -> dict[str, int]:
        """Count the statements that are not part of a taxonomy, by short predicate name."""
        counts = super().count_ignored()
        counts["rdfs:subClassOf"] = self.predicate_counts[vocabulary.SUBCLASS_OF] - len(
            self.relations
        )
        comments = self.texts[vocabulary.COMMENT].keys() & self.concepts
        counts["rdfs:comment"] = sum(
            self.definitions(id) is not self.texts[vocabulary.COMMENT][id] for id in comments
        )
        counts["classes of other vocabularies"] = len(self.bare)
        return {name: count for name, count in counts.items() if count > 0}

    def _add_literal(self, subject: str, predicate: str, value: ox.Literal) -> None:
        if predicate in INHERITED:
            self.inherited.setdefault(predicate, {}).setdefault(subject, []).append(value)
        elif predicate == vocabulary.OBO_ID and value.value == obo_id(subject):
            self.obo_ids += 1

    def _add_link(self, subject: str, predicate: str, object: str) -> None:
        """Add a statement about types, superclasses or origins; others are ignored."""
        if is_blank_node(subject) or is_blank_node(object):
            return
        if predicate == vocabulary.TYPE:
            self._add_type(subject, object)
        elif predicate == vocabulary.SUBCLASS_OF:
            if object == vocabulary.THING:
                self.top_concepts.add(subject)
            if _is_language_term(subject):
                return
            if object == subject or _is_language_term(object):
                self.concepts[subject] = None
            else:
                self._add_relation(object, subject)
        elif predicate == vocabulary.OBO_ROOT:
            self.top_concepts.add(object)
        elif predicate in INHERITED:
            node = ox.NamedNode(object)
            self.inherited.setdefault(predicate, {}).setdefault(subject, []).append(node)

    def _add_type(self, subject: str, type: str) -> None:
        if _is_language_term(subject):
            return
        if type == vocabulary.DEPRECATED_CLASS:
            self.deprecated.add(subject)
        if type in (*CLASS_TYPES, vocabulary.DEPRECATED_CLASS):
            self.concepts[subject] = None
            self.described.add(subject)
        self.types.setdefault(subject, []).append(type)

    def _finish(self) -> None:
        """Choose the label property, and drop classes of other vocabularies without content."""
        self.types = {id: types for id, types in self.types.items() if id in self.concepts}
        used = Counter(
            property for property in LABELS for id in self.texts[property] if id in self.concepts
        )
        self.label_properties.sort(key=lambda property: -used[property])
        related = {id for pair in self.relations for id in pair}
        content = (*self.texts.values(), self.deprecated, related, self.top_concepts)
        bare = {id for id in self.concepts if not any(id in part for part in content)}
        self.own_namespaces = set(map(namespace_of, self.described - bare))
        if self.own_namespaces:
            self.bare = {id for id in bare if namespace_of(id) not in self.own_namespaces}
            self.concepts = {id: None for id in self.concepts if id not in self.bare}


def obo_id(iri: str) -> str:
    """Return the OBO id of an IRI: `SO:0000704` for `http://purl.obolibrary.org/obo/SO_0000704`."""
    return ":".join(local_name(iri).rsplit("_", 1))


def _is_language_term(iri: str) -> bool:
    """Return whether RDF, RDFS or OWL defines an IRI, such as `owl:Thing`."""
    return iri.startswith(_LANGUAGE_NAMESPACES)
