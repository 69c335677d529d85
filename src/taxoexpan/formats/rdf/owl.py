"""The OWL format: the named classes of an OWL or RDFS ontology, in any RDF syntax."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC
from typing import ClassVar

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.index import GraphIndex, is_blank_node
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.rdf_format import RdfFormat, Style, TextProperty, change_note
from taxoexpan.formats.rdf.skos import SkosIndex
from taxoexpan.formats.rdf.statements import Statements, detect_syntax
from taxoexpan.formats.rdf.vocabulary import OBO_SYNONYMS, local_name, namespace_of, text
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy

_CLASS_TYPES = (vocabulary.OWL_CLASS, vocabulary.RDFS_CLASS)
_INHERITED = (vocabulary.IS_DEFINED_BY, vocabulary.OBO_NAMESPACE)
"""Properties whose values a new class has in common with its parent."""
_MOST = 0.8
"""A property that this share of the classes has belongs to the style of the file."""
_LANGUAGE_NAMESPACES = (vocabulary.RDF, vocabulary.RDFS, vocabulary.OWL)
_SKOS_WORDS = ("Concept", "broader", "narrower")
"""A file without any of these is not SKOS, so that it need not be parsed to find out."""
_ANNOTATED = tuple(f"{vocabulary.OWL}annotated{part}" for part in ("Source", "Property", "Target"))

Node = ox.NamedNode | ox.Literal


@dataclass
class OwlIndex(GraphIndex):
    """The named classes of a file, and how the file describes them."""

    LABELS = (vocabulary.RDFS_LABEL, vocabulary.PREF_LABEL)
    SYNONYMS = (
        *OBO_SYNONYMS,
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
    OTHER_USED = (vocabulary.TYPE, vocabulary.DEPRECATED)

    types: dict[str, list[str]] = field(default_factory=dict)
    inherited: dict[str, dict[str, list[Node]]] = field(
        default_factory=lambda: {property: {} for property in _INHERITED}
    )
    """The values of the inherited properties, by property and subject."""
    obo_ids: int = 0
    """How many classes have an `oboInOwl:id` that follows from their IRI."""
    label_properties: list[str] = field(default_factory=list)
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
        return self.texts_of(id, [*self.label_properties, *self.SYNONYMS])

    def substitute_label(self, id: str, _: Languages) -> tuple[Text, Note | None]:
        """Return the end of the IRI as a label, with a note if other classes have labels."""
        name = local_name(id)
        note = None
        if id not in self.described:
            is_own = namespace_of(id) in self.own_namespaces
            code = "undescribed-concept" if is_own else "external-concept"
            message = f"only named as a superclass or subclass; {name!r} is used as its label"
            note = Note(0, message, code, id)
        elif id not in self.deprecated and any(self.texts[each] for each in self.LABELS):
            note = Note(0, f"no label; {name!r} is used", "missing-label", id)
        return ("", name), note

    def notes(self) -> Iterator[Note]:
        """Yield a note if the file also has SKOS concepts."""
        if self.uses(vocabulary.BROADER) or self.uses(vocabulary.NARROWER):
            message = "the file also relates SKOS concepts, which are not read"
            yield Note(0, f"{message}; for them read the format skos", "other-vocabulary")

    def count_ignored(self) -> dict[str, int]:
        """Count the statements that are not part of a taxonomy, by short predicate name."""
        counts = super().count_ignored()
        comments = self.texts[vocabulary.COMMENT]
        superclasses = self.predicate_counts[vocabulary.SUBCLASS_OF]
        counts["rdfs:subClassOf"] = superclasses - len(self.relations)
        counts["rdfs:comment"] = sum(
            self.definitions(id) is not comments[id] for id in comments.keys() & self.concepts
        )
        counts["classes of other vocabularies"] = len(self.bare)
        return {name: count for name, count in counts.items() if count > 0}

    def _add_literal(self, subject: str, predicate: str, value: ox.Literal) -> None:
        if predicate in self.inherited:
            self.inherited[predicate].setdefault(subject, []).append(value)
        elif predicate == vocabulary.OBO_ID and value.value == _obo_id(subject):
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
        elif predicate in self.inherited:
            self.inherited[predicate].setdefault(subject, []).append(ox.NamedNode(object))

    def _add_type(self, subject: str, type: str) -> None:
        if _is_language_term(subject):
            return
        if type == vocabulary.DEPRECATED_CLASS:
            self.deprecated.add(subject)
        if type in (*_CLASS_TYPES, vocabulary.DEPRECATED_CLASS):
            self.concepts[subject] = None
            self.described.add(subject)
        self.types.setdefault(subject, []).append(type)

    def _finish(self) -> None:
        """Choose the label property, and drop classes of other vocabularies without content."""
        self.types = {id: types for id, types in self.types.items() if id in self.concepts}
        used = {each: len(self.texts[each].keys() & self.concepts) for each in self.LABELS}
        self.label_properties = sorted(self.LABELS, key=lambda property: -used[property])
        related = {id for pair in self.relations for id in pair}
        content = (*self.texts.values(), self.deprecated, related, self.top_concepts)
        bare = {id for id in self.concepts if not any(id in part for part in content)}
        self.own_namespaces = set(map(namespace_of, self.described - bare))
        if self.own_namespaces:
            self.bare = {id for id in bare if namespace_of(id) not in self.own_namespaces}
            self.concepts = {id: None for id in self.concepts if id not in self.bare}


class OwlFormat(RdfFormat):
    """Named classes and their named superclasses; all other axioms stay unchanged."""

    index = OwlIndex
    up = vocabulary.SUBCLASS_OF
    new_style = Style(
        [vocabulary.OWL_CLASS],
        TextProperty(vocabulary.RDFS_LABEL),
        TextProperty(vocabulary.ALT_LABEL),
        TextProperty(vocabulary.DEFINITION),
        vocabulary.SUBCLASS_OF,
    )
    container = ("ontology", vocabulary.ONTOLOGY)
    prefixes: ClassVar = {**vocabulary.PREFIXES, "rdfs": vocabulary.RDFS}

    def can_read(self, source: TextFile) -> bool:
        """Return whether the file is RDF with more relations between classes than in SKOS."""
        if detect_syntax(source) is None or "Class" not in source.text:
            return False
        if not any(map(source.text.__contains__, _SKOS_WORDS)):
            return True
        counts = source.parsed(SkosIndex.read)
        relations = counts.predicate_counts[vocabulary.SUBCLASS_OF]
        if not relations and not counts.relations:
            return not counts.concepts
        return relations > len(counts.relations)

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read every named class with its labels in one language, and its named superclasses."""
        if not source.parsed(OwlIndex.read).concepts:
            message = "no owl:Class or rdfs:Class with an IRI in the file; for SKOS, give skos"
            raise FormatError(source.path, message, option="format")
        return super().read(source)

    def new_triples(
        self,
        source: TextFile,
        expanded: Taxonomy,
        additions: Additions,
        linked: Set[tuple[str, str]],
    ) -> Iterator[ox.Triple]:
        """Yield the triples of the new classes, described like most classes of the file."""
        _refuse_annotated_moves(source, additions.moves)
        index = source.parsed(OwlIndex.read)
        described = [id for id in index.concepts if id in index.described]
        classes = [id for id in described if index.labels(id)] or described
        style = _class_style(source, index, classes)
        has_obo_ids = index.obo_ids > 0 and index.obo_ids >= _MOST * len(classes)
        inherited = {
            property: _inherit(values, index, expanded, additions)
            for property, values in index.inherited.items()
            if _is_usual(values, classes)
        }
        for concept in additions.concepts:
            id = concept.id
            yield from style.triples(id, concept, expanded.parents(id))
            for property, values in inherited.items():
                for value in values[id]:
                    yield ox.Triple(ox.NamedNode(id), ox.NamedNode(property), value)
            if has_obo_ids:
                yield text(id, vocabulary.OBO_ID, _obo_id(id), "")
            yield from _provenance(index, expanded, additions, id)
        for id, name in additions.synonyms:
            yield text(id, style.synonym.iri, name, style.synonym.language)


