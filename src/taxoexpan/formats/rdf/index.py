"""The statements of an RDF file that make up a taxonomy, indexed by concept."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.statements import Statements
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import join_words

MOST = 0.8
"""A property or type that this share of the concepts has belongs to the style of the file."""

_MAX_NAMED = 4
"""How many types and properties a message names."""
_LIKELY_RELATION = re.compile("broader|parent|super|subclass", re.IGNORECASE)
_UPWARD = re.compile(
    r"broader|^(has|is|sub)?_?parent|super(?!s|v)|sub_?class|child_?of|part_?of", re.IGNORECASE
)
_DOWNWARD = re.compile(
    r"narrower|child(?!_?of)|super_?class_?of|parent_?of|has_?part", re.IGNORECASE
)
_CLOSURE = re.compile("transitive|extended|ancestor|descendant", re.IGNORECASE)
"""Names of properties that relate concepts upward, downward, or also over several levels."""
_MARKUP = re.compile(r"<[^>]*>")
_TRUE = ("true", "1")
_LINKS = (vocabulary.BROADER, vocabulary.NARROWER, vocabulary.SUBCLASS_OF)
_RELATIONS = (vocabulary.TYPE, *_LINKS, vocabulary.TOP_CONCEPT_OF, vocabulary.HAS_TOP_CONCEPT)
"""Predicates that state relations; a leaf lacks some of them."""

Node = ox.NamedNode | ox.Literal


@dataclass
class GraphIndex:
    """The concepts, relations and texts of a file; dicts of None are ordered sets."""

    LABELS: ClassVar[tuple[str, ...]]
    SYNONYMS: ClassVar[tuple[str, ...]]
    DEFINITIONS: ClassVar[tuple[str, ...]]
    """Properties of definitions, in order of preference."""
    OTHER_TEXTS: ClassVar[tuple[str, ...]] = ()
    LITERAL_FORMS: ClassVar[tuple[str, ...]] = ()
    """Properties with the text of a label or definition that is itself a resource."""
    OTHER_USED: ClassVar[tuple[str, ...]]
    """Properties that a taxonomy represents, besides the properties of texts."""
    INHERITED: ClassVar[tuple[str, ...]]
    """Properties whose values a new concept has in common with its parents."""

    concepts: dict[str, None] = field(default_factory=dict)
    relations: dict[tuple[str, str], None] = field(default_factory=dict)
    texts: dict[str, dict[str, list[Text]]] = field(default_factory=dict)
    """By property and subject."""
    types: dict[str, list[str]] = field(default_factory=dict)
    inherited: dict[str, dict[str, list[Node]]] = field(default_factory=dict)
    """The values of the inherited properties, by property and subject."""
    deprecated: set[str] = field(default_factory=set)
    unread: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Pairs of a parent and a child, by properties that seem to relate them, but are not read."""
    top_concepts: set[str] = field(default_factory=set)
    described: set[str] = field(default_factory=set)
    """Concepts by their own statements, not only as the parent or child of another."""
    resources: set[str] = field(default_factory=set)
    """Every IRI that is a subject or an object."""
    predicate_counts: Counter[str] = field(default_factory=Counter)
    described_by: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """The subjects of each predicate and language."""
    prefixes: dict[str, str] = field(default_factory=dict)
    statements: Statements = field(init=False, repr=False)
    """The source of the statements."""
    _blank_nodes: dict[str, str] = field(default_factory=dict)
    """Names of blank nodes that are the same each time the file is read."""

    @classmethod
    def read(cls, source: TextFile) -> Self:
        """Index the statements of a file in one pass."""
        index = cls()
        statements = Statements(source)
        index.texts = {property: {} for property in cls._text_properties()}
        index.inherited = {property: {} for property in cls.INHERITED}
        references: list[tuple[dict[str, list[Text]], str, str]] = []
        literal_forms: dict[str, Text] = {}
        for quad in statements:
            subject = index._key(quad.subject)
            predicate = quad.predicate.value
            value = quad.object
            index.resources.add(subject)
            index.predicate_counts[predicate] += 1
            language = value.language or "" if isinstance(value, ox.Literal) else ""
            index.described_by.setdefault((predicate, language), set()).add(subject)
            texts = index.texts.get(predicate)
            if texts is None:
                if predicate in cls.LITERAL_FORMS and isinstance(value, ox.Literal):
                    literal_forms[subject] = _text(value)
                else:
                    index._add_any(subject, predicate, value)
            elif isinstance(value, ox.Literal):
                texts.setdefault(subject, []).append(_text(value))
            else:
                references.append((texts, subject, index._key(value)))
        # A SKOS-XL label, or a definition with author and date, is a resource with a literal.
        for texts, subject, node in references:
            if node in literal_forms:
                texts.setdefault(subject, []).append(literal_forms[node])
        index.prefixes = statements.prefixes
        index.statements = statements
        index._finish()
        return index

    @classmethod
    def _text_properties(cls) -> tuple[str, ...]:
        return (*cls.LABELS, *cls.SYNONYMS, *cls.DEFINITIONS, *cls.OTHER_TEXTS)

    def labels(self, id: str) -> list[Text]:
        """Return the preferred labels of a concept."""
        return self.texts_of(id, self.LABELS)

    def synonyms(self, id: str) -> list[Text]:
        """Return the other names of a concept."""
        return self.texts_of(id, self.SYNONYMS)

    def definitions(self, id: str) -> list[Text]:
        """Return the definitions of a concept from the first property that has any."""
        return self.first_texts(id, self.DEFINITIONS)

    def substitute_label(self, id: str, languages: Languages) -> tuple[Text, Note | None]:
        """Return a label for a concept without a preferred label, and an optional note."""
        raise NotImplementedError

    def notes(self) -> Iterator[Note]:
        """Yield notes about other content of the file."""
        raise NotImplementedError

    def unread_relations(self, parent_predicate: str) -> Iterator[Note]:
        """Yield a note with the properties that relate concepts otherwise than the read ones.

        A property that also relates a concept to the parents of its parents counts only where no
        parent is read.
        """
        placed = {child for _, child in self.relations}
        counts = dict[str, int]()
        for iri, pairs in self.unread.items():
            known = placed if _CLOSURE.search(vocabulary.local_name(iri)) else set[str]()
            between = {pair for pair in pairs if self.concepts.keys() >= {*pair}}
            between = {pair for pair in between if not any(map(is_blank_node, pair))}
            lost = {pair for pair in between - self.relations.keys() if pair[1] not in known}
            if lost:
                counts[_short_name(iri, self._namespaces)] = len(lost)
        if counts:
            listed = join_words([f"{name} ({count:,})" for name, count in counts.items()])
            message = f"{listed} {'are' if len(counts) > 1 else 'is'} not read as a relation"
            fix = f"write {parent_predicate} from each concept to its direct parents"
            yield Note(0, f"{message}; {fix}, for example with an update of SPARQL")

    @cached_property
    def relative(self) -> int:
        """The number of IRIs that are relative in the file, which has no base."""
        base = self.statements.base
        return sum(iri.startswith(base) for iri in self.resources) if base else 0

    def languages(self, source: TextFile) -> Languages:
        """Choose the language of the labels."""
        labels = [self.labels(id) for id in self.concepts]
        names = (self.synonyms(id) for id in self.concepts)
        return Languages.choose(source, labels, names)

    def texts_of(self, id: str, properties: Iterable[str]) -> list[Text]:
        """Return the values of these text properties of a concept."""
        return [text for property in properties for text in self.texts[property].get(id, ())]

    def first_texts(self, id: str, properties: Iterable[str]) -> list[Text]:
        """Return the values of the first of these text properties that a concept has."""
        found = (self.texts[property].get(id) for property in properties)
        return next((texts for texts in found if texts), [])

    def uses(self, predicate: str) -> bool:
        """Return whether the file has statements with this predicate."""
        return self.predicate_counts[predicate] > 0

    @cached_property
    def typical(self) -> list[str]:
        """The described concepts with a label, or else all described concepts."""
        described = [id for id in self.concepts if id in self.described]
        return [id for id in described if self.labels(id)] or described

    def is_usual(self, subjects: Container[str]) -> bool:
        """Return whether most of the typical concepts are among these subjects."""
        return sum(id in subjects for id in self.typical) >= MOST * len(self.typical)

    def common(self, property: str) -> list[Any]:
        """Return the values of a property that all typical concepts share, or an empty list."""
        values = self.inherited[property]
        used = {tuple(dict.fromkeys(values[id])) for id in self.typical if id in values}
        return list(used.pop()) if len(used) == 1 else []

    def reserved(self) -> set[str]:
        """Return all IRIs in the namespaces of concepts, including other resources like schemes."""
        namespaces = set(map(vocabulary.namespace_of, self.concepts))
        return {iri for iri in self.resources if vocabulary.namespace_of(iri) in namespaces}

    def count_ignored(self) -> dict[str, int]:
        """Count the statements that are not part of a taxonomy, by short predicate name."""
        used = {*self._text_properties(), *self.LITERAL_FORMS, *self.OTHER_USED}
        others = {iri: n for iri, n in self.predicate_counts.items() if iri not in used}
        return {_short_name(iri, self._namespaces): count for iri, count in others.items()}

    def without_concepts(self, path: Path) -> FormatError:
        """Return an error that describes the content of a file without concepts."""
        types = Counter(type for found in self.types.values() for type in found)
        counts = self.predicate_counts
        likely = sorted(counts, key=lambda iri: (not _LIKELY_RELATION.search(iri), -counts[iri]))
        message = "the file has no concept: no skos:Concept, no owl:Class"
        for kind, iris in {"types": [*dict(types.most_common())], "properties": likely}.items():
            some = [iri for iri in iris if iri != vocabulary.TYPE][:_MAX_NAMED]
            short = ", ".join(_short_name(iri, self._namespaces) for iri in some)
            message += f"; its {kind} are {short}" if some else ""
        fix = "write them as skos:Concept, skos:prefLabel and skos:broader"
        fix += ", for example with a CONSTRUCT query of SPARQL"
        return FormatError(path, message, fix=fix)

    @cached_property
    def _namespaces(self) -> dict[str, str]:
        """The prefix of each namespace."""
        prefixes = {**self.prefixes, **vocabulary.USUAL_PREFIXES}
        return {iri: name for name, iri in prefixes.items() if iri}

    def _add_any(self, subject: str, predicate: str, value: object) -> None:
        """Add a statement without a text property."""
        if predicate in self.inherited and isinstance(value, Node):
            self.inherited[predicate].setdefault(subject, []).append(value)
        if isinstance(value, ox.Literal):
            if predicate == vocabulary.DEPRECATED and value.value in _TRUE:
                self.deprecated.add(subject)
            return
        object = self._key(value)
        self.resources.add(object)
        if predicate == vocabulary.TYPE:
            self.types.setdefault(subject, []).append(object)
        self._add_link(subject, predicate, object)
        if direction := _direction(predicate):
            pair = (object, subject) if direction > 0 else (subject, object)
            self.unread.setdefault(predicate, []).append(pair)

    def _add_link(self, subject: str, predicate: str, object: str) -> None:
        """Add a statement about types or relations; other statements are ignored."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Compute the values that depend on all statements."""

    def _key(self, node: object) -> str:
        """Return the IRI of a node, or a name that starts with `_:` for a blank node."""
        if isinstance(node, ox.NamedNode):
            return node.value
        return self._blank_nodes.setdefault(str(node), f"_:b{len(self._blank_nodes) + 1}")

    def _add_relation(self, parent: str, child: str) -> None:
        self.concepts[child] = self.concepts[parent] = None
        self.relations[parent, child] = None


def is_blank_node(id: str) -> bool:
    """Return whether a node of an index has no IRI."""
    return id.startswith("_:")


@cache
def _direction(predicate: str) -> int:
    """Return 1 if a property that is not read seems to name parents, -1 for children, or else 0."""
    name = "" if predicate in _RELATIONS else vocabulary.local_name(predicate)
    return -1 if _DOWNWARD.search(name) else 1 if _UPWARD.search(name) else 0


def _short_name(iri: str, namespaces: Mapping[str, str]) -> str:
    """Return an IRI with a prefix, if the IRI is in one of the namespaces."""
    namespace = next((namespace for namespace in namespaces if iri.startswith(namespace)), None)
    return iri if namespace is None else f"{namespaces[namespace]}:{iri.removeprefix(namespace)}"


def _text(literal: ox.Literal) -> Text:
    """Return the language and the value of a literal, without markup."""
    text = literal.value
    if literal.datatype.value in (vocabulary.XML_LITERAL, vocabulary.HTML):
        text = html.unescape(_MARKUP.sub("", text))
    return literal.language or "", text.strip()
