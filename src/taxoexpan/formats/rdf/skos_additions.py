"""The triples of new SKOS concepts, and the changed links of children that move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.skos_index import SkosIndex
from taxoexpan.formats.rdf.turtle_links import TurtleLinks
from taxoexpan.formats.rdf.vocabulary import link, text
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Provenance, Taxonomy


def move_links(
    source: TextFile, moves: Sequence[Move]
) -> tuple[list[Insertion], set[tuple[str, str]]]:
    """Return the changed links, and the new pairs that a changed `narrower` already links.

    `child broader parent` becomes `child broader new`, and `parent narrower child` becomes
    `parent narrower new`; a list of objects contains the new one only once.
    """
    new_parents = {(move.old_parent, move.child): move.new_parent for move in moves}
    insertions, narrower, found = [], set[tuple[str, str]](), set[tuple[str, str]]()
    seen: set[tuple[int, str]] = set()
    turtle, content = TurtleLinks(source), source.text
    for one in turtle.links() if new_parents else ():
        is_narrower = one.predicate == vocabulary.NARROWER
        pair = (one.subject, one.object) if is_narrower else (one.object, one.subject)
        if not (is_narrower or one.predicate == vocabulary.BROADER) or pair not in new_parents:
            continue
        new = new_parents[pair]
        found.add(pair)
        if is_narrower:
            narrower.add((one.subject, new))
        repeated, previous_end = (one.list_start, new) in seen, one.previous_end
        seen.add((one.list_start, new))
        if repeated and previous_end is not None and "#" not in content[previous_end : one.start]:
            insertions.append(Insertion(previous_end, "", content[previous_end : one.end]))
        else:
            old = content[one.start : one.end]
            insertions.append(Insertion(one.start, turtle.format_iri(new, old), old))
    for parent, child in new_parents.keys() - found:
        message = f"the link from {child!r} to {parent!r} was not found in the text"
        remedy = "convert the file to .json first, or leave out allow_moves"
        raise FormatError(source.path, f"{message}; {remedy}").naming("allow_moves")
    return insertions, narrower


def new_triples(
    index: SkosIndex,
    language: str,
    expanded: Taxonomy,
    additions: Additions,
    narrower: Set[tuple[str, str]],
) -> Iterator[ox.Triple]:
    """Yield the triples of the additions, except pairs that `narrower` already links."""
    new = {concept.id for concept in additions.concepts}
    schemes = _schemes(index, expanded, additions)
    for concept in additions.concepts:
        id, parents = concept.id, expanded.parents(concept.id)
        yield from concept_triples(id, concept, language, schemes[id])
        for parent in parents:
            yield link(id, vocabulary.BROADER, parent)
        if index.uses(vocabulary.NARROWER):
            yield from (link(id, vocabulary.NARROWER, child) for child in expanded.children(id))
        if not parents and index.uses(vocabulary.TOP_CONCEPT_OF):
            yield from (link(id, vocabulary.TOP_CONCEPT_OF, scheme) for scheme in schemes[id])
        if additions.provenance is not None:
            note = _change_note(expanded, id, additions.provenance)
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
    id: str, concept: Concept, language: str, schemes: Sequence[str]
) -> list[ox.Triple]:
    """Return the type, the schemes and the texts of a concept."""
    triples = [
        link(id, vocabulary.TYPE, vocabulary.CONCEPT),
        *(link(id, vocabulary.IN_SCHEME, scheme) for scheme in schemes),
        text(id, vocabulary.PREF_LABEL, concept.label, language),
        *(text(id, vocabulary.ALT_LABEL, name, language) for name in concept.synonyms),
    ]
    if concept.definition:
        triples.append(text(id, vocabulary.DEFINITION, concept.definition, language))
    if concept.deprecated:
        true = ox.Literal("true", datatype=ox.NamedNode(vocabulary.BOOLEAN))
        triples.append(ox.Triple(ox.NamedNode(id), ox.NamedNode(vocabulary.DEPRECATED), true))
    return triples


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


def _change_note(expanded: Taxonomy, id: str, provenance: Provenance) -> str:
    """Return what placed the concept, when, and with which confidence."""
    parents = []
    for parent in expanded.parents(id):
        reason = provenance.reasons.get((parent, id), "chosen by a person")
        parents.append(f"under {expanded.concept(parent).label!r} ({reason})")
    where = " and ".join(parents) or "at the top"
    return f"Placed {where} by {provenance.agent} on {provenance.when:%Y-%m-%d}."
