"""JSON: nested objects, a list of objects that name their parents, or nodes and edges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.json.insert import grow
from taxoexpan.formats.json.parser import line_of, load, parse
from taxoexpan.formats.json.schema import KNOWN, Shape
from taxoexpan.formats.output import Copy, Insertions, Target, renamed
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

NAME = "json"
ABOUT = (
    "nested objects with label and children; a list of objects with id, label, parents; or nodes "
    "and edges, {parent, child} or {source, target}, where the source is the parent"
)
SUFFIXES = (".json",)
NOT_INSERTED: tuple[str, ...] = ()

_BRACKET = re.compile(r"\s*[\[{]")
_START = re.compile(r"\s*(?:\[\s*(?:\{|\]\s*\Z)|\{\s*[\"}])")
_LINKED = re.compile(r'"@(?:context|graph|id)"\s*:')


def can_read(source: TextFile) -> bool:
    """Whether the text begins as an object or a list of objects; linked data is not ours."""
    start = _BRACKET if source.path.suffix.lower() in SUFFIXES else _START
    if not start.match(source.text):
        return False
    return not (_LINKED.search(source.text) and _is_linked_data(source))


def read(source: TextFile) -> ParsedTaxonomy:
    """The concepts in the order of the file; without ids, the path `A > B` is the id."""
    try:
        document = _draft(Shape(source, load(source))).finish()
        if not document.notes:
            return document
    except FormatError:
        pass
    # Once more, slowly, to know the lines of what there is to tell.
    return _draft(Shape(source, parse(source))).finish()


def extend(source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """New objects at the ends of the file's lists, after the pattern of those that are there."""
    shape = Shape(source, parse(source))
    anything = additions.concepts or additions.synonyms
    return {source.path: grow(shape, expanded, additions) if anything else []}


def supported_fields(source: TextFile) -> frozenset[str]:
    """Everything; ids where the file has them."""
    ids = {"ids"} if Shape(source, load(source)).has_ids else set()
    return frozenset({"labels", "synonyms", "definitions"} | ids)


def supported_changes(source: TextFile) -> frozenset[str]:
    """Synonyms; moves where a child names its parents, and does not stand inside of one."""
    shape = Shape(source, load(source))
    from_above = any(shape.children(entry) for entry in shape.objects)
    return frozenset({"synonyms"} if from_above else {"moves", "synonyms"})


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """A list of objects anew, a concept a line."""
    ids = renamed(taxonomy, str.strip)
    entries = (_entry(taxonomy, concept, ids) for concept in taxonomy.concepts)
    lines = ",\n    ".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    return Copy({target.path: f'{{\n  "concepts": [\n    {lines}\n  ]\n}}\n'}, ids)


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


def _is_linked_data(source: TextFile) -> bool:
    try:
        value = load(source)
    except FormatError:
        return True
    objects = value if isinstance(value, list) else [value]
    marks = {"@context", "@graph", "@id"}
    return any(isinstance(entry, dict) and not marks.isdisjoint(entry) for entry in objects)


def _draft(shape: Shape) -> TaxonomyBuilder:
    """Every concept once, with what all its objects say."""
    draft, rows = TaxonomyBuilder(shape.source.path), dict[str, int]()
    lines: list[int] = []
    for place, (id, given, entry) in enumerate(
        zip(shape.ids, shape.given, shape.objects, strict=True)
    ):
        # Only what has an id can be there again; a path or a label that repeats is a mistake.
        row = rows.get(id) if given else None
        if row is None:
            row = len(draft.ids)
            draft.ids.append(id)
            draft.labels.append("")
            lines.append(line_of(entry))
            if given:
                rows[id] = row
        _describe(draft, row, shape, place)
    draft.lines = lines
    draft.ignored.update(key for entry in shape.objects for key in entry if key not in KNOWN)
    _name_by_ids(draft)
    _relate(draft, shape)
    return draft


def _describe(draft: TaxonomyBuilder, row: int, shape: Shape, place: int) -> None:
    """Take the words of an object, which must not gainsay those of an earlier one."""
    entry, label = shape.objects[place], shape.labels[place]
    definition = shape.text(entry, "definition")
    synonyms = shape.texts(entry, "synonyms")
    for what, old, new in (
        ("label", draft.labels[row], label),
        ("definition", draft.definitions.get(row), definition),
        ("synonyms", draft.synonyms.get(row), synonyms),
    ):
        if old and new and old != new:
            told = f"the {what} of {draft.ids[row]!r}: {new!r} here, and {old!r} before"
            message = f"{told}; an id names one concept, so make them alike or rename one"
            raise FormatError(draft.path, message, line_of(entry) or None)
    draft.labels[row] = label or draft.labels[row]
    if definition:
        draft.definitions[row] = definition
    if synonyms:
        draft.synonyms[row] = synonyms
    if shape.is_deprecated(entry):
        draft.deprecated.append(row)


def _name_by_ids(draft: TaxonomyBuilder) -> None:
    """A concept without a label is known by its id, which may be a slip where others have one."""
    some = any(draft.labels)
    for row, id in enumerate(draft.ids):
        if not draft.labels[row]:
            draft.labels[row] = id
            if some:
                message = f"{id!r} has no label anywhere; the id is taken for it"
                draft.notes.append(Note(draft.lines[row], message, id=id))


def _relate(draft: TaxonomyBuilder, shape: Shape) -> None:
    """Every relation, told by nesting, by the child, by the parent, or by an edge."""
    seen: set[tuple[str, str]] = set()
    lines: list[int] = []

    def add(told: Iterable[tuple[str, str, int]]) -> None:
        # A file may tell a relation from both ends; told twice at one, it is worth a note.
        fresh = [relation for relation in told if relation[:2] not in seen]
        for parent, child, line in fresh:
            draft.parents.append(parent)
            draft.children.append(child)
            lines.append(line)
            seen.add((parent, child))

    for id, around, entry in zip(shape.ids, shape.around, shape.objects, strict=True):
        if around >= 0:
            add([(shape.ids[around], id, line_of(entry))])
        add((parent, id, line) for parent, line in shape.parents(entry))
        add((id, child, line) for child, line in shape.child_ids(entry))
    add(shape.relations())
    draft.relation_lines = lines
