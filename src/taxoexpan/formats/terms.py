"""Pairs of files as in the paper: `.terms` with `id⇥name`, `.taxo` with `parent id⇥child id`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.files import STANDARD_STREAM
from taxoexpan.formats import compression
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target, clean_ids
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy

_BREAKS = re.compile(r"[\t\n\r]+")
_BYTE_ORDER_MARK = re.compile(r"^[\s\ufeff]+")


class TermsFormat(Format):
    """Pairs of files: one file with the names and one file with the relations."""

    fields = frozenset({"ids", "labels"})
    changes = frozenset({"moves"})

    def can_read(self, file: TextFile) -> bool:
        """Return whether the file has one of the suffixes; the content could be any table."""
        return file.suffix in self.suffixes

    def parts(self, path: Path) -> list[Path]:
        """Return the paths of both files from either name; both are compressed, or neither."""
        if path == STANDARD_STREAM:
            message = "a file of terms and a file of relations do not fit into one stream"
            raise FormatError(path, message, fix="give the name of a file")
        end = path.suffix if path.suffix.lower() == compression.SUFFIX else ""
        stem = path.with_suffix("") if end else path
        stem = stem.with_suffix("") if stem.suffix.lower() in self.suffixes else stem
        return [stem.with_name(stem.name + suffix + end) for suffix in self.suffixes]

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read both files, given either of them."""
        terms, taxo = self.parts(file.path)
        builder = TaxonomyBuilder(terms, relation_path=taxo)
        builder.ids, builder.labels, builder.lines = _columns(file.sibling(terms), "id<TAB>name")
        columns = _columns(file.sibling(taxo, optional=True), "parent id<TAB>child id")
        builder.parents, builder.children, builder.relation_lines = columns
        if not file.has(taxo):
            builder.note(1, f"there is no {taxo.name} next to it, so there are no relations")
        return builder.finish()

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append lines to both files; moves replace the parent in the line of the relation."""
        terms, taxo = self.parts(file.path)
        for text in (text for c in additions.concepts for text in (c.id, c.label)):
            if _BREAKS.search(text):
                message = f"{text!r} contains a tab or a line break, which this format cannot store"
                raise FormatError(terms, message, fix="remove it")
        names = [f"{concept.id}\t{concept.label}" for concept in additions.concepts]
        pairs = [f"{parent}\t{child}" for parent, child in additions.relations]
        relations = file.sibling(taxo, optional=True)
        return {
            terms: file.sibling(terms).append(names),
            taxo: [*_apply_moves(relations, additions.moves), *relations.append(pairs)],
        }

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write both files; a tab or a line break becomes a space."""
        terms, taxo = self.parts(target.path)
        ids = clean_ids(taxonomy, lambda id: _BYTE_ORDER_MARK.sub("", _one_line(id)))
        names = [
            f"{ids[id]}\t{_one_line(label) or ids[id]}\n"
            for id, label in zip(taxonomy.ids, taxonomy.labels, strict=True)
        ]
        pairs = [f"{ids[parent]}\t{ids[child]}\n" for parent, child in taxonomy.relations]
        return Copy({terms: "".join(names), taxo: "".join(pairs)}, ids)


def _apply_moves(file: TextFile, moves: Sequence[Move]) -> Iterator[Insertion]:
    """Replace the parent in the lines of moved relations."""
    new_parents = {(move.old_parent, move.child): move.new_parent for move in moves}
    rows = zip(*_columns(file, "parent id<TAB>child id"), strict=True) if new_parents else ()
    for parent, child, number in rows:
        if (parent, child) in new_parents:
            offset = file.starts[number - 1] + file.lines[number - 1].index(parent)
            yield Insertion(offset, new_parents[parent, child], parent)


def _columns(file: TextFile, shape: str) -> tuple[list[str], list[str], list[int]]:
    """Return both columns of a file and the line of each row, without blank lines."""
    ids = list[str]()
    others = list[str]()
    lines = list[int]()
    for number, line in enumerate(file.lines, start=1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not cells[0].strip() or not cells[1].strip():
            message = f"{len(cells)} cells"
            raise FormatError(
                file.path,
                message,
                fix=f"the line must be {shape}, without empty cells",
                line=number,
            )
        ids.append(cells[0].strip())
        others.append(cells[1].strip())
        lines.append(number)
    return ids, others, lines


def _one_line(text: str) -> str:
    return _BREAKS.sub(" ", text).strip()
