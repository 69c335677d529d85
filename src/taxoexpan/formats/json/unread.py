"""Content of a JSON file that would not be read: what is refused, and what is noted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.document import objects_in
from taxoexpan.formats.json.schema import (
    CONCEPT_KEYS,
    KEYS,
    JsonConcepts,
    find_key,
    named_sizes,
)
from taxoexpan.formats.tables.codes import code_parents
from taxoexpan.phrasing import pluralize

_RELATION = re.compile("parent|broader|super|is_a|child|narrower", re.IGNORECASE)
"""Words in keys that suggest a relation, such as `parentCategory`."""

_COUNT = re.compile("count|number|total|num_", re.IGNORECASE)
"""Words in keys whose numbers are not ids, such as `children_count`."""

_JOINED = re.compile(r"\S\s*[;|]\s*\S")
"""A text that looks like several synonyms."""

Remark = tuple[int, str]
"""A line, or 0 if it is unknown, and a message."""


def refuse_unread_relations(concepts: JsonConcepts) -> None:
    """Refuse a file without relations in which an unknown key relates the concepts.

    Such a key has pairs of concepts, or names other concepts in half of the objects; one
    object is enough if the key suggests a relation.
    """
    known = set(concepts.ids)
    read = set(map(id, concepts.objects))
    for entry, _ in objects_in(concepts.value, read):
        for key, value in entry.items():
            pairs = value if isinstance(value, list) else []
            is_read = not read.isdisjoint(map(id, pairs))
            if pairs and not is_read and all(len(known & _texts(pair)) > 1 for pair in pairs):
                fix = '"edges", with entries {"parent": …, "child": …} or [parent, child]'
                raise _unread_relation(concepts, entry, key, fix)
    found: dict[str, list[Any]] = {}
    for own, entry in zip(concepts.ids, concepts.objects, strict=True):
        for key, value in entry.items():
            may_be_id = _RELATION.search(key) is not None and not _COUNT.search(key)
            if key not in CONCEPT_KEYS and (_texts(value, may_be_id) & known) - {own}:
                found.setdefault(key, []).append(entry)
    for key, entries in found.items():
        if _RELATION.search(key) or 2 * len(entries) >= len(concepts.objects):
            fix = '"parents" or "children" if it names them'
            raise _unread_relation(concepts, entries[0], key, fix)


def refuse_unread_objects(concepts: JsonConcepts) -> None:
    """Refuse a file without relations of which more objects would be lost than read."""
    objects = Counter[str]()
    entries = Counter[str]()
    for key, value in _unread_members(concepts):
        if count := sum(1 for _ in objects_in(value)):
            objects[key] += count
            entries[key] += len(value)
    read = len(concepts.objects)
    if objects.total() <= read:
        return
    message = f"no relation is known, and only {pluralize(read, 'concept')} would be read"
    message += f" of a file with more objects under {named_sizes(entries.items())}"
    fix = 'write the concepts as {"concepts": [{"id": "a", "label": "apple", "parents": ["f"]}]}'
    fix += ', or nest them under the key "children"'
    raise concepts.error(message, concepts.value, fix=fix)


def unread_remarks(concepts: JsonConcepts, has_relations: bool) -> Iterator[Remark]:
    """Yield remarks about content that is probably part of the taxonomy, but is not read."""
    if not concepts.objects:
        return
    lists = list(_unread_lists(concepts, has_relations))
    yield from lists if lists or has_relations else [_flat_remark(concepts)]
    yield from _other_lists(concepts)
    yield from _groups(concepts)
    yield from _missing_labels(concepts)
    yield from _joined_synonyms(concepts)


def _unread_lists(concepts: JsonConcepts, has_relations: bool) -> Iterator[Remark]:
    """Yield the first line of each unknown key with lists of labelled objects.

    If concepts are nested, only a key that continues the tree below leaves is yielded.
    """
    lines: dict[str, int] = {}
    inner: set[str] = set()
    for entry in concepts.objects:
        for key in _listing_keys(entry):
            lines.setdefault(key, concepts.line(entry, key))
            inner |= {key} if concepts.children(entry) else set()
    is_tree = sum(outer >= 0 for outer in concepts.nested_in) > len(concepts.references)
    lines = lines if is_tree or not has_relations else {}
    for key in [key for key in lines if key not in inner]:
        message = f"{key!r} lists objects with labels, but they are not read as concepts"
        yield lines[key], f"{message}; rename the key to 'children' if they are"


def _flat_remark(concepts: JsonConcepts) -> Remark:
    """Return a remark about a file in which no concept has a parent or a child."""
    count = len(set(concepts.ids))
    message = f"none of the {count:,} concepts has a parent or a child"
    if count == 1:
        message = f"only one concept was found, {concepts.ids[0]!r}"
    fix = 'if the file states relations, name them "parents" or "children"'
    own = next((find_key(entry, "id") for entry in concepts.objects), None)
    for key in KEYS["id"]:
        codes = [code for entry in concepts.objects if type(code := entry.get(key)) is str]
        if key != own and len(codes) == count and code_parents(codes):
            message += f"; {key!r} has hierarchical codes, but {own!r} has the ids"
            fix = f"remove {own!r} so that they are the ids, or add the parents"
    return concepts.line(concepts.value), f"{message}; {fix}"


def _other_lists(concepts: JsonConcepts) -> Iterator[Remark]:
    """Yield the keys of concepts next to the list that is read."""
    value = concepts.value
    for key in KEYS["nodes"] if isinstance(value, dict) else ():
        entries = value.get(key)
        if _are_labelled(entries) and not any(entries is read for read in concepts.root_lists):
            message = f"{key!r} lists objects with labels, but another list has the concepts"
            fix = "move its objects to that list if they are concepts"
            yield concepts.line(value, key), f"{message}; {fix}"


def _groups(concepts: JsonConcepts) -> Iterator[Remark]:
    """Yield the first object above a list of concepts whose label no concept has."""
    lists = set(map(id, concepts.root_lists))
    labels = set(concepts.labels)
    for outer, _ in objects_in(concepts.value, set(map(id, concepts.objects))):
        listed = (entry for value in outer.values() for entry in _listed_objects(value))
        for group in listed:
            key = next((key for key, value in group.items() if id(value) in lists), "")
            label = concepts.field(group, "label") if key else ""
            if label and label not in labels:
                message = f"objects above lists of concepts, such as {label!r}, are not read"
                fix = f"rename {key!r} to 'children' if they are concepts"
                yield concepts.line(group), f"{message}; {fix}"
                return


def _missing_labels(concepts: JsonConcepts) -> Iterator[Remark]:
    """Yield a key with a text of its own in each object, if no object has a label."""
    first = concepts.objects[0]
    keys = [*KEYS["definition"], *(key for key in first if key not in CONCEPT_KEYS)]
    for key in [] if any(concepts.labels) else keys:
        texts = [text for entry in concepts.objects if type(text := entry.get(key)) is str]
        if len({*texts}) == len(concepts.objects):
            message = "no object has a label, so the ids are the labels"
            fix = f"rename {key!r} to 'label' if it has the labels"
            yield concepts.line(first), f"{message}; {fix}"
            return


def _joined_synonyms(concepts: JsonConcepts) -> Iterator[Remark]:
    """Yield a remark if half of the objects seem to have several synonyms in one text."""
    having = [(entry, key) for entry in concepts.objects if (key := find_key(entry, "synonyms"))]
    texts = [place for place in having if isinstance(place[0][place[1]], str)]
    joined = [(entry, key) for entry, key in texts if _JOINED.search(entry[key])]
    if len(joined) > 1 and 2 * len(joined) >= len(having):
        (entry, key), count = joined[0], len(joined)
        message = f"{key!r} is one text with ';' or '|' in {count:,} objects, and one synonym"
        fix = 'write a list, such as ["apple", "pear"]'
        yield concepts.line(entry, key), f"{message}; {fix}"


def _unread_members(concepts: JsonConcepts) -> Iterator[tuple[str, Any]]:
    """Yield the members of the file that are outside the concepts, or lists inside them."""
    read = set(map(id, concepts.objects))
    stack = [concepts.value] if isinstance(concepts.value, dict) else []
    while stack:
        outer = stack.pop()
        for key, value in outer.items():
            if any(id(entry) in read for entry, _ in objects_in(value)):
                stack += [value] if isinstance(value, dict) else []
            elif id(outer) not in read or key not in CONCEPT_KEYS:
                yield key, value
    for entry in concepts.objects:
        if entry is not concepts.value:
            yield from ((key, entry[key]) for key in _listing_keys(entry))


def _listing_keys(entry: dict[str, Any]) -> list[str]:
    """Return the unknown keys of an object that have lists of labelled objects."""
    return [key for key in entry if key not in CONCEPT_KEYS and _are_labelled(entry[key])]


def _are_labelled(entries: Any) -> bool:
    """Return whether a value is a list of objects with labels."""
    objects = _listed_objects(entries)
    is_all = bool(objects) and len(objects) == len(entries)
    return is_all and all(find_key(entry, "label") for entry in objects)


def _listed_objects(value: Any) -> list[Any]:
    """Return the objects that a value lists."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _unread_relation(concepts: JsonConcepts, entry: Any, key: str, fix: str) -> FormatError:
    message = f"no relation is known, but {key!r} names other concepts"
    return concepts.error(message, entry, key, fix=f"rename it to {fix}, or else remove it")


def _texts(value: Any, numbers: bool = True) -> set[str]:
    """Return the strings in a value; `numbers` adds numbers, which may be levels or counts."""
    entries = value if isinstance(value, list) else [value]
    parts = (part for e in entries for part in (e.values() if isinstance(e, dict) else [e]))
    return {
        part.strip() for part in parts if isinstance(part, str) and (numbers or type(part) is str)
    }