def _class_style(source: TextFile, index: OwlIndex, classes: Sequence[str]) -> Style:
    """Return the types and properties that most of these classes have."""
    languages = index.languages(source)
    types = Counter(type for id in classes for type in dict.fromkeys(index.types.get(id, [])))
    usual = [type for type, count in types.items() if count >= _MOST * len(classes)]
    if not any(type in _CLASS_TYPES for type in usual):
        usual.append(max(_CLASS_TYPES, key=lambda type: types[type]))
    synonyms = {
        vocabulary.ALT_LABEL: len(index.texts[vocabulary.ALT_LABEL]),
        vocabulary.EXACT_SYNONYM: sum(len(index.texts[kind]) for kind in OBO_SYNONYMS),
        vocabulary.OBO_SYNONYM: len(index.texts[vocabulary.OBO_SYNONYM]),
    }
    # A comment is the last choice for a definition.
    definitions = {
        each: len(index.texts[each].keys() & index.concepts) for each in index.DEFINITIONS[:-1]
    }
    definition = max(definitions, key=lambda property: definitions[property])

    def text_property(iri: str) -> TextProperty:
        return TextProperty(iri, _language(index, languages, iri))

    return Style(
        usual,
        text_property(index.label_properties[0]),
        text_property(max(synonyms, key=lambda property: synonyms[property])),
        text_property(definition if definitions[definition] else vocabulary.COMMENT),
        vocabulary.SUBCLASS_OF,
    )


