"""Category paths: lines like `A > B > C`, bare, after an id, or in a table's `path` column.

Shopify writes `gid://… : A > B > C`, Google `123 - A > B > C` or the path alone. A category's
parent is its path without the last part. Without ids, the path itself is the id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.output import Copy, Insertions, Target, renamed
from taxoexpan.formats.tables.cells import placed_rows
from taxoexpan.formats.tables.table_file import Table, guess_delimiter, open_if_table, table_text
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy
from taxoexpan.taxonomy.ids import make_distinct

NAME = "paths"
ABOUT = "lines A > B > C, also after an id (`id : A > B`, `12 - A > B`), or a table's path column"

SUFFIXES = (".txt",)
NOT_INSERTED: tuple[str, ...] = ()

SEPARATOR = " > "
DEEPEST = 200
"""More parts than this in one path is a file read wrongly, not a category."""

_SPLIT = re.compile(r"\s*>\s*")
Further: TypeAlias = Callable[[tuple[str, ...]], list[tuple[int, str]]]
"""Which names come before which parts of a path."""

_UNHOLDABLE = re.compile(r"[>\n\r]")
_INSTEAD = {">": "›", "\n": " ", "\r": " "}
_GAPS = re.compile(r"\s+")
_ID_FORMS = {
    " : ": re.compile(r"(?P<id>\S+)(?P<gap>\s+: )(?P<path>.+)"),
    " - ": re.compile(r"(?P<id>\d+)(?P<gap> - )(?P<path>.+)"),
}


@dataclass(frozen=True, slots=True)
class Category:
    """One line: its number, its id (blank where the file has none), its path's parts."""

    line: int
    id: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class PathLines:
    """Plain lines, with an id before each path or without."""

    source: TextFile

    @property
    def has_ids(self) -> bool:
        """Whether ids stand before the paths."""
        return self.form is not None

    @property
    def form(self) -> re.Pattern[str] | None:
        """How ids are written: the same way on every line, or there are none."""
        lines = [line for _, line in self.lines()]
        forms = _ID_FORMS.values()
        return next((form for form in forms if all(map(form.fullmatch, lines))), None)

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are neither blank nor a comment."""
        for number, line in enumerate(self.source.lines, start=1):
            if line.strip() and not line.startswith("#"):
                yield number, line

    def categories(self) -> Iterator[Category]:
        """Every line as a category."""
        form = self.form
        for number, line in self.lines():
            match = form.fullmatch(line) if form else None
            id, path = (match["id"], match["path"]) if match else ("", line)
            yield Category(number, id, split_path(self.source, number, path))

    def lengthened(self, further: Further) -> Iterator[Insertion]:
        """What puts further parts into the paths."""
        form = self.form
        for number, line in self.lines():
            match = form.fullmatch(line) if form else None
            start = match.start("path") if match else 0
            told = further(split_path(self.source, number, line[start:]))
            begin = self.source.starts[number - 1] + start
            for offset, text in _put_between(line[start:], told):
                yield Insertion(begin + offset, text)

    def written(self, added: Sequence[tuple[str, str]]) -> list[str]:
        """A line for each (id, path), the paths aligned as they are in the file."""
        form = self.form
        if form is None:
            for _, path in added:
                if path.startswith("#"):
                    message = f"{path!r} would be read back as a comment; rename it"
                    raise FormatError(self.source.path, message)
            return [path for _, path in added]
        matches = [form.fullmatch(line) for _, line in self.lines()]
        mark = next(mark for mark, known in _ID_FORMS.items() if known is form)
        width = max(len(match["id"] + match["gap"]) for match in matches if match) - len(mark)
        aligned = any(match["gap"] != mark for match in matches if match)
        written = []
        for id, path in added:
            line = f"{id.ljust(width if aligned else 0)}{mark}{path}"
            match = form.fullmatch(line)
            if not match or (match["id"], match["path"]) != (id, path) or line.startswith("#"):
                message = f"the id {id!r} would not be read back from {line!r}"
                raise FormatError(self.source.path, f"{message}; give the new concept another")
            written.append(line)
        return written


@dataclass(frozen=True)
class PathTable:
    """A table with a `path` column, and perhaps an `id` column."""

    table: Table

    @property
    def has_ids(self) -> bool:
        """Whether there is a column for ids."""
        return self.table.has("id")

    def categories(self) -> Iterator[Category]:
        """Every row as a category."""
        for number, row in self.table.rows():
            parts = split_path(self.table.source, number, row["path"])
            yield Category(number, row["id"], parts)

    def lengthened(self, further: Further) -> Iterator[Insertion]:
        """The cells of paths into which further parts come."""
        place = self.table.columns["path"] or 0
        for number, (_, cells) in enumerate(placed_rows(self.table), start=2):
            path = cells[place].text
            told = further(split_path(self.table.source, number, path))
            for offset, text in reversed(_put_between(path, told)):
                path = path[:offset] + text + path[offset:]
            if told:
                yield cells[place].rewritten(self.table, path)

    def written(self, added: Sequence[tuple[str, str]]) -> list[str]:
        """A row for each (id, path)."""
        label = [path.rpartition(SEPARATOR)[2] for _, path in added]
        return self.table.written(
            [
                {"id": id, "path": path, "label": name}
                for (id, path), name in zip(added, label, strict=True)
            ]
        )


def can_read(source: TextFile) -> bool:
    """Whether there is a path column, or a good part of the first lines are paths."""
    table = open_if_table(source)
    if table is not None and table.has("path"):
        return True
    if table is not None and (table.has("child", "parent") or table.has("parents")):
        return False
    first = [line for _, (_, line) in zip(range(200), PathLines(source).lines(), strict=False)]
    return sum(SEPARATOR in line for line in first) * 4 >= len(first)


def read(source: TextFile) -> ParsedTaxonomy:
    """Every path is a concept, and so is every part of it that has no line of its own."""
    categories = list(_layout(source).categories())
    _refuse_repeated_path(source, categories)
    draft = TaxonomyBuilder(source.path)
    ids = {c.parts: c.id or SEPARATOR.join(c.parts) for c in categories}
    lines: list[int] = []
    relation_lines: list[int] = []
    for category in categories:
        for parts in _with_missing_parents(category, ids, draft.notes):
            draft.ids.append(ids[parts])
            draft.labels.append(parts[-1])
            lines.append(category.line)
            if len(parts) > 1:
                draft.parents.append(ids[parts[:-1]])
                draft.children.append(ids[parts])
                relation_lines.append(category.line)
    draft.lines, draft.relation_lines = lines, relation_lines
    return draft.finish()


def extend(source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """A line for each new concept, after the pattern of the lines that are there.

    What comes between a category and its parent is put into all paths that lead through both.
    """
    for concept in additions.concepts:
        _refuse_unholdable(source, expanded, concept.id)
    added = [(c.id, SEPARATOR.join(expanded.path(c.id))) for c in additions.concepts]
    layout = _layout(source)
    moved = _moved(layout, expanded, additions.moves)
    return {source.path: [*moved, *source.append(layout.written(added))]}


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """Lines anew, along first parents: bare ones where a path is its own id, else after the id.

    A name of a table gets a table with the columns `id` and `path`.
    """
    path = target.path
    lines = {id: SEPARATOR.join(parts) for id, parts in _written_paths(taxonomy, path).items()}
    if guess_delimiter(path, "") == "\t" or path.suffix.lower() == ".csv":
        ids = renamed(taxonomy, str.strip)
        rows = [(ids[id], line) for id, line in lines.items()]
        return Copy({path: table_text(path, ("id", "path"), rows)}, ids)
    bare = "".join(f"{line}\n" for line in lines.values())
    if all(id == line for id, line in lines.items()) and _bare(path, bare):
        return Copy({path: _as_lines(path, bare)})
    ids = renamed(taxonomy, lambda id: _GAPS.sub("_", id.strip().lstrip("#")))
    text = "".join(f"{ids[id]} : {line}\n" for id, line in lines.items())
    return Copy({path: _as_lines(path, text)}, ids)


def supported_fields(source: TextFile) -> frozenset[str]:
    """A name and its path, with an id where the file has them."""
    return frozenset({"labels", "ids"} if _layout(source).has_ids else {"labels"})


def supported_changes(source: TextFile) -> frozenset[str]:
    """Moves where every category has an id; where its path is the id, that would become another."""
    categories = list(_layout(source).categories())
    own = {(), *(category.parts for category in categories if category.id)}
    named = all(c.parts in own and c.parts[:-1] in own for c in categories)
    return frozenset({"moves"} if named else ())


def split_path(source: TextFile, number: int, path: str) -> tuple[str, ...]:
    """The parts of a path, none of them blank."""
    parts = tuple(_SPLIT.split(path.strip()))
    if not all(parts):
        message = f"a blank part in the path {path.strip()!r}; name it, or take the '>' out"
        raise FormatError(source.path, message, number)
    if len(parts) > DEEPEST:
        message = f"a path of {len(parts)} parts, and {DEEPEST} is the most; is this a path file?"
        raise FormatError(source.path, message, number)
    return parts


def _bare(path: Path, text: str) -> bool:
    """Whether lines without ids would be read back as such."""
    layout = PathLines(TextFile(path, text))
    return layout.form is None and not text.startswith("#") and "\n#" not in text


def _as_lines(path: Path, text: str) -> str:
    """The text, after a comment where the first line would be read as a header or lose a mark."""
    table = isinstance(_layout(TextFile(path, text)), PathTable)
    return f"# categories\n{text}" if table or text.startswith("\ufeff") else text


def _written_paths(taxonomy: Taxonomy, path: Path) -> dict[str, tuple[str, ...]]:
    """A path for every concept, no two alike; what cannot stand in a part is replaced."""
    labels = [_UNHOLDABLE.sub(lambda found: _INSTEAD[found[0]], label) for label in taxonomy.labels]
    labels = [label.strip() or "concept" for label in labels]
    first = [
        int(taxonomy.parents_of.of(i)[0]) if d else -1
        for i, d in enumerate(taxonomy.parents_of.degrees.tolist())
    ]
    siblings: dict[int, list[int]] = {}
    for index, above in enumerate(first):
        siblings.setdefault(above, []).append(index)
    names: dict[int, str] = {}
    for group in siblings.values():
        names.update(zip(group, make_distinct([labels[index] for index in group]), strict=True))
    parts: dict[int, tuple[str, ...]] = {}
    for index in taxonomy.topological_order.tolist():
        parts[index] = (*parts.get(first[index], ()), names[index])
        if len(parts[index]) > DEEPEST:
            message = f"the path of {taxonomy.ids[index]!r} would have more than {DEEPEST} parts"
            raise FormatError(path, f"{message}; choose another format")
    return {id: parts[index] for index, id in enumerate(taxonomy.ids)}


def _moved(
    layout: PathLines | PathTable, expanded: Taxonomy, moves: Sequence[Move]
) -> Iterator[Insertion]:
    """New names in the paths of those that move, and of all below them."""
    if not moves:
        return iter(())
    labels = {(s.old_parent, s.child): expanded.concept(s.new_parent).label for s in moves}
    ids = {category.parts: category.id for category in layout.categories()}

    def further(parts: tuple[str, ...]) -> list[tuple[int, str]]:
        known = [ids.get(parts[:depth], "") for depth in range(1, len(parts) + 1)]
        steps = enumerate(pairwise(known), start=1)
        return [(place, labels[step]) for place, step in steps if step in labels]

    return layout.lengthened(further)


def _put_between(path: str, further: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The offsets in a path at which further parts go in, and their text."""
    starts = [found.end() for found in _SPLIT.finditer(path)]
    return [(starts[place - 1], name + SEPARATOR) for place, name in further]


