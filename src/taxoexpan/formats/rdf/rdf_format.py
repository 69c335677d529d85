"""The base class of the RDF formats, which reads concepts and writes triples."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cache, partial
from itertools import filterfalse
from typing import Any, ClassVar, NamedTuple

import pyoxigraph as ox

from taxoexpan.errors import FileCycleError, FormatError, started_at
from taxoexpan.formats.builder import LANGUAGE_TAGS, Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import DEFAULT_BASE, Copy, Format, Insertions, Target, inherited
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.index import MOST, GraphIndex, Node, is_blank_node
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.positions import move_links, subject_lines
from taxoexpan.formats.rdf.serialization import insert_triples, write_triples
from taxoexpan.formats.rdf.statements import N_TRIPLES, TURTLE, detect_syntax, tag_spellings
from taxoexpan.formats.rdf.vocabulary import as_iris, flag, is_iri, link, text
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.ids import numbered

_BASE = re.compile(f'(?:(?<=<)|(?<==")){re.escape(DEFAULT_BASE)}')
"""The base at the start of an IRI in Turtle or RDF/XML."""

Relations = Set[tuple[str, str]]
"""Pairs of parent and child."""


class Style(NamedTuple):
    """The text properties of new concepts."""

    label: str
    synonym: str
    definition: str


class RdfFormat(Format):
    """An RDF vocabulary in any syntax; extending a file only adds triples or moves links."""

    is_rdf = True
    movable_suffix = ".ttl"
    index: ClassVar[type[GraphIndex]]
    types: ClassVar[tuple[str, ...]]
    """The types that make a resource a concept; new files use the first one."""
    up: ClassVar[str]
    """The property from a child to its parent."""
    down: ClassVar[str] = ""
    """The property from a parent to its child, if there is one."""
    new_style: ClassVar[Style]
    """The style of new files."""
    container: ClassVar[tuple[str, str]]
    """The name and the type of the resource that stands for the whole vocabulary in a new file."""
    container_links: ClassVar[tuple[str, str]] = ("", "")
    """The properties from every concept and from every root to that resource, if there are any."""
    prefixes: ClassVar[dict[str, str]] = vocabulary.PREFIXES

    def style(self, index: Any) -> Style:
        """Return the text properties of the concepts in a file."""
        return self.new_style

    @abstractmethod
    def further_triples(
        self, source: TextFile, expanded: Taxonomy, additions: Additions, linked: Relations
    ) -> Iterator[ox.Triple]:
        """Yield more triples, but not the relations in `linked`, which moves already state."""

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read all concepts and relations; cycles get the lines of their concepts."""
        index = source.parsed(self.index.read)
        if not index.concepts:
            raise index.without_concepts(source.path)
        builder = _read_concepts(source, index)
        builder.notes += [*index.notes(), *index.statements.notes()]
        builder.notes += index.unread_relations(self.parent_predicate)
        if index.relative:
            message = f"relative IRIs, but no base; {DEFAULT_BASE} is used ({index.relative:,} IRIs"
            builder.note(1, f"{message}), and new IRIs are written without it")
        try:
            return builder.finish()
        except FileCycleError as error:
            members = {id for cycle in error.cycles for id in cycle}
            found = subject_lines(source, members)
            lines = [sorted({found[id] for id in cycle if id in found}) for cycle in error.cycles]
            cycles = [
                started_at(cycle, min(cycle, key=lambda id: found.get(id, math.inf)))
                for cycle in error.cycles
            ]
            raise FileCycleError(error.path, cycles, lines) from None

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Add the triples of the new concepts and synonyms, and change the links of moves."""
        for concept in additions.concepts:
            if not is_iri(concept.id):
                message = f"the id {concept.id!r} of {concept.label!r} is not an IRI"
                raise FormatError(source.path, message, fix="write an IRI, or leave the id blank")
        moved, linked = move_links(source, additions.moves, self.up, self.down)
        index = source.parsed(self.index.read)
        style = self.style(index)
        language = index.languages(source).tag
        triples = [
            *self._new_triples(index, style, language, expanded, additions),
            *self.further_triples(source, expanded, additions, linked),
        ]
        if additions.agent:
            for concept in additions.concepts:
                triples += self.provenance(index, expanded, concept.id, additions)
        triples += [text(id, style.synonym, name, language) for id, name in additions.synonyms]
        inserted = [*moved, *insert_triples(source, index, triples)]
        if index.relative:
            inserted = [replace(each, text=_BASE.sub("", each.text)) for each in inserted]
        return {source.path: inserted}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new vocabulary; ids that are not IRIs become IRIs."""
        ids = as_iris(taxonomy, target.base)
        used, (name, type) = set(ids.values()), self.container
        container = next(iri for iri in numbered(target.base + name) if iri not in used)
        triples = [link(container, vocabulary.TYPE, type)]
        membership, top = self.container_links
        links = [(vocabulary.TYPE, self.types[0]), (membership, container)][: 1 + bool(membership)]
        nodes = [(property, ox.NamedNode(iri)) for property, iri in links]
        for concept in taxonomy.concepts:
            id = ids[concept.id]
            parents = [ids[parent] for parent in taxonomy.parents(concept.id)]
            tag = partial(target.tag, concept.id)
            triples += self._triples(self.new_style, id, concept, nodes, parents, tag)
            triples += [link(id, top, container)] if top and not parents else []
        return Copy({target.path: write_triples(triples, target, self.prefixes)}, ids)

    def _new_triples(
        self,
        index: GraphIndex,
        style: Style,
        language: str,
        expanded: Taxonomy,
        additions: Additions,
    ) -> Iterator[ox.Triple]:
        """Yield the triples of new concepts, with types like siblings and values like parents."""
        inherited_values = {
            property: inherited(values, expanded, additions, index.common(property))
            for property, values in index.inherited.items()
            if index.is_usual(values)
        }
        usual = self._usual_types(index, index.typical)

        @cache
        def types(parents: tuple[str, ...]) -> list[str]:
            siblings = (child for parent in parents for child in expanded.children(parent))
            group = [id for id in dict.fromkeys(siblings) if id in index.described]
            return self._usual_types(index, group) if group else usual

        for concept in additions.concepts:
            id = concept.id
            parents = expanded.parents(concept.id)
            links = [(vocabulary.TYPE, ox.NamedNode(type)) for type in types(parents)]
            for property, values in inherited_values.items():
                links += [(property, value) for value in values[id]]
            yield from self._triples(style, id, concept, links, parents, lambda _: language)

    def _usual_types(self, index: GraphIndex, group: Sequence[str]) -> list[str]:
        """Return the types that most of these concepts have, with at least one concept type."""
        counts = Counter(type for id in group for type in dict.fromkeys(index.types.get(id, ())))
        usual = [type for type, count in counts.items() if count >= MOST * len(group)]
        if not any(type in self.types for type in usual):
            usual.append(max(self.types, key=lambda type: counts[type]))
        return [type for type in usual if not is_blank_node(type)]

    def _triples(
        self,
        style: Style,
        id: str,
        concept: Concept,
        links: Iterable[tuple[str, Node]],
        parents: Iterable[str],
        tag: Callable[[str], str],
    ) -> Iterator[ox.Triple]:
        """Yield the links, texts and parents of a concept; `tag` returns the tag of a text."""
        for predicate, node in links:
            yield ox.Triple(ox.NamedNode(id), ox.NamedNode(predicate), node)
        texts = [(style.label, concept.label), *((style.synonym, n) for n in concept.synonyms)]
        texts += [(style.definition, concept.definition)] if concept.definition else []
        for property, value in texts:
            yield text(id, property, value, tag(value))
        if concept.deprecated:
            yield flag(id, vocabulary.DEPRECATED)
        yield from (link(id, self.up, parent) for parent in parents)

    def provenance(
        self, index: GraphIndex, expanded: Taxonomy, id: str, additions: Additions
    ) -> Iterator[ox.Triple]:
        """Yield a note with the agent and the date, and with the curator or the confidence."""
        parents = []
        curator = additions.curators.get(id, "")
        for parent in expanded.parents(id):
            reason = additions.reasons.get((parent, id), "chosen by a person")
            why = "" if curator else f" ({reason})"
            parents.append(f"under {expanded.concept(parent).label!r}{why}")
        where = " and ".join(parents) or "at the top"
        who = f"{curator} with {additions.agent}" if curator else additions.agent
        note = f"Placed {where} by {who} on {additions.when:%Y-%m-%d}"
        note += f"; {additions.tasks[id]}." if id in additions.tasks else "."
        yield text(id, vocabulary.CHANGE_NOTE, note, "en")

    def supported_changes(self, source: TextFile) -> frozenset[str]:
        """Return synonyms, and moves if the file is Turtle or N-Triples."""
        can_move = detect_syntax(source) in (TURTLE, N_TRIPLES)
        return frozenset({"moves", "synonyms"} if can_move else {"synonyms"})

    def subject_lines(self, source: TextFile, ids: Collection[str]) -> dict[str, int]:
        """Return the lines that describe these concepts, as far as they are found."""
        return subject_lines(source, ids)


