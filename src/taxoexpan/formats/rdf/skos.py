"""The SKOS format: concepts with labels in several languages, in any RDF syntax."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from functools import cache

import pyoxigraph as ox

from taxoexpan.formats.builder import Note
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.index import GraphIndex, is_blank_node
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.rdf_format import RdfFormat, Style, TextProperty, change_note
from taxoexpan.formats.rdf.statements import detect_syntax
from taxoexpan.formats.rdf.vocabulary import SKOS_XL, link, local_name, text
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy

_SHARED_LINKS = (vocabulary.TYPE, vocabulary.IS_DEFINED_BY)
"""Properties whose values a new concept has in common with its siblings."""
_MOST = 0.8
"""A new concept gets the links that this share of its siblings have."""


def _style(language: str) -> Style:
    label, synonym, definition = (
        TextProperty(iri, language)
        for iri in (vocabulary.PREF_LABEL, vocabulary.ALT_LABEL, vocabulary.DEFINITION)
    )
    return Style([vocabulary.CONCEPT], label, synonym, definition, vocabulary.BROADER)


@dataclass
class SkosIndex(GraphIndex):
    """The concepts of a file, and the schemes that they are in."""

    LABELS = (vocabulary.PREF_LABEL, SKOS_XL + "prefLabel")
    SYNONYMS = (
        vocabulary.ALT_LABEL,
        vocabulary.HIDDEN_LABEL,
        SKOS_XL + "altLabel",
        SKOS_XL + "hiddenLabel",
    )
    DEFINITIONS = (vocabulary.DEFINITION, vocabulary.SCOPE_NOTE)
    OTHER_TEXTS = (vocabulary.RDFS_LABEL,)
    LITERAL_FORMS = (SKOS_XL + "literalForm", vocabulary.VALUE)
    OTHER_USED = (
        vocabulary.TYPE,
        vocabulary.BROADER,
        vocabulary.NARROWER,
        vocabulary.DEPRECATED,
    )

    schemes: dict[str, None] = field(default_factory=dict)
    schemes_of: dict[str, dict[str, None]] = field(default_factory=dict)
    shared_links: dict[str, dict[str, list[str]]] = field(
        default_factory=lambda: {property: {} for property in _SHARED_LINKS}
    )
    """The values of the shared properties, by property and subject; not the type Concept."""

    def substitute_label(self, id: str, languages: Languages) -> tuple[Text, Note | None]:
        """Return the `rdfs:label` or the end of the IRI as a label, with a note."""
        others = self.texts_of(id, self.OTHER_TEXTS)
        label = languages.best(others) or ("", local_name(id))
        if id in self.described or others:
            note = Note(0, f"no preferred label; {label[1]!r} is used", "missing-label", id)
        else:
            message = "only named as a parent or child, without a description"
            note = Note(0, f"{message}; {label[1]!r} is used", "undescribed-concept", id)
        return label, note

    def notes(self) -> Iterator[Note]:
        """Yield a note about every concept without an IRI."""
        for id in filter(is_blank_node, self.concepts):
            yield Note(0, "a concept without an IRI has no id; it is skipped", "blank-node", id)

    def count_ignored(self) -> dict[str, int]:
        """Count the statements that are not part of a taxonomy, by short predicate name."""
        counts, scope_notes = super().count_ignored(), self.texts[vocabulary.SCOPE_NOTE]
        if scope_notes:
            counts["skos:scopeNote"] = sum(map(len, scope_notes.values()))
        return counts

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


class SkosFormat(RdfFormat):
    """SKOS concepts and their broader and narrower links."""

    index = SkosIndex
    parent_predicate = "skos:broader"
    up, down = vocabulary.BROADER, vocabulary.NARROWER
    new_style = _style("")
    container = ("scheme", vocabulary.SCHEME)
    container_links = (vocabulary.IN_SCHEME, vocabulary.TOP_CONCEPT_OF)

    def can_read(self, source: TextFile) -> bool:
        """Return whether the file is RDF."""
        return detect_syntax(source) is not None

    def new_triples(
        self,
        source: TextFile,
        expanded: Taxonomy,
        additions: Additions,
        linked: Set[tuple[str, str]],
    ) -> Iterator[ox.Triple]:
        """Yield the triples of the additions, in both directions if the file has both."""
        index = source.parsed(SkosIndex.read)
        style = _style(index.languages(source).tag)
        schemes, shared_links = _schemes(index, expanded, additions), _shared_links(index, expanded)
        new = {concept.id: None for concept in additions.concepts}
        for concept in additions.concepts:
            id, parents = concept.id, expanded.parents(concept.id)
            in_schemes = ((vocabulary.IN_SCHEME, scheme) for scheme in schemes[id])
            links = [*shared_links(parents), *in_schemes]
            yield from style.triples(id, concept, parents, links)
            if index.uses(vocabulary.NARROWER):
                yield from (link(id, vocabulary.NARROWER, child) for child in expanded.children(id))
            if not parents and index.uses(vocabulary.TOP_CONCEPT_OF):
                yield from (link(id, vocabulary.TOP_CONCEPT_OF, scheme) for scheme in schemes[id])
            if additions.provenance is not None:
                yield change_note(expanded, id, additions.provenance)
        if index.uses(vocabulary.NARROWER):
            for parent, child in additions.relations:
                if parent not in new and (parent, child) not in linked:
                    yield link(parent, vocabulary.NARROWER, child)
        if index.uses(vocabulary.HAS_TOP_CONCEPT):
            for id in new:
                if not expanded.parents(id):
                    top = vocabulary.HAS_TOP_CONCEPT
                    yield from (link(scheme, top, id) for scheme in schemes[id])
        for id, name in additions.synonyms:
            yield text(id, style.synonym.iri, name, style.synonym.language)


def _shared_links(
    index: SkosIndex, expanded: Taxonomy
) -> Callable[[tuple[str, ...]], list[tuple[str, str]]]:
    """Return a function from parents to the links that most of their children have.

    Without children, these are the links that most concepts of the file have.
    """

    @cache
    def shared_links(parents: tuple[str, ...]) -> list[tuple[str, str]]:
        children = {child for parent in parents for child in expanded.children(parent)}
        siblings = children & index.described
        if parents and not siblings:
            return shared_links(())
        group, usual = siblings or index.described, []
        for property, values in index.shared_links.items():
            counts = Counter(value for id in group for value in dict.fromkeys(values.get(id, ())))
            usual += [(property, value) for value, n in counts.items() if n >= _MOST * len(group)]
        return sorted(pair for pair in usual if not is_blank_node(pair[1]))

    return shared_links


def _schemes(index: SkosIndex, expanded: Taxonomy, additions: Additions) -> dict[str, list[str]]:
    """Return the schemes of each concept; new ones get the schemes of their parents.

    Without parents in a scheme, a new concept gets the scheme of the file if there is only one.
    """
    schemes_of = {id: list(schemes) for id, schemes in index.schemes_of.items()}
    default = list(index.schemes) if len(index.schemes) == 1 else []
    ids = [concept.id for concept in additions.concepts]
    for id in sorted(ids, key=lambda id: expanded.levels[expanded.index(id)]):
        parents = expanded.parents(id)
        inherited = (scheme for parent in parents for scheme in schemes_of.get(parent, []))
        named = dict.fromkeys(scheme for scheme in inherited if not is_blank_node(scheme))
        schemes_of[id] = list(named) or default
    return schemes_of
