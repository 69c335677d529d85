"""SKOS: concepts with labels in many languages, `broader` and `narrower`, in any RDF syntax.

Writing adds triples and touches none, but those that link a child that moves with its parent.
Collections, mappings and whatever else a vocabulary holds are left alone; `owl:deprecated` concepts
are marked as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from urllib.parse import quote

import pyoxigraph as ox

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.output import Copy, Insertions, Target, clean_ids
from taxoexpan.formats.rdf import statements, vocabulary
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.skos_index import Thesaurus
from taxoexpan.formats.rdf.statements import (
    N_TRIPLES,
    SYNTAXES,
    TURTLE,
    Statements,
    grow,
    is_iri,
    serialise,
    syntax_of,
)
from taxoexpan.formats.rdf.turtle_links import Turtle
from taxoexpan.formats.rdf.vocabulary import Triple, link
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Provenance, Taxonomy
from taxoexpan.taxonomy.ids import numbered

NAME = "skos"
ABOUT = "SKOS in Turtle (.ttl), RDF/XML (.rdf, .owl, .xml), JSON-LD (.jsonld) or N-Triples (.nt)"
SUFFIXES = tuple(SYNTAXES)
NOT_INSERTED: tuple[str, ...] = ()

_SHORT_ID = re.compile(r"([A-Za-z][\w.-]*):([\w.-]+)")


def can_read(source: TextFile) -> bool:
    """Whether it is RDF."""
    return syntax_of(source) is not None


def read(source: TextFile) -> ParsedTaxonomy:
    """Every concept with the labels of one language, and every `broader` or `narrower`."""
    told = Statements(source)
    thesaurus = Thesaurus.of(told)
    languages = Languages.choose(source, thesaurus.preferred.values())
    draft = TaxonomyBuilder(source.path)
    for id in thesaurus.concepts:
        if _is_blank(id):
            message = "a concept without an IRI cannot be named; it is passed over"
            draft.notes.append(Note(0, message, "blank-node", id))
        else:
            _describe(draft, thesaurus, languages, id)
    named = [pair for pair in thesaurus.relations if not any(map(_is_blank, pair))]
    draft.parents = [parent for parent, _ in named]
    draft.children = [child for _, child in named]
    draft.lines, draft.relation_lines = [0] * len(draft.ids), [0] * len(named)
    draft.ignored.update(thesaurus.ignored(told.prefixes))
    draft.tops = thesaurus.tops
    draft.reserved = _reserved(thesaurus)
    if not draft.ids and vocabulary.OWL_CLASS in thesaurus.resources:
        message = "no skos:Concept in the file; OWL classes are not read, so say them in SKOS"
        raise FormatError(source.path, message)
    return draft.finish()


def extend(source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """The triples of the new concepts, in the way of those that are there."""
    told = Statements(source)
    thesaurus = Thesaurus.of(told)
    language = Languages.choose(source, thesaurus.preferred.values()).tag
    for concept in additions.concepts:
        _refuse_unusable(source, concept)
    moved, linked = _moved(source, additions.moves)
    triples = [
        *_added(thesaurus, language, expanded, additions, linked),
        *(_words(id, vocabulary.ALT_LABEL, name, language) for id, name in additions.synonyms),
    ]
    return {source.path: [*moved, *grow(told, triples)]}


def supported_fields(source: TextFile) -> frozenset[str]:
    """Everything that we know of a concept."""
    return frozenset({"ids", "labels", "synonyms", "definitions"})


def supported_changes(source: TextFile) -> frozenset[str]:
    """Synonyms; moves where links stand in the text for themselves, so not in XML and JSON."""
    plain = syntax_of(source) in (TURTLE, N_TRIPLES)
    return frozenset({"moves", "synonyms"} if plain else {"synonyms"})


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """A vocabulary with one scheme; ids that are no IRIs become some."""
    if not is_iri(target.base):
        raise ConfigurationError(f"the base {target.base!r} is no IRI; write http://…/ or urn:…:")
    ids = clean_ids(taxonomy, lambda id: _as_iri(id, target.base))
    taken = set(ids.values())
    scheme = next(iri for iri in numbered(target.base + "scheme") if iri not in taken)
    triples = [link(scheme, vocabulary.TYPE, vocabulary.SCHEME)]
    for concept in taxonomy.concepts:
        id, parents = ids[concept.id], taxonomy.parents(concept.id)
        triples += _description(id, concept, target.language, [scheme])
        triples += [link(id, vocabulary.BROADER, ids[parent]) for parent in parents]
        if not parents:
            triples.append(link(id, vocabulary.TOP_CONCEPT_OF, scheme))
    return Copy({target.path: serialise(triples, _syntax(target.path))}, ids)


def _as_iri(id: str, base: str) -> str:
    """An id as it is where it is an IRI of the web; `GO:1` becomes `GO_1`, as OBO has it."""
    if is_iri(id) and ("://" in id or id.startswith("urn:")):
        return id
    short = _SHORT_ID.fullmatch(id)
    return base + (f"{short[1]}_{short[2]}" if short else quote(id, safe=""))


def transcode(source: TextFile, path: Path) -> tuple[str, list[str]]:
    """All that a file says in the syntax of another name, and what could not stay as it was."""
    return statements.transcode(source, _syntax(path))


def _syntax(path: Path) -> ox.RdfFormat:
    return SYNTAXES.get(path.suffix.lower(), TURTLE)


def _is_blank(id: str) -> bool:
    return id.startswith("_:")


def _describe(draft: TaxonomyBuilder, thesaurus: Thesaurus, languages: Languages, id: str) -> None:
    """Put one concept into the draft: its label, the other words for it, its definition."""
    label = _label(draft, thesaurus, languages, id)
    index, language = len(draft.ids), label[0]
    preferred, others = thesaurus.preferred.get(id, []), thesaurus.others.get(id, [])
    names = dict.fromkeys(languages.alike([*preferred, *others], language))
    names.pop(label[1], None)
    foreign = [
        name
        for other, name in [*preferred, *others]
        if other != language and languages.foreign(other)
    ]
    if names:
        draft.synonyms[index] = tuple(names)
    if foreign:
        draft.foreign_names[index] = tuple(dict.fromkeys(foreign))
        draft.ignored["labels in other languages"] += len(foreign)
    draft.ignored["language tags"] += bool(language)
    notes = thesaurus.definitions.get(id) or thesaurus.scope_notes.get(id) or []
    if definition := languages.best(notes):
        draft.definitions[index] = definition[1]
    if id in thesaurus.deprecated:
        draft.deprecated.append(index)
    draft.ids.append(id)
    draft.labels.append(label[1])


def _reserved(thesaurus: Thesaurus) -> set[str]:
    """What else has a name that could be a concept's: schemes, collections, what was replaced."""
    spaces = {_namespace(id) for id in thesaurus.concepts}
    return {iri for iri in thesaurus.resources if _namespace(iri) in spaces}


