"""The triples of new SKOS concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set

import pyoxigraph as ox

from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.graph_format import change_note
from taxoexpan.formats.rdf.graph_index import is_blank_node
from taxoexpan.formats.rdf.skos_index import SHARED_LINKS, SkosIndex
from taxoexpan.formats.rdf.vocabulary import flag, link, text
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

_MOST = 0.8
"""A new concept gets the links that this share of its siblings have."""


def new_triples(
    index: SkosIndex,
    language: str,
    expanded: Taxonomy,
    additions: Additions,
    narrower: Set[tuple[str, str]],
) -> Iterator[ox.Triple]:
    """Yield the triples of the additions, except pairs that `narrower` already links."""
    new = {concept.id for concept in additions.concepts}
    schemes, shared_links = _schemes(index, expanded, additions), _SharedLinks(index, expanded)
    for concept in additions.concepts:
        id, parents = concept.id, expanded.parents(concept.id)
        yield from concept_triples(id, concept, lambda _: language, schemes[id])
        yield from (link(id, *shared) for shared in shared_links.of(id))
        for parent in parents:
            yield link(id, vocabulary.BROADER, parent)
        if index.uses(vocabulary.NARROWER):
            yield from (link(id, vocabulary.NARROWER, child) for child in expanded.children(id))
        if not parents and index.uses(vocabulary.TOP_CONCEPT_OF):
            yield from (link(id, vocabulary.TOP_CONCEPT_OF, scheme) for scheme in schemes[id])
        if additions.provenance is not None:
            note = change_note(expanded, id, additions.provenance)
            yield text(id, vocabulary.CHANGE_NOTE, note, "en")
    for parent, child in additions.relations:
        is_linked = parent in new or (parent, child) in narrower
        if not is_linked and index.uses(vocabulary.NARROWER):
            yield link(parent, vocabulary.NARROWER, child)
    if index.uses(vocabulary.HAS_TOP_CONCEPT):
        for id in (concept.id for concept in additions.concepts):
            if not expanded.parents(id):
                yield from (link(scheme, vocabulary.HAS_TOP_CONCEPT, id) for scheme in schemes[id])


def concept_triples(
    id: str, concept: Concept, tag: Callable[[str], str], schemes: Sequence[str]
) -> list[ox.Triple]:
    """Return the type, the schemes and the texts of a concept; `tag` has their languages."""
    label, definition = concept.label, concept.definition
    triples = [
        link(id, vocabulary.TYPE, vocabulary.CONCEPT),
        *(link(id, vocabulary.IN_SCHEME, scheme) for scheme in schemes),
        text(id, vocabulary.PREF_LABEL, label, tag(label)),
        *(text(id, vocabulary.ALT_LABEL, name, tag(name)) for name in concept.synonyms),
    ]
    if definition:
        triples.append(text(id, vocabulary.DEFINITION, definition, tag(definition)))
    if concept.deprecated:
        triples.append(flag(id, vocabulary.DEPRECATED))
    return triples


class _SharedLinks:
    """The links that most siblings of a new concept have, or else most concepts of the file."""

    def __init__(self, index: SkosIndex, expanded: Taxonomy) -> None:
        self.index, self.expanded = index, expanded
        self.of_parents: dict[tuple[str, ...], list[tuple[str, str]]] = {
            (): self._usual(index.described)
        }

    def of(self, id: str) -> list[tuple[str, str]]:
        """Return the properties and values of a new concept."""
        parents = tuple(self.expanded.parents(id))
        if parents not in self.of_parents:
            children = {child for each in parents for child in self.expanded.children(each)}
            siblings = children & self.index.described
            self.of_parents[parents] = self._usual(siblings) if siblings else self.of_parents[()]
        return self.of_parents[parents]

    def _usual(self, group: Set[str]) -> list[tuple[str, str]]:
        usual = []
        for property in SHARED_LINKS:
            values = self.index.shared_links[property]
            counts = Counter(value for id in group for value in dict.fromkeys(values.get(id, ())))
            usual += [(property, value) for value, n in counts.items() if n >= _MOST * len(group)]
        return sorted(pair for pair in usual if not is_blank_node(pair[1]))


def _schemes(index: SkosIndex, expanded: Taxonomy, additions: Additions) -> dict[str, list[str]]:
    """Return the schemes of each concept; new ones get those of their parents.

    Without parents in a scheme, a new concept gets the scheme of the file if there is only one.
    """
    schemes_of = {id: list(schemes) for id, schemes in index.schemes_of.items()}
    default = list(index.schemes) if len(index.schemes) == 1 else []
    ids = [concept.id for concept in additions.concepts]
    for id in sorted(ids, key=lambda id: expanded.levels[expanded.index(id)]):
        parents = expanded.parents(id)
        inherited = (scheme for parent in parents for scheme in schemes_of.get(parent, []))
        named = dict.fromkeys(scheme for scheme in inherited if not scheme.startswith("_:"))
        schemes_of[id] = list(named) or default
    return schemes_of
