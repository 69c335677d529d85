"""The SKOS format: concepts with labels in several languages, in any RDF syntax."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pyoxigraph as ox

from taxoexpan.formats.builder import Note
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.index import GraphIndex, is_blank_node
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.rdf_format import RdfFormat, Relations, Style
from taxoexpan.formats.rdf.statements import detect_syntax
from taxoexpan.formats.rdf.vocabulary import SKOS_XL, link, local_name
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy


@dataclass
class SkosIndex(GraphIndex):
    """The concepts of a file and their schemes."""

    LABELS = (vocabulary.PREF_LABEL, SKOS_XL + "prefLabel")
    SYNONYMS = (
        *(vocabulary.ALT_LABEL, vocabulary.HIDDEN_LABEL),
        *(SKOS_XL + "altLabel", SKOS_XL + "hiddenLabel"),
    )
    DEFINITIONS = (vocabulary.DEFINITION, vocabulary.SCOPE_NOTE)
    OTHER_TEXTS = (vocabulary.RDFS_LABEL,)
    LITERAL_FORMS = (SKOS_XL + "literalForm", vocabulary.VALUE)
    OTHER_USED = (vocabulary.TYPE, vocabulary.BROADER, vocabulary.NARROWER, vocabulary.DEPRECATED)
    INHERITED = (vocabulary.IS_DEFINED_BY, vocabulary.IN_SCHEME)

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
        counts = super().count_ignored()
        scope_notes = self.texts[vocabulary.SCOPE_NOTE]
        if scope_notes:
            counts["skos:scopeNote"] = sum(map(len, scope_notes.values()))
        return counts

    def _add_link(self, subject: str, predicate: str, object: str) -> None:
        """Add a statement about types, relations or schemes; other statements are ignored."""
        if predicate == vocabulary.TYPE and object == vocabulary.CONCEPT:
            self.concepts[subject] = None
            self.described.add(subject)
        elif predicate == vocabulary.BROADER:
            self._add_relation(object, subject)
        elif predicate == vocabulary.NARROWER:
            self._add_relation(subject, object)
        elif predicate == vocabulary.TOP_CONCEPT_OF:
            self._add_top_concept(subject, object)
        elif predicate == vocabulary.HAS_TOP_CONCEPT:
            self._add_top_concept(object, subject)

    def _add_top_concept(self, concept: str, scheme: str) -> None:
        self.concepts[concept] = None
        self.top_concepts.add(concept)
        self.described.add(concept)
        schemes = self.inherited[vocabulary.IN_SCHEME].setdefault(concept, [])
        if not is_blank_node(scheme):
            schemes.append(ox.NamedNode(scheme))


class SkosFormat(RdfFormat):
    """SKOS concepts and their broader and narrower links."""

    index = SkosIndex
    types = (vocabulary.CONCEPT,)
    parent_predicate = "skos:broader"
    up = vocabulary.BROADER
    down = vocabulary.NARROWER
    new_style = Style(vocabulary.PREF_LABEL, vocabulary.ALT_LABEL, vocabulary.DEFINITION)
    container = ("scheme", vocabulary.SCHEME)
    container_links = (vocabulary.IN_SCHEME, vocabulary.TOP_CONCEPT_OF)

    def can_read(self, source: TextFile) -> bool:
        """Return whether the file is RDF."""
        return detect_syntax(source) is not None

    def further_triples(
        self, source: TextFile, expanded: Taxonomy, additions: Additions, linked: Relations
    ) -> Iterator[ox.Triple]:
        """Yield narrower links and links for top concepts, if the file has such links."""
        index = source.parsed(SkosIndex.read)
        schemes = index.common(vocabulary.IN_SCHEME)
        new = {concept.id: None for concept in additions.concepts}
        roots = [id for id in new if not expanded.parents(id)]
        if index.uses(vocabulary.NARROWER):
            down = [(id, child) for id in new for child in expanded.children(id)]
            down += [pair for pair in additions.relations if pair[0] not in new]
            yield from (link(p, vocabulary.NARROWER, c) for p, c in down if (p, c) not in linked)
        for id, scheme in product(roots, schemes):
            if index.uses(vocabulary.TOP_CONCEPT_OF):
                yield link(id, vocabulary.TOP_CONCEPT_OF, scheme.value)
            if index.uses(vocabulary.HAS_TOP_CONCEPT):
                yield link(scheme.value, vocabulary.HAS_TOP_CONCEPT, id)