def _read_concepts(source: TextFile, index: GraphIndex) -> TaxonomyBuilder:
    """Read every concept with an IRI, with its texts in one language, and all relations."""
    languages = index.languages(source)
    builder = TaxonomyBuilder(source.path, languages=languages)
    for id in filterfalse(is_blank_node, index.concepts):
        _add_concept(builder, index, languages, id)
    for pair in index.relations:
        if not any(map(is_blank_node, pair)):
            builder.relate(*pair)
    builder.ignored.update(index.count_ignored())
    builder.tops = index.top_concepts
    builder.reserved = index.reserved()
    spelled = source.parsed(tag_spellings)
    builder.prefixes = index.prefixes
    builder.language = spelled.get(languages.tag, languages.tag)
    builder.other_tags = {k: spelled.get(tag, tag) for k, tag in builder.other_tags.items()}
    return builder


def _add_concept(
    builder: TaxonomyBuilder, index: GraphIndex, languages: Languages, id: str
) -> None:
    """Add one concept with its label, synonyms and definition."""
    language, label = _choose_label(builder, index, languages, id)
    texts = [*index.labels(id), *index.synonyms(id)]
    synonyms = dict.fromkeys(languages.matching(texts, language))
    synonyms.pop(label, None)
    definitions = index.definitions(id)
    definition = languages.best(definitions)
    if foreign := [name for tag, name in texts if tag != language and languages.is_foreign(tag)]:
        builder.foreign_names[len(builder.ids)] = tuple(dict.fromkeys(foreign))
        builder.ignored["labels in other languages"] += len(foreign)
    chosen = definition[1] if definition else ""
    builder.add(id, label, 0, synonyms, chosen, id in index.deprecated)
    builder.ignored[LANGUAGE_TAGS] += bool(language)
    if definition:
        others = [other for other in definitions if other[1] and other != definition]
        foreign_count = sum(other[0] != definition[0] for other in others)
        builder.ignored["definitions in other languages"] += foreign_count
        builder.ignored["further definitions"] += len(others) - foreign_count
    used = [(language, label), *(text for text in texts if text[1] in synonyms)]
    # If a text has several tags, the first tag is used.
    tags = {name: tag for tag, name in reversed([*used, *([definition] if definition else [])])}
    unusual = {(id, name): tag for name, tag in tags.items() if tag != languages.tag}
    builder.other_tags.update(unusual)


def _choose_label(
    builder: TaxonomyBuilder, index: GraphIndex, languages: Languages, id: str
) -> Text:
    """Return the label in the chosen language, or a substitute with a note."""
    labels = index.labels(id)
    label = languages.best(labels)
    if label is None:
        label, note = index.substitute_label(id, languages)
        builder.notes += [note] if note else []
        return label
    if len({name for tag, name in labels if tag == label[0]}) > 1:
        message = f"several preferred labels in one language; {label[1]!r} is used"
        builder.notes.append(Note(0, message, "preferred-labels", id))
    if languages.is_foreign(label[0]):
        message = f"no label in {languages.chosen!r}; {label[1]!r} in {label[0]!r} is used"
        builder.notes.append(Note(0, message, "missing-label", id))
    return label