def _language(index: OwlIndex, languages: Languages, property: str) -> str:
    """Return the tag for new values of a property: the one of its values that fits the labels."""
    used = Counter(
        tag
        for kind in (OBO_SYNONYMS if property in OBO_SYNONYMS else (property,))
        for id, texts in index.texts[kind].items()
        if id in index.concepts
        for tag, _ in texts
    )
    fitting = [tag for tag in used if not languages.is_foreign(tag) or not languages.chosen]
    rank = languages.rank
    return min(fitting, key=lambda tag: (rank(tag), -used[tag], tag), default=languages.tag)


def _is_usual(subjects: Container[str], classes: Sequence[str]) -> bool:
    """Return whether most of the classes are among the subjects of a property."""
    return bool(classes) and sum(id in subjects for id in classes) >= _MOST * len(classes)


def _inherit(
    known: dict[str, list[Node]], index: OwlIndex, expanded: Taxonomy, additions: Additions
) -> dict[str, list[Node]]:
    """Return the values of a property for each class; a new one inherits from its first parent.

    Without such a parent, a new class gets the value that all classes of the file have, if any.
    """
    values = dict(known)
    used = {tuple(map(str, values[id])): values[id] for id in index.concepts if id in values}
    default = next(iter(used.values())) if len(used) == 1 else []
    ids = [concept.id for concept in additions.concepts]
    for id in sorted(ids, key=lambda id: expanded.levels[expanded.index(id)]):
        from_parents = (values[parent] for parent in expanded.parents(id) if values.get(parent))
        values[id] = next(from_parents, default)
    return values


def _provenance(
    index: OwlIndex, expanded: Taxonomy, additions: Additions, id: str
) -> Iterator[ox.Triple]:
    """Yield who created a class and when, as the file states it, or else a change note."""
    provenance = additions.provenance
    if provenance is None:
        return
    if index.uses(vocabulary.CREATED_BY):
        when = provenance.when.astimezone(UTC)
        yield text(id, vocabulary.CREATED_BY, provenance.agent, "")
        yield text(id, vocabulary.CREATION_DATE, f"{when:%Y-%m-%dT%H:%M:%SZ}", "")
    else:
        yield change_note(expanded, id, provenance)


def _refuse_annotated_moves(source: TextFile, moves: Sequence[Move]) -> None:
    """Refuse to move a class whose old relation has annotations, which would state it again."""
    moved = {(move.child, vocabulary.SUBCLASS_OF, move.old_parent) for move in moves}
    axioms: dict[object, dict[str, object]] = {}
    for quad in Statements(source) if moves else ():
        if quad.predicate.value in _ANNOTATED and isinstance(quad.object, ox.NamedNode):
            axioms.setdefault(quad.subject, {})[quad.predicate.value] = quad.object.value
    for axiom in axioms.values():
        child, _, parent = parts = tuple(axiom.get(part) for part in _ANNOTATED)
        if parts in moved:
            message = f"an owl:Axiom annotates that {child!r} is a subclass of {parent!r}"
            raise FormatError(source.path, f"{message}; move this class by hand")


def _obo_id(iri: str) -> str:
    """Return the OBO id of an IRI: `SO:0000704` for `http://purl.obolibrary.org/obo/SO_0000704`."""
    return ":".join(local_name(iri).rsplit("_", 1))


def _is_language_term(iri: str) -> bool:
    """Return whether RDF, RDFS or OWL defines an IRI, such as `owl:Thing`."""
    return iri.startswith(_LANGUAGE_NAMESPACES)
