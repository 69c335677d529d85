"""The OWL format: the named classes of an OWL or RDFS ontology, in any RDF syntax."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import ClassVar

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.index import GraphIndex, is_blank_node
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.rdf_format import RdfFormat, Relations, Style
from taxoexpan.formats.rdf.skos import SkosIndex
from taxoexpan.formats.rdf.statements import Statements, detect_syntax
from taxoexpan.formats.rdf.vocabulary import OBO_SYNONYMS, local_name, namespace_of, text
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy

_CLASS_TYPES = (vocabulary.OWL_CLASS, vocabulary.RDFS_CLASS)
_LANGUAGE_NAMESPACES = (vocabulary.RDF, vocabulary.RDFS, vocabulary.OWL)
_SKOS_WORDS = ("Concept", "broader", "narrower")
"""A file without any of these is not SKOS, so that it need not be parsed to find out."""
_ANNOTATED = tuple(f"{vocabulary.OWL}annotated{part}" for part in ("Source", "Property", "Target"))


@dataclass
class OwlIndex(GraphIndex):
    """The named classes of a file, and their texts."""

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
    INHERITED = (vocabulary.IS_DEFINED_BY, vocabulary.OBO_NAMESPACE)

    label_properties: list[str] = field(default_factory=list)
    """The properties of labels, the most frequent one first."""
    own_namespaces: set[str] = field(default_factory=set)
    """The namespaces of the classes that the file declares and describes."""
    bare: set[str] = field(default_factory=set)
    """Classes of other vocabularies that the file declares, but does not describe."""

    def labels(self, id: str) -> list[Text]:
        """Return the labels of a class from its most frequent label property."""
        return self.first_texts(id, self.label_properties)

    def synonyms(self, id: str) -> list[Text]:
        """Return the synonyms of a class, and the values of all its label properties."""
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

    def _add_link(self, subject: str, predicate: str, object: str) -> None:
        """Add a statement about types, superclasses or roots; other statements are ignored."""
        if is_blank_node(subject) or is_blank_node(object):
            return
        if predicate == vocabulary.TYPE:
            is_deprecated = object == vocabulary.DEPRECATED_CLASS
            if (is_deprecated or object in _CLASS_TYPES) and not _is_language_term(subject):
                self.concepts[subject] = None
                self.described.add(subject)
                self.deprecated |= {subject} if is_deprecated else set()
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

    def _finish(self) -> None:
        """Choose the label property, and remove classes of other vocabularies without content."""
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
    types = _CLASS_TYPES
    up = vocabulary.SUBCLASS_OF
    new_style = Style(vocabulary.RDFS_LABEL, vocabulary.ALT_LABEL, vocabulary.DEFINITION)
    container = ("ontology", vocabulary.ONTOLOGY)
    prefixes: ClassVar = {**vocabulary.PREFIXES, "rdfs": vocabulary.RDFS}

    def can_read(self, source: TextFile) -> bool:
        """Return whether the file is RDF and relates more classes than SKOS concepts."""
        if detect_syntax(source) is None or "Class" not in source.text:
            return False
        if not any(map(source.text.__contains__, _SKOS_WORDS)):
            return True
        counts = source.parsed(SkosIndex.read)
        relations = counts.predicate_counts[vocabulary.SUBCLASS_OF]
        if not relations and not counts.relations:
            return not counts.concepts
        return relations > len(counts.relations)

    def style(self, index: OwlIndex) -> Style:
        """Return the text properties that most classes have."""
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
        return Style(
            index.label_properties[0],
            max(synonyms, key=lambda property: synonyms[property]),
            definition if definitions[definition] else vocabulary.COMMENT,
        )

    def further_triples(
        self, source: TextFile, expanded: Taxonomy, additions: Additions, linked: Relations
    ) -> Iterator[ox.Triple]:
        """Yield OBO ids if most classes have them."""
        _refuse_annotated_moves(source, additions.moves)
        index = source.parsed(OwlIndex.read)
        with_obo_id = index.described_by.get((vocabulary.OBO_ID, ""))
        if with_obo_id and index.is_usual(with_obo_id):
            for concept in additions.concepts:
                # The id of obo/SO_0000704 is SO:0000704.
                obo_id = ":".join(local_name(concept.id).rsplit("_", 1))
                yield text(concept.id, vocabulary.OBO_ID, obo_id, "")

    def provenance(
        self, index: GraphIndex, expanded: Taxonomy, id: str, additions: Additions
    ) -> Iterator[ox.Triple]:
        """Yield the creator and date of a class as the file states them, or else a change note."""
        if not index.uses(vocabulary.CREATED_BY):
            yield from super().provenance(index, expanded, id, additions)
            return
        when = additions.when.astimezone(UTC)
        yield text(id, vocabulary.CREATED_BY, additions.curators.get(id, additions.agent), "")
        yield text(id, vocabulary.CREATION_DATE, f"{when:%Y-%m-%dT%H:%M:%SZ}", "")
        if id in additions.tasks:
            yield text(id, vocabulary.COMMENT, f"Place {additions.tasks[id]}.", "en")


def _refuse_annotated_moves(source: TextFile, moves: Sequence[Move]) -> None:
    """Refuse to move a class whose old relation has annotations, which would still state it."""
    moved = {(move.child, vocabulary.SUBCLASS_OF, move.old_parent) for move in moves}
    axioms: dict[object, dict[str, object]] = {}
    for quad in Statements(source) if moves else ():
        if quad.predicate.value in _ANNOTATED and isinstance(quad.object, ox.NamedNode):
            axioms.setdefault(quad.subject, {})[quad.predicate.value] = quad.object.value
    for axiom in axioms.values():
        child, _, parent = parts = tuple(axiom.get(part) for part in _ANNOTATED)
        if parts in moved:
            message = f"an owl:Axiom annotates that {child!r} is a subclass of {parent!r}"
            raise FormatError(source.path, message, fix="move this class by hand")


def _is_language_term(iri: str) -> bool:
    """Return whether RDF, RDFS or OWL defines an IRI, such as `owl:Thing`."""
    return iri.startswith(_LANGUAGE_NAMESPACES)
