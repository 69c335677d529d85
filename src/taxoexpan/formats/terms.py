"""`.terms` and `.taxo`: the paper's pair of files, `id⇥name` beside `parent id⇥child id`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.output import Copy, Insertions, Target, renamed
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy

NAME = "terms"
ABOUT = "NAME.terms (id⇥name) beside NAME.taxo (parent id⇥child id)"


SUFFIXES = (".terms", ".taxo")
NOT_INSERTED: tuple[str, ...] = ()

_BREAKS = re.compile(r"[\t\n\r]+")
_BYTE_ORDER_MARK = re.compile(r"^[\s\ufeff]+")


def can_read(source: TextFile) -> bool:
    """Whether the name says so; the content of a `.terms` file could be any table."""
    return source.path.suffix in SUFFIXES


def read(source: TextFile) -> ParsedTaxonomy:
    """Read both files, given either."""
    terms, taxo = files(source.path)
    draft = TaxonomyBuilder(terms, relation_path=taxo)
    draft.ids, draft.labels, draft.lines = _columns(source.sibling(terms), "id<TAB>name")
    columns = _columns(_relations(source, taxo), "parent id<TAB>child id")
    draft.parents, draft.children, draft.relation_lines = columns
    if not taxo.exists():
        draft.notes.append(Note(1, f"there is no {taxo.name} beside it, and so no relation"))
    return draft.finish()


def extend(source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """The lines to append to each of the two files; where a child moves, its line changes."""
    terms, taxo = files(source.path)
    names = [f"{_cell(terms, c.id)}\t{_cell(terms, c.label)}" for c in additions.concepts]
    pairs = [f"{parent}\t{child}" for parent, child in additions.relations]
    relations = _relations(source, taxo)
    return {
        terms: source.sibling(terms).append(names),
        taxo: [*_moved(relations, additions.moves), *relations.append(pairs)],
    }


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """Both files anew; a tab or a line break becomes a space."""
    terms, taxo = files(target.path)
    ids = renamed(taxonomy, lambda id: _BYTE_ORDER_MARK.sub("", _one_line(id)))
    names = [
        f"{ids[id]}\t{_one_line(label) or ids[id]}\n"
        for id, label in zip(taxonomy.ids, taxonomy.labels, strict=True)
    ]
    pairs = [f"{ids[parent]}\t{ids[child]}\n" for parent, child in taxonomy.relations]
    return Copy({terms: "".join(names), taxo: "".join(pairs)}, ids)


def supported_fields(source: TextFile) -> frozenset[str]:
    """Names have ids here, and nothing else."""
    return frozenset({"ids", "labels"})


def supported_changes(source: TextFile) -> frozenset[str]:
    """A relation is a line of its own."""
    return frozenset({"moves"})


def files(path: Path) -> tuple[Path, Path]:
    """The two files that `path`, either of them, stands for."""
    return path.with_suffix(".terms"), path.with_suffix(".taxo")


def _relations(file: TextFile, taxo: Path) -> TextFile:
    """The file of relations; a taxonomy without relations may have none."""
    return file.sibling(taxo, may_be_blank=True, may_be_missing=True)


def _moved(source: TextFile, moves: Sequence[Move]) -> Iterator[Insertion]:
    """The new parent's id in every line of a relation that gives way."""
    joined = {(shift.old_parent, shift.child): shift.new_parent for shift in moves}
    rows = zip(*_columns(source, "parent id<TAB>child id"), strict=True) if joined else ()
    for parent, child, number in rows:
        if (parent, child) in joined:
            gap = source.lines[number - 1].index(parent)
            offset = source.starts[number - 1] + gap
            yield Insertion(offset, joined[parent, child], parent)


def _columns(source: TextFile, shape: str) -> tuple[list[str], list[str], Sequence[int]]:
    """Both columns of a file and the line of each row; blank lines are passed over."""
    lines: Sequence[int] = range(1, len(source.lines) + 1)
    if not all(map(str.strip, source.lines)):
        lines = [number for number in lines if source.lines[number - 1].strip()]
    rows = [source.lines[number - 1].split("\t") for number in lines]
    for number, row in zip(lines, rows, strict=True):
        if len(row) != 2 or not row[0].strip() or not row[1].strip():
            message = f"{len(row)} cells where {shape} was expected, neither of them blank"
            raise FormatError(source.path, message, number)
    return [row[0].strip() for row in rows], [row[1].strip() for row in rows], lines


def _cell(path: Path, text: str) -> str:
    if any(mark in text for mark in "\t\n\r"):
        message = f"{text!r} has a tab or a line break, which this format cannot hold; take it out"
        raise FormatError(path, message)
    return text


def _one_line(text: str) -> str:
    return _BREAKS.sub(" ", text).strip()
