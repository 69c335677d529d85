"""The SKOS format: concepts with labels in several languages, in any RDF syntax.

Extending a file adds triples and changes none, except the links of children that move. Collections,
mappings and other content of a vocabulary stay unchanged.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.output import Copy, Insertions, Target, clean_ids
from taxoexpan.formats.rdf import serialization, vocabulary
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.skos_additions import concept_triples, move_links, new_triples
from taxoexpan.formats.rdf.skos_index import SkosIndex
from taxoexpan.formats.rdf.statements import (
    N_TRIPLES,
    SYNTAXES,
    TURTLE,
    detect_syntax,
    target_syntax,
)
from taxoexpan.formats.rdf.vocabulary import is_iri, link
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy
from taxoexpan.taxonomy.ids import numbered

NAME = "skos"
ABOUT = "SKOS in Turtle (.ttl), RDF/XML (.rdf, .owl, .xml), JSON-LD (.jsonld) or N-Triples (.nt)"
SUFFIXES = tuple(SYNTAXES)
NOT_INSERTED: tuple[str, ...] = ()

_PREFIXED_ID = re.compile(r"([A-Za-z][\w.-]*):([\w.-]+)")


def can_read(source: TextFile) -> bool:
    """Return whether the file is RDF."""
    return detect_syntax(source) is not None


def read(source: TextFile) -> ParsedTaxonomy:
    """Read every concept with its labels in one language, and all broader and narrower links."""
    index = source.parsed(SkosIndex.read)
    languages = Languages.choose(source, index.preferred.values())
    builder = TaxonomyBuilder(source.path)
    for id in index.concepts:
        if _is_blank_node(id):
            message = "a concept without an IRI has no id; it is skipped"
            builder.notes.append(Note(0, message, "blank-node", id))
        else:
            _add_concept(builder, index, languages, id)
    relations = [pair for pair in index.relations if not any(map(_is_blank_node, pair))]
    builder.parents = [parent for parent, _ in relations]
    builder.children = [child for _, child in relations]
    builder.lines, builder.relation_lines = [0] * len(builder.ids), [0] * len(relations)
    builder.ignored.update(index.count_ignored())
    builder.tops = index.top_concepts
    builder.reserved = _reserved(index)
    builder.prefixes, builder.language = index.prefixes, languages.tag
    if not builder.ids and vocabulary.OWL_CLASS in index.resources:
        message = "no skos:Concept in the file; OWL classes are not read, so express them in SKOS"
        raise FormatError(source.path, message)
    return builder.finish()


def extend(source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """Add the triples of the new concepts, in the style of the file."""
    index = source.parsed(SkosIndex.read)
    language = Languages.choose(source, index.preferred.values()).tag
    for concept in additions.concepts:
        if not is_iri(concept.id):
            message = f"the id {concept.id!r} of {concept.label!r} is not an IRI"
            raise FormatError(source.path, f"{message}; write an IRI, or leave the id blank")
    insertions, narrower = move_links(source, additions.moves)
    triples = [
        *new_triples(index, language, expanded, additions, narrower),
        *(
            vocabulary.text(id, vocabulary.ALT_LABEL, name, language)
            for id, name in additions.synonyms
        ),
    ]
    insertions += serialization.insert_triples(source, index.prefixes, triples)
    return {source.path: insertions}


def supported_fields(source: TextFile) -> frozenset[str]:
    """Return all fields."""
    return frozenset({"ids", "labels", "synonyms", "definitions"})


def supported_changes(source: TextFile) -> frozenset[str]:
    """Return synonyms, and moves in Turtle and N-Triples, where links can be found in the text."""
    can_move = detect_syntax(source) in (TURTLE, N_TRIPLES)
    return frozenset({"moves", "synonyms"} if can_move else {"synonyms"})


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """Write a new vocabulary with one scheme; ids that are not IRIs are turned into IRIs."""
    if not is_iri(target.base):
        message = f"the base {target.base!r} is not an IRI; write http://…/ or urn:…:"
        raise ConfigurationError(message)
    ids = clean_ids(taxonomy, lambda id: _as_iri(id, target.base))
    used = set(ids.values())
    scheme = next(iri for iri in numbered(target.base + "scheme") if iri not in used)
    triples = [link(scheme, vocabulary.TYPE, vocabulary.SCHEME)]
    for concept in taxonomy.concepts:
        id, parents = ids[concept.id], taxonomy.parents(concept.id)
        triples += concept_triples(id, concept, target.language, [scheme])
        triples += [link(id, vocabulary.BROADER, ids[parent]) for parent in parents]
        if not parents:
            triples.append(link(id, vocabulary.TOP_CONCEPT_OF, scheme))
    text = serialization.serialize(triples, target_syntax(target.path))
    return Copy({target.path: text}, ids)


def transcode(source: TextFile, path: Path) -> tuple[str, list[str]]:
    """Return all statements in the syntax of `path`, and messages about losses."""
    return serialization.transcode(source, target_syntax(path))


def _as_iri(id: str, base: str) -> str:
    """Return an id that is a web IRI or URN unchanged; `GO:1` becomes `GO_1`, as in OBO."""
    if is_iri(id) and ("://" in id or id.startswith("urn:")):
        return id
    prefixed = _PREFIXED_ID.fullmatch(id)
    return base + (f"{prefixed[1]}_{prefixed[2]}" if prefixed else quote(id, safe=""))


def _is_blank_node(id: str) -> bool:
    return id.startswith("_:")


def _add_concept(builder: TaxonomyBuilder, index: SkosIndex, languages: Languages, id: str) -> None:
    """Add one concept with its label, its synonyms and its definition."""
    language, label = _choose_label(builder, index, languages, id)
    row = len(builder.ids)
    texts = [*index.preferred.get(id, []), *index.alternative.get(id, [])]
    synonyms = dict.fromkeys(languages.matching(texts, language))
    synonyms.pop(label, None)
    foreign = [name for other, name in texts if other != language and languages.is_foreign(other)]
    if synonyms:
        builder.synonyms[row] = tuple(synonyms)
    if foreign:
        builder.foreign_names[row] = tuple(dict.fromkeys(foreign))
        builder.ignored["labels in other languages"] += len(foreign)
    builder.ignored["language tags"] += bool(language)
    definitions = index.definitions.get(id) or index.scope_notes.get(id) or []
    if definition := languages.best(definitions):
        builder.definitions[row] = definition[1]
    if id in index.deprecated:
        builder.deprecated.append(row)
    builder.ids.append(id)
    builder.labels.append(label)


def _choose_label(
    builder: TaxonomyBuilder, index: SkosIndex, languages: Languages, id: str
) -> Text:
    """Return the label in the chosen language, or a noted substitute."""
    preferred = index.preferred.get(id, [])
    label = languages.best(preferred)
    if label is not None and len({name for tag, name in preferred if tag == label[0]}) > 1:
        message = f"several preferred labels in one language; {label[1]!r} is used"
        builder.notes.append(Note(0, message, "preferred-labels", id))
    if label is None and id not in index.described and id not in index.rdfs_labels:
        label = ("", _local_name(id))
        message = f"only named as a parent or child, without a description; {label[1]!r} is used"
        builder.notes.append(Note(0, message, "undescribed-concept", id))
    elif label is None:
        label = languages.best(index.rdfs_labels.get(id, [])) or ("", _local_name(id))
        message = f"no preferred label; {label[1]!r} is used"
        builder.notes.append(Note(0, message, "missing-label", id))
    elif languages.is_foreign(label[0]):
        message = f"no label in {languages.chosen!r}; {label[1]!r} in {label[0]!r} is used"
        builder.notes.append(Note(0, message, "missing-label", id))
    return label


def _reserved(index: SkosIndex) -> set[str]:
    """Return IRIs of other resources in the namespaces of concepts, such as schemes."""
    namespaces = {_namespace(id) for id in index.concepts}
    return {iri for iri in index.resources if _namespace(iri) in namespaces}


def _namespace(iri: str) -> str:
    return iri[: max(map(iri.rfind, "/#:")) + 1]


def _local_name(iri: str) -> str:
    return re.split(r"[/#:]", iri.rstrip("/#:"))[-1] or iri
