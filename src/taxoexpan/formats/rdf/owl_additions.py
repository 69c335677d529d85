"""The triples of new classes, and a check of the relations that move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.class_style import ClassStyle
from taxoexpan.formats.rdf.graph_format import change_note
from taxoexpan.formats.rdf.owl_index import Node, OwlIndex, obo_id
from taxoexpan.formats.rdf.statements import Statements
from taxoexpan.formats.rdf.vocabulary import flag, link, text
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

_ANNOTATED = tuple(f"{vocabulary.OWL}annotated{part}" for part in ("Source", "Property", "Target"))


def new_triples(
    index: OwlIndex, style: ClassStyle, expanded: Taxonomy, additions: Additions
) -> Iterator[ox.Triple]:
    """Yield the triples of the new classes and of the new synonyms."""
    inherited = {each: _inherited(index, each, expanded, additions) for each in style.inherited}
    for concept in additions.concepts:
        id = concept.id
        yield from class_triples(id, concept, style, expanded.parents(id))
        for property, values in inherited.items():
            for value in values[id]:
                yield ox.Triple(ox.NamedNode(id), ox.NamedNode(property), value)
        if style.has_obo_ids:
            yield text(id, vocabulary.OBO_ID, obo_id(id), "")
        yield from _provenance(index, expanded, additions, id)
    for id, name in additions.synonyms:
        yield text(id, style.synonym.iri, name, style.synonym.language)


def class_triples(
    id: str,
    concept: Concept,
    style: ClassStyle,
    parents: Sequence[str],
    tag: Callable[[str], str] | None = None,
) -> Iterator[ox.Triple]:
    """Yield the types, the texts and the superclasses of a class; `tag` overrides languages."""
    texts = [
        (style.label, concept.label),
        *((style.synonym, name) for name in concept.synonyms),
        *([(style.definition, concept.definition)] if concept.definition else []),
    ]
    yield from (link(id, vocabulary.TYPE, type) for type in style.types)
    for property, value in texts:
        yield text(id, property.iri, value, tag(value) if tag else property.language)
    yield from (link(id, vocabulary.SUBCLASS_OF, parent) for parent in parents)
    if concept.deprecated:
        yield flag(id, vocabulary.DEPRECATED)


def refuse_annotated_moves(source: TextFile, moves: Sequence[Move]) -> None:
    """Refuse to move a class whose old relation has annotations, which would state it again."""
    if not moves:
        return
    moved = {(move.child, vocabulary.SUBCLASS_OF, move.old_parent) for move in moves}
    axioms: dict[object, dict[str, object]] = {}
    for quad in Statements(source):
        if quad.predicate.value in _ANNOTATED and isinstance(quad.object, ox.NamedNode):
            axioms.setdefault(quad.subject, {})[quad.predicate.value] = quad.object.value
    for axiom in axioms.values():
        child, _, parent = parts = tuple(axiom.get(part) for part in _ANNOTATED)
        if parts in moved:
            message = f"an owl:Axiom annotates that {child!r} is a subclass of {parent!r}"
            raise FormatError(source.path, f"{message}; move this class by hand")


def _inherited(
    index: OwlIndex, property: str, expanded: Taxonomy, additions: Additions
) -> dict[str, list[Node]]:
    """Return the values of a property for each class; a new one gets those of its first parent.

    Without such a parent, a new class gets the value that all classes of the file have, if any.
    """
    values = dict(index.inherited[property])
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
        yield text(id, vocabulary.CHANGE_NOTE, change_note(expanded, id, provenance), "en")
