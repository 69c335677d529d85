"""Changes to existing concepts of a JSON file: moved children and added synonyms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from taxoexpan.formats.json.parser import Array, Object, value_span
from taxoexpan.formats.json.schema import JsonConcepts, find_key
from taxoexpan.formats.json.style import Style
from taxoexpan.formats.text_file import Insertion
from taxoexpan.taxonomy import Move


def move_children(
    concepts: JsonConcepts,
    moves: Sequence[Move],
    format_id: Callable[[str], str],
    format_label: Callable[[str], str],
) -> Iterator[Insertion]:
    """Replace the old parent wherever the child or an edge names it by its id or an object."""
    text = concepts.source.text
    new_parents = {(move.old_parent, move.child): move.new_parent for move in moves}
    for container, key, child in concepts.parent_places() if new_parents else ():
        new = new_parents.get((concepts.reference_id(container, key), child))
        if new is None:
            continue
        if not isinstance(container[key], Object):
            yield replace_value(text, container, key, format_id(new))
            continue
        for field, format in (("id", format_id), ("label", format_label)):
            inner = find_key(container[key], field)
            if inner is not None:
                yield replace_value(text, container[key], inner, format(new))


def add_synonyms(
    concepts: JsonConcepts, style: Style, new_key: str, names: Mapping[str, Sequence[str]]
) -> Iterator[Insertion]:
    """Add synonyms to every list of synonyms that a concept has, or to a new list."""
    for id, synonyms in names.items():
        entries = concepts.objects_by_id.get(id, [])
        with_synonyms = [entry for entry in entries if find_key(entry, "synonyms")]
        with_label = [entry for entry in entries if find_key(entry, "label")]
        for entry in with_synonyms or with_label[:1] or entries[:1]:
            yield from _add_to_object(style, entry, new_key, list(map(style.scalar, synonyms)))


def _add_to_object(
    style: Style, entry: Object, new_key: str, synonyms: list[str]
) -> Iterator[Insertion]:
    """Add synonyms to one object."""
    key = find_key(entry, "synonyms")
    if key is not None and isinstance(entry[key], Array):
        yield style.append(entry[key], synonyms, style.multiline_words)
    elif key is not None:
        # A single text becomes a list.
        start, end = value_span(style.text, entry, key)
        yield Insertion(start, "[")
        yield Insertion(end, "".join(style.comma + synonym for synonym in synonyms) + "]")
    else:
        values = style.new_list(entry, synonyms, style.multiline_words)
        if new_key in entry:
            yield replace_value(style.text, entry, new_key, values)
        else:
            yield style.add_member(entry, new_key, values)


def replace_value(text: str, container: Object | Array, key: str | int, new: str) -> Insertion:
    """Replace the value of a member or an entry."""
    start, end = value_span(text, container, key)
    return Insertion(start, new, text[start:end])
