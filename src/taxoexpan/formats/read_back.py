"""Checks that a changed file is read back as intended, before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from glob import escape
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.files import temporary_folder
from taxoexpan.formats.format import Format
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Taxonomy


def check_read_back(
    file: TextFile,
    format: Format,
    old: Taxonomy,
    expanded: Taxonomy,
    contents: Mapping[str, bytes],
) -> Taxonomy:
    """Return the taxonomy in the new contents, by file name, if it is the expanded one.

    A missing move or synonym is an error, and so is any other difference.
    """
    with temporary_folder() as folder:
        copy = _write_copy(file.path, contents, folder)
        try:
            reread = format.read(TextFile.open(copy, file.options)).taxonomy
        except FormatError as error:
            raise FormatError(file.path, f"with these changes: {error.message}") from None
    actual, intended = _facts(old, reread, expanded), _facts(old, expanded, reread)
    if actual != intended:
        difference = _describe(min(actual ^ intended, key=str))
        message = f"the changed file would not be read back as intended: {difference} would differ"
        fix = "leave out this change, or rename the new concept"
        raise FormatError(file.path, f"{message}; {fix}")
    return reread


def _write_copy(path: Path, contents: Mapping[str, bytes], folder: Path) -> Path:
    """Write the new contents into a folder, with links to the unchanged files next to them."""
    copy = folder / path.name
    if path.is_dir():
        copy.mkdir()
        folder, unchanged = copy, path.iterdir()
    else:
        unchanged = path.parent.glob(f"{escape(path.stem)}.*")
    for part in unchanged:
        if part.is_file() and part.name not in contents:
            (folder / part.name).symlink_to(part.resolve())
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return copy


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


def _describe(fact: tuple[object, ...]) -> str:
    """Name the relation or the concept that a fact is about."""
    if len(fact) == 2:
        parent, child = (end[0] if isinstance(end, tuple) else end for end in fact)
        return f"{child!r} under {parent!r}"
    return f"the names of {fact[1]!r}"
