"""The layouts of category paths: plain lines, and tables with a `path` or with level columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note
from taxoexpan.formats.tables.column_notes import column_notes, label_notes
from taxoexpan.formats.tables.table import Row, Table
from taxoexpan.formats.text_file import Insertion, TextFile

MARKER = "# category paths\n"
"""The first line of a new file; whatever the labels are, the file is recognized by it."""

SEPARATOR = " > "
MAX_DEPTH = 200
"""A path with more parts is probably a file in another format, not a category."""

OTHER_SIGNS = ("»", "›", "→", "::", "|", "/", "\\")
"""Signs that may separate the labels in a table, if no path has a `>`."""

MIN_FRACTION = 0.25
"""The fraction of the paths that must have a sign, so that it may be the separator."""

MIN_REFUSED = 3
"""If fewer paths have a sign that is not the separator, it is part of their labels."""

MIN_SHARED = 0.5
"""The fraction of these paths whose parent is a path too, or is also the parent of another one."""

_ID_PATTERNS = {
    " : ": re.compile(r"(?P<id>\S+)(?P<gap>\s+: )(?P<path>.+)"),
    " - ": re.compile(r"(?P<id>\d+)(?P<gap> - )(?P<path>.+)"),
}

PATH_COLUMNS = ("id", "label", "path", "definition", "synonyms", "deprecated")
"""The columns that are read next to level columns."""

_MIN_SHARE = 0.9
"""The share of rows that must follow a style, so that new rows follow it too."""

Parts: TypeAlias = tuple[str, ...]
InsertedParts: TypeAlias = Callable[[Parts], list[tuple[int, str]]]
"""Maps the parts of a path to new parts, each with the index of the part that follows it."""


@dataclass(frozen=True, slots=True)
class Category:
    """A category with its line (0 if new), its id ("" without ids) and the parts of its path.

    Only tables have the other texts.
    """

    line: int
    id: str
    parts: Parts
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    deprecated: bool = False


@dataclass(frozen=True, slots=True)
class PathSeparator:
    """The separator of the labels in a path, with the blanks around it.

    With `brackets`, a path is written `[a,b,c]`.
    """

    text: str = SEPARATOR
    brackets: bool = False

    @property
    def sign(self) -> str:
        """The separator without blanks."""
        return self.text.strip() or self.text

    def join(self, parts: Parts) -> str:
        """Return the path with these parts."""
        path = self.text.join(parts)
        return f"[{path}]" if self.brackets else path

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of the separator, with or without blanks."""
        return re.compile(rf"\s*{re.escape(self.sign)}\s*")

    def split(self, source: Path, line: int, path: str) -> Parts:
        """Return the parts of a path, which must not be empty."""
        bare = path.strip()
        if self.brackets and bare.startswith("[") and bare.endswith("]"):
            bare = bare[1:-1].strip()
        parts = tuple(self.pattern.split(bare))
        if not all(parts):
            message = f"the path {path.strip()!r} has an empty part"
            raise FormatError(
                source, message, fix=f"name it, or remove the {self.sign!r}", line=line
            )
        if len(parts) > MAX_DEPTH:
            message = f"a path with {len(parts)} parts, but at most {MAX_DEPTH} are allowed"
            raise FormatError(source, message, fix="check that this is a file of paths", line=line)
        return parts

    def offsets(self, path: str, parts: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        """Return the offset in the path and the inserted string for each new part."""
        starts = [match.end() for match in self.pattern.finditer(path)]
        return [(starts[index - 1], name + self.text) for index, name in parts]


DEFAULT_SEPARATOR = PathSeparator()


def find_separator(source: Path, cells: Sequence[tuple[int, str]]) -> PathSeparator:
    """Return the separator of the numbered paths, or refuse a sign with an unclear role."""
    paths = [path for _, path in cells]
    if paths and all(path.startswith("[") and path.endswith("]") for path in paths):
        return PathSeparator(", " if any(", " in path for path in paths) else ",", brackets=True)
    if any(DEFAULT_SEPARATOR.sign in path for path in paths):
        return DEFAULT_SEPARATOR
    for sign in OTHER_SIGNS:
        having = [path for path in paths if sign in path]
        if not having or len(having) < MIN_FRACTION * len(paths):
            continue
        spaced = sum(f" {sign} " in path for path in having) * 2 > len(having)
        separator = PathSeparator(f" {sign} " if spaced else sign)
        if _is_consistent(separator, paths):
            return separator
        if len(having) < max(MIN_REFUSED, MIN_SHARED * len(paths)):
            continue
        line = next(line for line, path in cells if sign in path)
        message = f"the paths have no '>', and it is not clear whether {sign!r} separates labels"
        fix = "write ' > ' between the labels of a path, or give the text between them"
        raise FormatError(source, message, fix=fix, line=line, option="separator")
    return DEFAULT_SEPARATOR


def _is_consistent(separator: PathSeparator, paths: Sequence[str]) -> bool:
    """Return whether most paths continue another path or share a parent with another path."""
    split = [tuple(separator.pattern.split(path.strip())) for path in paths]
    above = Counter(parts[:-1] for parts in split if len(parts) > 1)
    known = set(split)
    shared = sum(uses for parent, uses in above.items() if uses > 1 or parent in known)
    return all(map(all, split)) and shared >= MIN_SHARED * above.total()


@dataclass(frozen=True)
class PathLines:
    """Plain lines with paths; either all lines or no lines start with an id."""

    file: TextFile

    @property
    def has_ids(self) -> bool:
        """Whether the lines have ids before the paths."""
        return self.id_pattern is not None

    @cached_property
    def id_pattern(self) -> re.Pattern[str] | None:
        """The pattern of lines with ids if all lines match it, or else None."""
        lines = [line for _, line in self.lines()]
        patterns = _ID_PATTERNS.values()
        return next((pattern for pattern in patterns if all(map(pattern.fullmatch, lines))), None)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are neither blank nor comments."""
        for number, line in enumerate(self.file.lines, start=1):
            if line.strip() and not line.startswith("#"):
                yield number, line

    def categories(self) -> Iterator[Category]:
        """Yield one category per line."""
        for category, _ in self._with_offsets():
            yield category

    def _with_offsets(self) -> Iterator[tuple[Category, int]]:
        """Yield every category with the offset of its path in its line."""
        for number, line in self.lines():
            match = self.id_pattern.fullmatch(line) if self.id_pattern else None
            id, start = (match["id"], match.start("path")) if match else ("", 0)
            parts = DEFAULT_SEPARATOR.split(self.file.path, number, line[start:])
            yield Category(number, id, parts), start

    def insert_parts(self, inserted: InsertedParts) -> Iterator[Insertion]:
        """Yield the insertions of new parts into existing paths."""
        for category, start in self._with_offsets():
            path = self.file.lines[category.line - 1][start:]
            begin = self.file.starts[category.line - 1] + start
            for offset, text in DEFAULT_SEPARATOR.offsets(path, inserted(category.parts)):
                yield Insertion(begin + offset, text)

    def insert_new(self, added: Sequence[Category]) -> list[Insertion]:
        """Append one line per new category, with paths aligned as in the file."""
        known = self.id_pattern
        matches = [m for _, line in self.lines() if known and (m := known.fullmatch(line))]
        gap = next((gap for gap, pattern in _ID_PATTERNS.items() if pattern is known), "")
        width = 0
        if any(match["gap"] != gap for match in matches):
            width = max(match.start("path") for match in matches) - len(gap)
        lines = []
        for new in added:
            path = SEPARATOR.join(new.parts)
            line = f"{new.id.ljust(width)}{gap}{path}" if known else path
            match = known.fullmatch(line) if known else None
            is_same = match is not None and (match["id"], match["path"]) == (new.id, path)
            if line.startswith("#") or (known and not is_same):
                message = f"{line!r} would not be read back as {new.parts[-1]!r}"
                raise FormatError(self.file.path, message, fix="give it another id or label")
            lines.append(line)
        return self.file.append(lines)


class LevelStyle(Enum):
    """The labels in a row: all labels of the path, or only the last label."""

    FULL = "full"
    LAST = "last"


def level_texts(table: Table, row: Row) -> list[str]:
    """Return the cells of the level columns."""
    return [row[name] for name in table.columns.levels]


def style_of(table: Table, paths: Iterable[Sequence[str]]) -> LevelStyle | None:
    """Return the style of the level columns in most rows, given the path of each row."""
    matches: Counter[LevelStyle] = Counter()
    for row, path in zip(table.rows, paths, strict=True):
        cells = level_texts(table, row)
        matches.update(s for s in LevelStyle if cells == cells_for(path, s, len(cells)))
    best = max(LevelStyle, key=lambda style: matches[style])
    return best if matches[best] >= max(1, _MIN_SHARE * len(table.rows)) else None


def cells_for(path: Sequence[str], style: LevelStyle, count: int) -> list[str]:
    """Return the level cells of a path, without labels below the last column."""
    labels = list(path[:count])
    if style is LevelStyle.LAST:
        labels[:-1] = [""] * (len(labels) - 1)
    return labels + [""] * (count - len(labels))


@dataclass(frozen=True)
class PathTable:
    """A table with a `path` column and an optional `id` column."""

    table: Table

    @cached_property
    def separator(self) -> PathSeparator:
        """The separator of the labels in the paths of this table."""
        if chosen := self.table.file.options.separator:
            return PathSeparator(chosen)
        cells = [(row.line, row["path"]) for row in self.table.rows]
        return find_separator(self.table.file.path, cells)

    @property
    def has_ids(self) -> bool:
        """Whether the table has an `id` column."""
        return self.table.has("id")

    @cached_property
    def paths(self) -> list[Parts]:
        """The path of every row."""
        source = self.table.file.path
        split = self.separator.split
        return [split(source, row.line, row["path"]) for row in self.table.rows]

    def categories(self) -> Iterator[Category]:
        """Yield one category per row."""
        separator = self.table.synonym_separator
        for row, parts in zip(self.table.rows, self.paths, strict=True):
            deprecated = self.table.is_deprecated(row)
            texts = row.many("synonyms", separator), row["definition"], deprecated
            yield Category(row.line, row["id"], parts, *texts)

    def notes(self) -> list[Note]:
        """Return notes about columns that are known, but not read."""
        has_path = self.table.has("path")
        levels = self.table.columns.levels
        levels = () if has_path and not self.style else levels
        basis = "the paths" if has_path else "the levels"
        notes = column_notes(self.table, basis, *PATH_COLUMNS, *levels)
        return [*notes, *label_notes(self.table, self.paths)]

    @cached_property
    def style(self) -> LevelStyle | None:
        """The style of the level columns, if there are any that agree with the paths."""
        return style_of(self.table, self.paths) if self.table.columns.levels else None

    def insert_parts(self, inserted: InsertedParts) -> Iterator[Insertion]:
        """Yield replacements for the path cells that get new parts."""
        edits: dict[int, dict[str, str]] = {}
        for number, (row, old) in enumerate(zip(self.table.rows, self.paths, strict=True)):
            path = row.cells[row.columns["path"]]
            parts = inserted(old)
            for offset, text in reversed(self.separator.offsets(path, parts)):
                path = path[:offset] + text + path[offset:]
            if parts:
                edits[number] = {"path": path}
        return self.table.replace_cells(edits)

    def insert_new(self, added: Sequence[Category]) -> list[Insertion]:
        """Append one row per new category."""
        rows = [
            self._cells(new, self.style) | {"path": self.separator.join(new.parts)} for new in added
        ]
        return self.table.file.append(self.table.new_lines(rows))

    def _cells(self, new: Category, style: LevelStyle | None) -> dict[str, str]:
        """Return the cells of a new category, except for its path."""
        levels = self.table.columns.levels if style else ()
        texts = {
            "id": new.id,
            "label": new.parts[-1],
            "definition": new.definition,
            "synonyms": self.table.synonym_separator.join(new.synonyms),
        }
        filled = cells_for(new.parts, style, len(levels)) if style else ()
        return texts | dict(zip(levels, filled, strict=True))


class LevelTable(PathTable):
    """A table of category paths in level columns, with an optional `id` column."""

    @cached_property
    def paths(self) -> list[Parts]:
        """The path of every row; empty cells on the left repeat the labels of the row above."""
        paths = list[Parts]()
        above = Parts()
        for row in self.table.rows:
            cells = level_texts(self.table, row)
            filled = [index for index, cell in enumerate(cells) if cell]
            if not filled:
                message = "all level columns of this row are empty"
                raise FormatError(
                    self.table.file.path, message, fix="fill one, or remove the row", line=row.line
                )
            first = filled[0]
            last = filled[-1]
            if len(filled) < last - first + 1 or first > len(above):
                start = min(first, len(above))
                empty = self.table.columns.levels[cells.index("", start)]
                name = self.table.header[self.table.columns.indices[empty]]
                message = f"the column {name!r} is empty between two levels"
                raise FormatError(self.table.file.path, message, fix="fill it", line=row.line)
            above = (*above[:first], *cells[first : last + 1])
            paths.append(above)
        return paths

    def insert_new(self, added: Sequence[Category]) -> list[Insertion]:
        """Add one row per new category, in the style of the table.

        A row with only its last label must follow its parent. Sheets can only grow at the end, so
        they get full paths.
        """
        file = self.table.file
        levels = self.table.columns.levels
        for parts in (new.parts for new in added if len(new.parts) > len(levels)):
            message = f"{parts[-1]!r} would be on level {len(parts)}, but the table has"
            fix = "add a level column, or choose a parent closer to a root"
            raise FormatError(file.path, f"{message} {len(levels)} levels", fix=fix)
        is_last = self.style is LevelStyle.LAST
        is_outline = is_last and not file.delimiter
        style = LevelStyle.LAST if is_outline else LevelStyle.FULL
        lines = self.table.new_lines([self._cells(new, style) for new in added])
        if not is_outline:
            return file.append(lines)
        return self._insert_below({new.parts: line for new, line in zip(added, lines, strict=True)})

    def _insert_below(self, lines: dict[Parts, str]) -> list[Insertion]:
        """Insert each line after the last row below its nearest existing ancestor."""
        last_rows = {
            parts[:depth]: row
            for row, parts in enumerate(self.paths)
            for depth in range(len(parts) + 1)
        }
        order = {parts: number for number, parts in enumerate(lines)}

        def place(parts: Parts) -> tuple[int, int, tuple[int, ...]]:
            depth = max(d for d in range(len(parts)) if parts[:d] in last_rows)
            # Two blocks may end at the same row; the rows of the inner one come first.
            steps = tuple(order[parts[:d]] for d in range(depth + 1, len(parts) + 1))
            return last_rows[parts[:depth]], -depth, steps

        below: dict[int, list[str]] = {}
        for parts in sorted(lines, key=place):
            below.setdefault(place(parts)[0], []).append(lines[parts])
        return list(self.table.insert_below(below))