def _namespace(iri: str) -> str:
    return iri[: max(map(iri.rfind, "/#:")) + 1]


def _label(draft: TaxonomyBuilder, thesaurus: Thesaurus, languages: Languages, id: str) -> Text:
    """The label in the chosen language, or the next best, which is noted."""
    preferred = thesaurus.preferred.get(id, [])
    label = languages.best(preferred)
    if label is not None and len({name for tag, name in preferred if tag == label[0]}) > 1:
        message = f"several preferred labels in one language; {label[1]!r} is taken"
        draft.notes.append(Note(0, message, "preferred-labels", id))
    if label is None and id not in thesaurus.described and id not in thesaurus.plain_labels:
        label = ("", _local_name(id))
        message = f"named as a parent or child, but not described here; {label[1]!r} is taken"
        draft.notes.append(Note(0, message, "undescribed-concept", id))
    elif label is None:
        label = languages.best(thesaurus.plain_labels.get(id, [])) or ("", _local_name(id))
        message = f"no preferred label; {label[1]!r} is taken"
        draft.notes.append(Note(0, message, "missing-label", id))
    elif languages.foreign(label[0]):
        message = f"no label in {languages.chosen!r}; {label[1]!r} in {label[0]!r} is taken"
        draft.notes.append(Note(0, message, "missing-label", id))
    return label


def _local_name(iri: str) -> str:
    return re.split(r"[/#:]", iri.rstrip("/#:"))[-1] or iri


def _refuse_unusable(source: TextFile, concept: Concept) -> None:
    if not is_iri(concept.id):
        message = (
            f"the id {concept.id!r} of {concept.label!r} is no IRI; write one, or leave it blank"
        )
        raise FormatError(source.path, message)


def _moved(source: TextFile, moves: Sequence[Move]) -> tuple[list[Insertion], set[tuple[str, str]]]:
    """The links that give way, and the pairs that are linked by `narrower` instead.

    `child broader parent` becomes `child broader new`, and `parent narrower child` becomes
    `parent narrower new`; in a list of objects the new one is told once.
    """
    joined = {(shift.old_parent, shift.child): shift.new_parent for shift in moves}
    insertions, linked, found = [], set[tuple[str, str]](), set[tuple[str, str]]()
    rows: set[tuple[int, str]] = set()
    turtle, text = Turtle(source), source.text
    for told in turtle.links() if joined else ():
        pair = (told.object, told.subject)
        if told.predicate == vocabulary.NARROWER:
            pair = (told.subject, told.object)
        if told.predicate not in (vocabulary.BROADER, vocabulary.NARROWER) or pair not in joined:
            continue
        new = joined[pair]
        found.add(pair)
        if told.predicate == vocabulary.NARROWER:
            linked.add((told.subject, new))
        again, behind = (told.row, new) in rows, told.behind
        rows.add((told.row, new))
        if again and behind is not None and "#" not in text[behind : told.start]:
            insertions.append(Insertion(behind, "", text[behind : told.end]))
        else:
            old = text[told.start : told.end]
            insertions.append(Insertion(told.start, turtle.spelled(new, old), old))
    for parent, child in joined.keys() - found:
        message = f"the link of {child!r} with {parent!r} was not found in the text"
        mend = "convert the file to .json first, or leave out --allow-moves"
        raise FormatError(source.path, f"{message}; {mend}")
    return insertions, linked


