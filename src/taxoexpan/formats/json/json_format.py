"""The JSON format: nested objects, objects that name their parents, or nodes and edges."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import TaxonomyBuilder
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.format import Copy, Insertions, Target, clean_ids
from taxoexpan.formats.json.document import LINES_SUFFIXES, DocumentFormat, load
from taxoexpan.formats.json.insertion import Inserter
from taxoexpan.formats.json.schema import CONCEPT_KEYS, JsonConcepts, find_key
from taxoexpan.formats.json.unread import (
    refuse_unread_objects,
    refuse_unread_relations,
    unread_remarks,
)
from taxoexpan.formats.obographs import is_obo_graphs
from taxoexpan.formats.tables.codes import refuse_other_codes, relate_codes
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

_BRACKET = re.compile(r"\s*[\[{]")
_CONTAINER_START = re.compile(r"\s*(?:\[\s*(?:\{|\]\s*\Z)|\{\s*[\"}])")
_JSON_LD_KEY = re.compile(r'"@(?:context|graph|id)"\s*:')


class JsonFormat(DocumentFormat):
    """JSON files of objects with various names of keys."""

    document = JsonConcepts
    movable_suffix = ".tsv"

    def can_read(self, source: TextFile) -> bool:
        """Return whether the file is JSON, but neither JSON-LD nor OBO Graphs."""
        start = _BRACKET if source.suffix in self.suffixes else _CONTAINER_START
        if not start.match(source.text) or is_obo_graphs(source):
            return False
        return not (_JSON_LD_KEY.search(source.text) and _is_json_ld(source))

    def build(self, concepts: JsonConcepts) -> TaxonomyBuilder:
        """Merge the objects of each concept; in files without ids, the path `A > B` is the id."""
        builder = TaxonomyBuilder(concepts.source.path)
        rows = dict[str, int]()
        for index, (id, own_id) in enumerate(zip(concepts.ids, concepts.own_ids, strict=True)):
            # Only an object with an id may describe a concept again; a repeated path is an error.
            row = rows.get(id) if own_id else None
            if row is None:
                row = len(builder.ids)
                builder.add(id, "", concepts.line(concepts.objects[index]))
                if own_id:
                    rows[id] = row
            _describe(builder, row, concepts, index)
        if any(map(concepts.translated, concepts.objects)):
            builder.language = concepts.languages.tag
            builder.languages = concepts.languages
        _add_relations(builder, concepts)
        if not builder.parents:
            refuse_unread_relations(concepts)
            _add_code_relations(builder, concepts)
        if not builder.parents:
            refuse_unread_objects(concepts)
        for line, message in unread_remarks(concepts, bool(builder.parents)):
            builder.note(line, message)
        builder.ignored.update(
            key for entry in concepts.objects for key in entry if key not in CONCEPT_KEYS
        )
        has_labels = any(builder.labels)
        for row, id in enumerate(builder.ids):
            if has_labels and not builder.labels[row]:
                builder.note(builder.lines[row], f"{id!r} has no label; its id is used instead", id)
            builder.labels[row] = builder.labels[row] or id
        return builder

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Add objects to the lists of the file, in the style of the existing objects."""
        concepts = source.parsed(JsonConcepts.locate)
        if not additions.concepts and not additions.synonyms:
            return {source.path: []}
        if concepts.code_parents:
            refuse_other_codes(source.path, expanded, additions)
        try:
            return {source.path: Inserter(concepts, expanded, additions).insertions()}
        except RecursionError:
            message = "hundreds of new concepts would be nested in each other"
            raise FormatError(source.path, message, fix="add them in steps") from None

    def supported_fields(self, source: TextFile) -> frozenset[str]:
        """Return all fields, but ids only if the file has ids."""
        ids = {"ids"} if source.parsed(JsonConcepts.load).has_ids else set()
        return frozenset({"labels", "synonyms", "definitions"} | ids)

    def supported_changes(self, source: TextFile) -> frozenset[str]:
        """Return synonyms, and moves if children name their parents by keys, and not by codes."""
        concepts = source.parsed(JsonConcepts.load)
        lists_children = any(map(concepts.children, concepts.objects))
        is_fixed = lists_children or concepts.code_parents
        return frozenset({"synonyms"} if is_fixed else {"moves", "synonyms"})

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new file with a list of objects, one concept per line."""
        ids = clean_ids(taxonomy, str.strip)
        entries = [_entry(taxonomy, concept, ids) for concept in taxonomy.concepts]
        lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
        if format_suffix(target.path) in LINES_SUFFIXES:
            return Copy({target.path: "".join(f"{line}\n" for line in lines)}, ids)
        listed = ",\n    ".join(lines)
        return Copy({target.path: f'{{\n  "concepts": [\n    {listed}\n  ]\n}}\n'}, ids)


def _entry(taxonomy: Taxonomy, concept: Concept, ids: Mapping[str, str]) -> dict[str, object]:
    entry = {
        "id": ids[concept.id],
        "label": concept.label,
        "parents": [ids[parent] for parent in taxonomy.parents(concept.id)],
        "synonyms": concept.synonyms,
        "definition": concept.definition,
        "deprecated": concept.deprecated,
    }
    return {key: value for key, value in entry.items() if value}


def _is_json_ld(source: TextFile) -> bool:
    try:
        value = source.parsed(load)
    except FormatError:
        return True
    objects = value if isinstance(value, list) else [value]
    keywords = {"@context", "@graph", "@id"}
    return any(isinstance(entry, dict) and not keywords.isdisjoint(entry) for entry in objects)


def _describe(builder: TaxonomyBuilder, row: int, concepts: JsonConcepts, index: int) -> None:
    """Add the label, synonyms and definition of an object, which must not contradict others."""
    entry = concepts.objects[index]
    label = concepts.labels[index]
    definition = concepts.field(entry, "definition")
    synonyms = concepts.synonyms(entry)
    for field, old, new in (
        ("label", builder.labels[row], label),
        ("definition", builder.definitions.get(row), definition),
        ("synonyms", builder.synonyms.get(row), synonyms),
    ):
        if old and new and old != new:
            message = f"two values for the {field} of {builder.ids[row]!r}: {old!r} and {new!r}"
            remedy = "make them equal, or give one of the concepts another id"
            raise concepts.error(message, entry, fix=remedy)
    builder.labels[row] = label or builder.labels[row]
    if others := [name for _, name in concepts.translated(entry) if name != label]:
        builder.foreign_names[row] = tuple(dict.fromkeys(others))
        builder.ignored["labels in other languages"] += len(others)
    builder.definitions |= {row: definition} if definition else {}
    builder.synonyms |= {row: synonyms} if synonyms else {}
    if concepts.is_deprecated(entry):
        builder.deprecated.append(row)


def _add_relations(builder: TaxonomyBuilder, concepts: JsonConcepts) -> None:
    """Add all relations, and the parents that are described only in objects of their children."""
    known = set(builder.ids)
    seen = set[tuple[str, str]]()
    for listed in concepts.relations():
        # Both ends may name a relation; a repetition within one list is kept, and noted later.
        for relation in [each for each in listed if each[:2] not in seen]:
            parent, child, container, key, names_parent = relation
            line = concepts.line(container, key)
            builder.relate(parent, child, line)
            seen.add((parent, child))
            value = container[key] if names_parent else None
            if parent not in known and isinstance(value, dict) and find_key(value, "label"):
                known.add(parent)
                builder.add(parent, concepts.field(value, "label"), line)
                message = f"the parent {builder.labels[-1]!r} has no object of its own"
                builder.note(line, f"{message}; it is added as a concept", parent)


def _add_code_relations(builder: TaxonomyBuilder, concepts: JsonConcepts) -> None:
    """Add the relations that hierarchical codes state, if the ids are such codes."""
    if above := concepts.code_parents:
        key = next(filter(None, (find_key(entry, "id") for entry in concepts.objects)))
        relate_codes(builder, above, f"under the key {key!r}")
