"""Pairs of files as in the paper: `.terms` with `id⇥name`, `.taxo` with `parent id⇥child id`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats import compression
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target, clean_ids
from taxoexpan.formats.git_version import exists
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy

_SUFFIXES = (".terms", ".taxo")
_BREAKS = re.compile(r"[\t\n\r]+")
_BYTE_ORDER_MARK = re.compile(r"^[\s\ufeff]+")


class TermsFormat(Format):
    """Pairs of files, one with the names and one with the relations."""

    fields = frozenset({"ids", "labels"})
    changes = frozenset({"moves"})

    def can_read(self, file: TextFile) -> bool:
        """Whether the file name has one of the suffixes; the content could be any table."""
        return file.suffix in _SUFFIXES

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read both files, given either of them."""
        terms, taxo = files(file.path)
        builder = TaxonomyBuilder(terms, relation_path=taxo)
        builder.ids, builder.labels, builder.lines = _columns(file.sibling(terms), "id<TAB>name")
        columns = _columns(_relations(file, taxo), "parent id<TAB>child id")
        builder.parents, builder.children, builder.relation_lines = columns
        if not exists(taxo):
            builder.notes.append(
                Note(1, f"there is no {taxo.name} next to it, so there are no relations")
            )
        return builder.finish()

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append lines to both files; moves replace the parent in the line of the relation."""
        terms, taxo = files(file.path)
        names = [f"{_cell(terms, c.id)}\t{_cell(terms, c.label)}" for c in additions.concepts]
        pairs = [f"{parent}\t{child}" for parent, child in additions.relations]
        relations = _relations(file, taxo)
        return {
            terms: file.sibling(terms).append(names),
            taxo: [*_apply_moves(relations, additions.moves), *relations.append(pairs)],
        }

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write both files; a tab or a line break becomes a space."""
        terms, taxo = files(target.path)
        ids = clean_ids(taxonomy, lambda id: _BYTE_ORDER_MARK.sub("", _one_line(id)))
        names = [
            f"{ids[id]}\t{_one_line(label) or ids[id]}\n"
            for id, label in zip(taxonomy.ids, taxonomy.labels, strict=True)
        ]
        pairs = [f"{ids[parent]}\t{ids[child]}\n" for parent, child in taxonomy.relations]
        return Copy({terms: "".join(names), taxo: "".join(pairs)}, ids)


def files(path: Path) -> tuple[Path, Path]:
    """The paths of both files, given either of them; both are compressed, or none."""
    end = path.suffix if path.suffix.lower() == compression.SUFFIX else ""
    stem = path.with_suffix("") if end else path
    terms, taxo = (stem.with_suffix(suffix) for suffix in _SUFFIXES)
    return terms.with_name(terms.name + end), taxo.with_name(taxo.name + end)


def _relations(file: TextFile, taxo: Path) -> TextFile:
    """The file of relations; a taxonomy without relations may have none."""
    return file.sibling(taxo, may_be_blank=True, may_be_missing=True)


def _apply_moves(file: TextFile, moves: Sequence[Move]) -> Iterator[Insertion]:
    """Replace the parent in the lines of moved relations."""
    new_parents = {(move.old_parent, move.child): move.new_parent for move in moves}
    rows = zip(*_columns(file, "parent id<TAB>child id"), strict=True) if new_parents else ()
    for parent, child, number in rows:
        if (parent, child) in new_parents:
            offset = file.starts[number - 1] + file.lines[number - 1].index(parent)
            yield Insertion(offset, new_parents[parent, child], parent)


def _columns(file: TextFile, shape: str) -> tuple[list[str], list[str], Sequence[int]]:
    """Both columns of a file, and the line of each row; blank lines are skipped."""
    lines: Sequence[int] = range(1, len(file.lines) + 1)
    if not all(map(str.strip, file.lines)):
        lines = [number for number in lines if file.lines[number - 1].strip()]
    rows = [file.lines[number - 1].split("\t") for number in lines]
    for number, row in zip(lines, rows, strict=True):
        if len(row) != 2 or not row[0].strip() or not row[1].strip():
            message = f"{len(row)} cells; the line must be {shape}, without empty cells"
            raise FormatError(file.path, message, number)
    return [row[0].strip() for row in rows], [row[1].strip() for row in rows], lines


def _cell(path: Path, text: str) -> str:
    if any(mark in text for mark in "\t\n\r"):
        message = (
            f"{text!r} contains a tab or a line break; remove it, as this format cannot store it"
        )
        raise FormatError(path, message)
    return text


def _one_line(text: str) -> str:
    return _BREAKS.sub(" ", text).strip()
