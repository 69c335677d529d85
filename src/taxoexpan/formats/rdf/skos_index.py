"""What the statements of a SKOS file say, concept by concept."""

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

Texts = dict[str, list[Text]]

_TEXTS = {
    vocabulary.PREF_LABEL: "preferred",
    vocabulary.ALT_LABEL: "others",
    vocabulary.HIDDEN_LABEL: "others",
    vocabulary.DEFINITION: "definitions",
    vocabulary.SCOPE_NOTE: "scope_notes",
    vocabulary.RDFS_LABEL: "plain_labels",
    vocabulary.SKOS_XL + "prefLabel": "preferred",
    vocabulary.SKOS_XL + "altLabel": "others",
    vocabulary.SKOS_XL + "hiddenLabel": "others",
}
_FORMS = (vocabulary.SKOS_XL + "literalForm", vocabulary.VALUE)
_READ = {
    *_TEXTS,
    *_FORMS,
    vocabulary.TYPE,
    vocabulary.BROADER,
    vocabulary.NARROWER,
    vocabulary.DEPRECATED,
}
_MARKUP = re.compile(r"<[^>]*>")
_TRUE = ("true", "1")


@dataclass
class Thesaurus:
    """The columns of a vocabulary; dicts without values are sets that keep their order."""

    concepts: dict[str, None] = field(default_factory=dict)
    relations: dict[tuple[str, str], None] = field(default_factory=dict)
    preferred: Texts = field(default_factory=dict)
    others: Texts = field(default_factory=dict)
    definitions: Texts = field(default_factory=dict)
    scope_notes: Texts = field(default_factory=dict)
    plain_labels: Texts = field(default_factory=dict)
    deprecated: set[str] = field(default_factory=set)
    schemes: dict[str, None] = field(default_factory=dict)
    schemes_of: dict[str, dict[str, None]] = field(default_factory=dict)
    tops: set[str] = field(default_factory=set)
    described: set[str] = field(default_factory=set)
    """What is said to be a concept, by its type or a scheme, and not only named by another."""
    resources: set[str] = field(default_factory=set)
    """Every IRI that the file uses for a thing."""
    blanks: dict[str, str] = field(default_factory=dict)
    """Names of blank nodes that are the same on every reading."""
    used: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, statements: Statements) -> Thesaurus:
        """Sort the statements, in one pass."""
        thesaurus = cls()
        texts: dict[str, Texts] = {iri: getattr(thesaurus, name) for iri, name in _TEXTS.items()}
        linked: list[tuple[Texts, str, str]] = []
        forms: dict[str, Text] = {}
        for quad in statements:
            subject, predicate = thesaurus._key(quad.subject), quad.predicate.value
            value = quad.object
            thesaurus.resources.add(subject)
            thesaurus.used[predicate] += 1
            kind = texts.get(predicate)
            if kind is None:
                if predicate in _FORMS and isinstance(value, ox.Literal):
                    forms[subject] = _text(value)
                else:
                    thesaurus._relate(subject, predicate, value)
            elif isinstance(value, ox.Literal):
                kind.setdefault(subject, []).append(_text(value))
            else:
                linked.append((kind, subject, thesaurus._key(value)))
        # An extended label, or a definition with an author and a date, is a resource of its own.
        for kind, subject, node in linked:
            if node in forms:
                kind.setdefault(subject, []).append(forms[node])
        return thesaurus

    def ignored(self, prefixes: Mapping[str, str]) -> dict[str, int]:
        """How often the file says what a taxonomy does not hold, by the short name of what."""
        spaces = {iri: name for name, iri in {**prefixes, **vocabulary.PREFIXES}.items() if iri}
        counts = {iri: count for iri, count in self.used.items() if iri not in _READ}
        counts[vocabulary.SCOPE_NOTE] = sum(map(len, self.scope_notes.values()))
        return {_short(iri, spaces): count for iri, count in counts.items() if count}

    def _relate(self, subject: str, predicate: str, value: object) -> None:
        """A statement about structure; others are passed over."""
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
            self._join(object, subject)
        elif predicate == vocabulary.NARROWER:
            self._join(subject, object)
        elif predicate == vocabulary.IN_SCHEME:
            # A collection may be in a scheme too, so this alone makes no concept.
            self.schemes_of.setdefault(subject, {})[object] = None
        elif predicate == vocabulary.TOP_CONCEPT_OF:
            self._top(subject, object)
        elif predicate == vocabulary.HAS_TOP_CONCEPT:
            self._top(object, subject)

    def _key(self, node: object) -> str:
        """A resource's IRI, or a name after `_:` for a blank node."""
        if isinstance(node, ox.NamedNode):
            return node.value
        return self.blanks.setdefault(str(node), f"_:b{len(self.blanks) + 1}")

    def _join(self, parent: str, child: str) -> None:
        self.concepts[child] = self.concepts[parent] = None
        self.relations[parent, child] = None

    def _top(self, concept: str, scheme: str) -> None:
        self.concepts[concept] = self.schemes[scheme] = None
        self.tops.add(concept)
        self.described.add(concept)
        self.schemes_of.setdefault(concept, {})[scheme] = None


def _short(iri: str, spaces: Mapping[str, str]) -> str:
    space = next((space for space in spaces if iri.startswith(space)), None)
    return iri if space is None else f"{spaces[space]}:{iri.removeprefix(space)}"


def _text(literal: ox.Literal) -> Text:
    words = literal.value
    if literal.datatype.value in (vocabulary.XML_LITERAL, vocabulary.HTML):
        words = html.unescape(_MARKUP.sub("", words))
    return literal.language or "", words.strip()
