"""The common parts of the RDF formats: reading concepts, checking ids, and supported content."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from urllib.parse import quote

from taxoexpan.errors import ConfigurationError, FileCycleError, FormatError, started_at
from taxoexpan.formats.builder import LANGUAGE_TAGS, Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Format, Target, clean_ids
from taxoexpan.formats.rdf import serialization
from taxoexpan.formats.rdf.graph_index import GraphIndex, is_blank_node
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.rdf.statements import N_TRIPLES, TURTLE, detect_syntax, target_syntax
from taxoexpan.formats.rdf.subject_lines import subject_lines
from taxoexpan.formats.rdf.tag_case import tag_spellings
from taxoexpan.formats.rdf.vocabulary import is_iri
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Provenance, Taxonomy

_PREFIXED_ID = re.compile(r"([A-Za-z][\w.-]*):([\w.-]+)")


class RdfFormat(Format):
    """A vocabulary of RDF, in any of its syntaxes."""

    is_rdf = True
    movable_suffix = ".ttl"

    def supported_changes(self, source: TextFile) -> frozenset[str]:
        """Return synonyms, and moves in Turtle and N-Triples, where the text shows the links."""
        can_move = detect_syntax(source) in (TURTLE, N_TRIPLES)
        return frozenset({"moves", "synonyms"} if can_move else {"synonyms"})

    def subject_lines(self, source: TextFile, ids: Collection[str]) -> dict[str, int]:
        """Return the lines on which concepts are described, as far as they are found."""
        return subject_lines(source, ids)


def read_concepts(source: TextFile, index: GraphIndex) -> TaxonomyBuilder:
    """Read every concept that has an IRI, with its texts in one language, and all relations."""
    languages = index.languages(source)
    builder = TaxonomyBuilder(source.path)
    for id in index.concepts:
        if not is_blank_node(id):
            _add_concept(builder, index, languages, id)
    relations = [pair for pair in index.relations if not any(map(is_blank_node, pair))]
    builder.parents = [parent for parent, _ in relations]
    builder.children = [child for _, child in relations]
    builder.lines, builder.relation_lines = [0] * len(builder.ids), [0] * len(relations)
    builder.ignored.update(index.count_ignored())
    builder.tops = index.top_concepts
    builder.reserved = index.reserved()
    spelled = source.parsed(tag_spellings)
    builder.prefixes, builder.language = index.prefixes, spelled.get(languages.tag, languages.tag)
    for text, tag in builder.other_tags.items():
        builder.other_tags[text] = spelled.get(tag, tag)
    return builder


def finish(source: TextFile, builder: TaxonomyBuilder) -> ParsedTaxonomy:
    """Build the taxonomy; a cycle gets the lines of its concepts, because relations have none."""
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


def refuse_invalid_ids(source: TextFile, additions: Additions) -> None:
    """Refuse new concepts whose id is not an IRI."""
    for concept in additions.concepts:
        if not is_iri(concept.id):
            message = f"the id {concept.id!r} of {concept.label!r} is not an IRI"
            raise FormatError(source.path, f"{message}; write an IRI, or leave the id blank")


def change_note(expanded: Taxonomy, id: str, provenance: Provenance) -> str:
    """Return what placed the concept, when, and with which confidence."""
    parents = []
    for parent in expanded.parents(id):
        reason = provenance.reasons.get((parent, id), "chosen by a person")
        parents.append(f"under {expanded.concept(parent).label!r} ({reason})")
    where = " and ".join(parents) or "at the top"
    return f"Placed {where} by {provenance.agent} on {provenance.when:%Y-%m-%d}."


def iris(taxonomy: Taxonomy, target: Target) -> dict[str, str]:
    """Return an IRI for every id; ids that are not IRIs are appended to the base."""
    if not is_iri(target.base):
        message = f"the base {target.base!r} is not an IRI; write http://…/ or urn:…:"
        raise ConfigurationError(message)
    return clean_ids(taxonomy, lambda id: _as_iri(id, target.base))


def transcode(source: TextFile, target: Target) -> tuple[str, list[str]]:
    """Return all statements in the syntax of the target, and messages about losses."""
    return serialization.transcode(source, target_syntax(target))


def _as_iri(id: str, base: str) -> str:
    """Return an id that is a web IRI or URN unchanged; `GO:1` becomes `GO_1`, as in OBO."""
    if is_iri(id) and ("://" in id or id.startswith("urn:")):
        return id
    prefixed = _PREFIXED_ID.fullmatch(id)
    return base + (f"{prefixed[1]}_{prefixed[2]}" if prefixed else quote(id, safe=""))


def _add_concept(
    builder: TaxonomyBuilder, index: GraphIndex, languages: Languages, id: str
) -> None:
    """Add one concept with its label, its synonyms and its definition."""
    language, label = _choose_label(builder, index, languages, id)
    row = len(builder.ids)
    texts = [*index.labels(id), *index.synonyms(id)]
    synonyms = dict.fromkeys(languages.matching(texts, language))
    synonyms.pop(label, None)
    foreign = [name for other, name in texts if other != language and languages.is_foreign(other)]
    if synonyms:
        builder.synonyms[row] = tuple(synonyms)
    if foreign:
        builder.foreign_names[row] = tuple(dict.fromkeys(foreign))
        builder.ignored["labels in other languages"] += len(foreign)
    builder.ignored[LANGUAGE_TAGS] += bool(language)
    definitions = index.definitions(id)
    if definition := languages.best(definitions):
        builder.definitions[row] = definition[1]
        others = [other for other in definitions if other[1] and other != definition]
        foreign_count = sum(other[0] != definition[0] for other in others)
        builder.ignored["definitions in other languages"] += foreign_count
        builder.ignored["further definitions"] += len(others) - foreign_count
    used = [(language, label), *((tag, name) for tag, name in texts if name in synonyms)]
    _tag_texts(builder, languages, id, [*used, *([definition] if definition else [])])
    if id in index.deprecated:
        builder.deprecated.append(row)
    builder.ids.append(id)
    builder.labels.append(label)


def _tag_texts(builder: TaxonomyBuilder, languages: Languages, id: str, texts: list[Text]) -> None:
    """Note the language tags that differ from those of most labels; the first one counts."""
    for tag, text in reversed(texts):
        builder.other_tags.pop((id, text), None)
        if tag != languages.tag:
            builder.other_tags[id, text] = tag


def _choose_label(
    builder: TaxonomyBuilder, index: GraphIndex, languages: Languages, id: str
) -> Text:
    """Return the label in the chosen language, or a noted substitute."""
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
