"""The statements of a SKOS file, indexed by concept."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyoxigraph as ox

from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.languages import Text
from taxoexpan.formats.rdf.statements import Statements
from taxoexpan.formats.text_file import TextFile

Texts = dict[str, list[Text]]

_TEXT_FIELDS = {
    vocabulary.PREF_LABEL: "preferred",
    vocabulary.ALT_LABEL: "alternative",
    vocabulary.HIDDEN_LABEL: "alternative",
    vocabulary.DEFINITION: "definitions",
    vocabulary.SCOPE_NOTE: "scope_notes",
    vocabulary.RDFS_LABEL: "rdfs_labels",
    vocabulary.SKOS_XL + "prefLabel": "preferred",
    vocabulary.SKOS_XL + "altLabel": "alternative",
    vocabulary.SKOS_XL + "hiddenLabel": "alternative",
}
_LITERAL_FORMS = (vocabulary.SKOS_XL + "literalForm", vocabulary.VALUE)
_USED = {
    *_TEXT_FIELDS,
    *_LITERAL_FORMS,
    vocabulary.TYPE,
    vocabulary.BROADER,
    vocabulary.NARROWER,
    vocabulary.DEPRECATED,
}
_MARKUP = re.compile(r"<[^>]*>")
_TRUE = ("true", "1")


@dataclass
class SkosIndex:
    """The concepts, relations and texts of a file; dicts of None are ordered sets."""

    concepts: dict[str, None] = field(default_factory=dict)
    relations: dict[tuple[str, str], None] = field(default_factory=dict)
    preferred: Texts = field(default_factory=dict)
    alternative: Texts = field(default_factory=dict)
    definitions: Texts = field(default_factory=dict)
    scope_notes: Texts = field(default_factory=dict)
    rdfs_labels: Texts = field(default_factory=dict)
    deprecated: set[str] = field(default_factory=set)
    schemes: dict[str, None] = field(default_factory=dict)
    schemes_of: dict[str, dict[str, None]] = field(default_factory=dict)
    top_concepts: set[str] = field(default_factory=set)
    described: set[str] = field(default_factory=set)
    """Concepts by their type or their scheme, not only as the parent or child of another."""
    resources: set[str] = field(default_factory=set)
    """Every IRI that is a subject or an object."""
    predicate_counts: Counter[str] = field(default_factory=Counter)
    prefixes: dict[str, str] = field(default_factory=dict)
    _blank_nodes: dict[str, str] = field(default_factory=dict)
    """Names of blank nodes that are the same each time the file is read."""

    @classmethod
    def read(cls, source: TextFile) -> SkosIndex:
        """Index the statements of a file in one pass."""
        index, statements = cls(), Statements(source)
        fields: dict[str, Texts] = {iri: getattr(index, name) for iri, name in _TEXT_FIELDS.items()}
        references: list[tuple[Texts, str, str]] = []
        literal_forms: dict[str, Text] = {}
        for quad in statements:
            subject, predicate, value = index._key(quad.subject), quad.predicate.value, quad.object
            index.resources.add(subject)
            index.predicate_counts[predicate] += 1
            texts = fields.get(predicate)
            if texts is None:
                if predicate in _LITERAL_FORMS and isinstance(value, ox.Literal):
                    literal_forms[subject] = _text(value)
                else:
                    index._add_statement(subject, predicate, value)
            elif isinstance(value, ox.Literal):
                texts.setdefault(subject, []).append(_text(value))
            else:
                references.append((texts, subject, index._key(value)))
        # A SKOS-XL label, or a definition with author and date, is a resource with a literal.
        for texts, subject, node in references:
            if node in literal_forms:
                texts.setdefault(subject, []).append(literal_forms[node])
        index.prefixes = statements.prefixes
        return index

    def uses(self, predicate: str) -> bool:
        """Return whether the file has statements with this predicate."""
        return self.predicate_counts[predicate] > 0

    def count_ignored(self) -> dict[str, int]:
        """Count the statements that are not part of a taxonomy, by short predicate name."""
        prefixes = {**self.prefixes, **vocabulary.PREFIXES}
        namespaces = {iri: name for name, iri in prefixes.items() if iri}
        counts = {iri: n for iri, n in self.predicate_counts.items() if iri not in _USED}
        counts[vocabulary.SCOPE_NOTE] = sum(map(len, self.scope_notes.values()))
        return {_short_name(iri, namespaces): count for iri, count in counts.items() if count}

    def _add_statement(self, subject: str, predicate: str, value: object) -> None:
        """Add a statement about types, relations or schemes; others are ignored."""
        if isinstance(value, ox.Literal):
            if predicate == vocabulary.DEPRECATED and value.value in _TRUE:
                self.deprecated.add(subject)
            return
        object = self._key(value)
        self.resources.add(object)
        if predicate == vocabulary.TYPE:
            if object == vocabulary.CONCEPT:
                self.concepts[subject] = None
                self.described.add(subject)
            elif object == vocabulary.SCHEME:
                self.schemes[subject] = None
        elif predicate == vocabulary.BROADER:
            self._add_relation(object, subject)
        elif predicate == vocabulary.NARROWER:
            self._add_relation(subject, object)
        elif predicate == vocabulary.IN_SCHEME:
            # A collection may be in a scheme too, so this does not imply a concept.
            self.schemes_of.setdefault(subject, {})[object] = None
        elif predicate == vocabulary.TOP_CONCEPT_OF:
            self._add_top_concept(subject, object)
        elif predicate == vocabulary.HAS_TOP_CONCEPT:
            self._add_top_concept(object, subject)

    def _key(self, node: object) -> str:
        """Return the IRI of a node, or a name that starts with `_:` for a blank node."""
        if isinstance(node, ox.NamedNode):
            return node.value
        return self._blank_nodes.setdefault(str(node), f"_:b{len(self._blank_nodes) + 1}")

    def _add_relation(self, parent: str, child: str) -> None:
        self.concepts[child] = self.concepts[parent] = None
        self.relations[parent, child] = None

    def _add_top_concept(self, concept: str, scheme: str) -> None:
        self.concepts[concept] = self.schemes[scheme] = None
        self.top_concepts.add(concept)
        self.described.add(concept)
        self.schemes_of.setdefault(concept, {})[scheme] = None


def _short_name(iri: str, namespaces: Mapping[str, str]) -> str:
    namespace = next((namespace for namespace in namespaces if iri.startswith(namespace)), None)
    return iri if namespace is None else f"{namespaces[namespace]}:{iri.removeprefix(namespace)}"


def _text(literal: ox.Literal) -> Text:
    """Return the language and the text of a literal, without markup."""
    text = literal.value
    if literal.datatype.value in (vocabulary.XML_LITERAL, vocabulary.HTML):
        text = html.unescape(_MARKUP.sub("", text))
    return literal.language or "", text.strip()
