"""Checks that a changed file is read back as intended, before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from taxoexpan.errors import FormatError
from taxoexpan.formats.registry import Format
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Taxonomy


def check_read_back(
    file: TextFile,
    format: Format,
    old: Taxonomy,
    expanded: Taxonomy,
    contents: Mapping[str, bytes],
) -> None:
    """Raise an error unless the new contents, by file name, are read as the expanded taxonomy.

    A missing move or synonym is an error, and so is any other difference.
    """
    with TemporaryDirectory() as folder:
        for name, content in contents.items():
            (Path(folder) / name).write_bytes(content)
        try:
            copy = TextFile.load(Path(folder) / file.path.name, file.options)
            reread = format.read(copy).taxonomy
        except FormatError as error:
            raise FormatError(file.path, f"with these changes: {error.message}") from None
    actual, intended = _facts(old, reread), _facts(old, expanded)
    if actual != intended:
        difference = _describe(min(actual ^ intended, key=str))
        message = f"the changed file would not be read back as intended: {difference} would differ"
        fix = "leave this out of the moves and merges, or rename the new concept"
        raise FormatError(file.path, f"{message}; {fix}")


def _facts(old: Taxonomy, expanded: Taxonomy) -> set[tuple[object, ...]]:
    """All relations, and the texts of all old concepts.

    New concepts are identified by their label, because a format may give them another id.
    """
    known = {id for id in expanded if id in old}
    names = {id: id if id in known else (expanded.concept(id).label,) for id in expanded}
    texts = {
        (c.id, c.label, c.definition, c.deprecated, *sorted(c.synonyms))
        for c in map(expanded.concept, known)
    }
    return texts | {(names[parent], names[child]) for parent, child in expanded.relations}


def _describe(fact: tuple[object, ...]) -> str:
    """Name the relation or the concept that a fact is about."""
    if len(fact) == 2:
        parent, child = (end[0] if isinstance(end, tuple) else end for end in fact)
        return f"{child!r} under {parent!r}"
    return f"the names of {fact[1]!r}"
