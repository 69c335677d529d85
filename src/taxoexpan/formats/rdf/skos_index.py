"""The statements of a SKOS file, indexed by concept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from taxoexpan.formats.builder import Note
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.graph_index import GraphIndex
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.vocabulary import SKOS_XL, local_name

_LABELS = (vocabulary.PREF_LABEL, SKOS_XL + "prefLabel")
_SYNONYMS = (
    vocabulary.ALT_LABEL,
    vocabulary.HIDDEN_LABEL,
    SKOS_XL + "altLabel",
    SKOS_XL + "hiddenLabel",
)
_DEFINITIONS = (vocabulary.DEFINITION, vocabulary.SCOPE_NOTE)
SHARED_LINKS = (vocabulary.TYPE, vocabulary.IS_DEFINED_BY)
"""Properties whose values a new concept has in common with its siblings."""


@dataclass
class SkosIndex(GraphIndex):
    """The concepts of a file, and the schemes that they are in."""

    TEXT_PROPERTIES: ClassVar = frozenset(
        {*_LABELS, *_SYNONYMS, *_DEFINITIONS, vocabulary.RDFS_LABEL}
    )
    LITERAL_FORMS: ClassVar = frozenset({SKOS_XL + "literalForm", vocabulary.VALUE})
    OTHER_USED: ClassVar = frozenset(
        {vocabulary.TYPE, vocabulary.BROADER, vocabulary.NARROWER, vocabulary.DEPRECATED}
    )

    schemes: dict[str, None] = field(default_factory=dict)
    schemes_of: dict[str, dict[str, None]] = field(default_factory=dict)
    shared_links: dict[str, dict[str, list[str]]] = field(
        default_factory=lambda: {property: {} for property in SHARED_LINKS}
    )
    """The values of the shared properties, by property and subject; not the type Concept."""

    def labels(self, id: str) -> list[Text]:
        """Return the preferred labels of a concept."""
        return self.texts_of(id, _LABELS)

    def synonyms(self, id: str) -> list[Text]:
        """Return the alternative and hidden labels of a concept."""
        return self.texts_of(id, _SYNONYMS)

    def definitions(self, id: str) -> list[Text]:
        """Return the definitions of a concept, or else its scope notes."""
        return self.first_texts(id, _DEFINITIONS)

    def substitute_label(self, id: str, languages: Languages) -> tuple[Text, Note | None]:
        """Return the `rdfs:label` or the end of the IRI as a label, with a note."""
        others = self.texts_of(id, [vocabulary.RDFS_LABEL])
        label = languages.best(others) or ("", local_name(id))
        if id in self.described or others:
            note = Note(0, f"no preferred label; {label[1]!r} is used", "missing-label", id)
        else:
            message = "only named as a parent or child, without a description"
            note = Note(0, f"{message}; {label[1]!r} is used", "undescribed-concept", id)
        return label, note

    def count_ignored(self) -> dict[str, int]:
        """Count the statements that are not part of a taxonomy, by short predicate name."""
        scope_notes = sum(map(len, self.texts[vocabulary.SCOPE_NOTE].values()))
        return {
            **super().count_ignored(),
            **({"skos:scopeNote": scope_notes} if scope_notes else {}),
        }

    def _add_link(self, subject: str, predicate: str, object: str) -> None:
        """Add a statement about types, relations, schemes or origins; others are ignored."""
        if predicate in self.shared_links and object != vocabulary.CONCEPT:
            self.shared_links[predicate].setdefault(subject, []).append(object)
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

    def _add_top_concept(self, concept: str, scheme: str) -> None:
        self.concepts[concept] = self.schemes[scheme] = None
        self.top_concepts.add(concept)
        self.described.add(concept)
        self.schemes_of.setdefault(concept, {})[scheme] = None