def _layout(source: TextFile) -> PathLines | PathTable:
    table = open_if_table(source)
    return PathTable(table) if table is not None and table.has("path") else PathLines(source)


def _with_missing_parents(
    category: Category, ids: dict[tuple[str, ...], str], notes: list[Note]
) -> list[tuple[str, ...]]:
    """The category, after those above it that no line names; these get their path as id."""
    missing = [
        category.parts[:depth]
        for depth in range(1, len(category.parts))
        if category.parts[:depth] not in ids
    ]
    for parts in missing:
        ids[parts] = SEPARATOR.join(parts)
        message = f"{ids[parts]!r} has no line of its own; it is taken as a category too"
        notes.append(Note(category.line, message))
    return [*missing, category.parts]


def _refuse_repeated_path(source: TextFile, categories: list[Category]) -> None:
    seen: dict[tuple[str, ...], int] = {}
    for category in categories:
        first = seen.setdefault(category.parts, category.line)
        if first != category.line:
            path = SEPARATOR.join(category.parts)
            message = f"the path {path!r} is already on line {first}; remove one"
            raise FormatError(source.path, message, category.line)


def _refuse_unholdable(source: TextFile, expanded: Taxonomy, id: str) -> None:
    """A category has one parent, a name that reads back, and no sibling of the same name."""
    label, parents, path = expanded.concept(id).label, expanded.parents(id), expanded.path(id)
    if len(parents) > 1:
        message = f"a path has one parent, and {label!r} was given {len(parents)}; choose one"
        raise FormatError(source.path, message)
    if len(path) > DEEPEST:
        message = f"the path of {label!r} would have {len(path)} parts, and {DEEPEST} is the most"
        raise FormatError(source.path, f"{message}; choose a parent further up")
    if not label or label != label.strip() or _UNHOLDABLE.search(label):
        message = f"{label!r} would not be read back as one category; rename it"
        raise FormatError(source.path, message)
    siblings = expanded.children(parents[0]) if parents else expanded.roots
    if any(other != id and expanded.concept(other).label == label for other in siblings):
        message = f"the path {SEPARATOR.join(path)!r} would be there twice; rename the term"
        raise FormatError(source.path, message)
