"""Checks that a changed file is read back as intended, before it is written."""

from __future__ import annotations

from taxoexpan.errors import FormatError
from taxoexpan.formats.format import Format
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Taxonomy


def check_read_back(file: TextFile, format: Format, old: Taxonomy, expanded: Taxonomy) -> Taxonomy:
    """Return the taxonomy in a changed file, if it is the expanded one.

    A missing move or synonym is an error, and so is any other difference.
    """
    try:
        reread = format.read(file).taxonomy
    except FormatError as error:
        raise FormatError(file.path, f"with these changes: {error.message}") from None
    different = _facts(old, reread, expanded) ^ _facts(old, expanded, reread)
    if different:
        fact = min(different, key=str)
        parent, child = (end[0] if isinstance(end, tuple) else end for end in fact[:2])
        what = f"{child!r} under {parent!r}" if len(fact) == 2 else f"the names of {child!r}"
        message = f"the changed file would not be read back as intended: {what} would differ"
        fix = "leave out this change, or rename the new concept"
        raise FormatError(file.path, f"{message}; {fix}")
    return reread


def _facts(old: Taxonomy, expanded: Taxonomy, other: Taxonomy) -> set[tuple[object, ...]]:
    """All relations, and the texts of all old concepts.

    A new concept is identified by its id, or by its label if the other taxonomy lacks that id: a
    format may give it another one.
    """
    known = {id for id in expanded if id in old}
    names = {id: id if id in other else (expanded.concept(id).label,) for id in expanded}
    texts = {
        (c.id, c.label, c.definition, c.deprecated, *sorted(c.synonyms))
        for c in map(expanded.concept, known)
    }
    return texts | {(names[parent], names[child]) for parent, child in expanded.relations}