def _added(
    thesaurus: Thesaurus,
    language: str,
    expanded: Taxonomy,
    additions: Additions,
    linked: Set[tuple[str, str]],
) -> Iterator[Triple]:
    """Every triple that the additions bring, those about a new concept together.

    What is `linked` by `narrower` already is not told again.
    """
    new = {concept.id for concept in additions.concepts}
    schemes = _schemes(thesaurus, expanded, additions)
    for concept in additions.concepts:
        id, parents = concept.id, expanded.parents(concept.id)
        yield from _description(id, concept, language, schemes[id])
        for parent in parents:
            yield link(id, vocabulary.BROADER, parent)
        if thesaurus.used[vocabulary.NARROWER]:
            yield from (link(id, vocabulary.NARROWER, child) for child in expanded.children(id))
        if not parents and thesaurus.used[vocabulary.TOP_CONCEPT_OF]:
            yield from (link(id, vocabulary.TOP_CONCEPT_OF, scheme) for scheme in schemes[id])
        if additions.provenance is not None:
            note = _change_note(expanded, id, additions.provenance)
            yield Triple(id, vocabulary.CHANGE_NOTE, note)
    for parent, child in additions.relations:
        known = parent in new or (parent, child) in linked
        if not known and thesaurus.used[vocabulary.NARROWER]:
            yield link(parent, vocabulary.NARROWER, child)
    if thesaurus.used[vocabulary.HAS_TOP_CONCEPT]:
        for concept in additions.concepts:
            if not expanded.parents(concept.id):
                yield from (
                    link(s, vocabulary.HAS_TOP_CONCEPT, concept.id) for s in schemes[concept.id]
                )


def _schemes(
    thesaurus: Thesaurus, expanded: Taxonomy, additions: Additions
) -> dict[str, list[str]]:
    """The schemes of each new concept: its parents', or the file's where it has but one."""
    known = {id: list(schemes) for id, schemes in thesaurus.schemes_of.items()}
    only = list(thesaurus.schemes) if len(thesaurus.schemes) == 1 else []
    ids = [concept.id for concept in additions.concepts]
    for id in sorted(ids, key=lambda id: expanded.levels[expanded.index(id)]):
        above = (scheme for parent in expanded.parents(id) for scheme in known.get(parent, []))
        known[id] = list(dict.fromkeys(s for s in above if not _is_blank(s))) or only
    return known


def _description(id: str, concept: Concept, language: str, schemes: list[str]) -> list[Triple]:
    """What a concept is, and the words for it."""
    triples = [
        link(id, vocabulary.TYPE, vocabulary.CONCEPT),
        *(link(id, vocabulary.IN_SCHEME, scheme) for scheme in schemes),
    ]
    triples.append(_words(id, vocabulary.PREF_LABEL, concept.label, language))
    triples += [_words(id, vocabulary.ALT_LABEL, name, language) for name in concept.synonyms]
    if concept.definition:
        triples.append(_words(id, vocabulary.DEFINITION, concept.definition, language))
    if concept.deprecated:
        true = ox.Literal("true", datatype=ox.NamedNode(vocabulary.BOOLEAN))
        triples.append(Triple(id, vocabulary.DEPRECATED, true))
    return triples


def _words(id: str, predicate: str, text: str, language: str) -> Triple:
    """A text about a concept, in a language if there is one."""
    literal = ox.Literal(text, language=language) if language else ox.Literal(text)
    return Triple(id, predicate, literal)


def _change_note(expanded: Taxonomy, id: str, provenance: Provenance) -> ox.Literal:
    """Who placed the concept, when, and how sure it was."""
    places = []
    for parent in expanded.parents(id):
        score = provenance.scores.get((parent, id))
        how = "chosen by a person" if score is None else f"score {score:.2f}"
        places.append(f"under {expanded.concept(parent).label!r} ({how})")
    where = " and ".join(places) or "at the top"
    text = f"Placed {where} by {provenance.agent} on {provenance.when:%Y-%m-%d}."
    return ox.Literal(text, language="en")
