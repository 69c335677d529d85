"""Category paths: lines like `A > B > C`, also after an id, or in a table's `path` column.

Shopify writes `gid://… : A > B > C`, Google `123 - A > B > C`. Without ids, the path is the id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target, clean_ids
from taxoexpan.formats.tables.columns import FIELD_COLUMNS
from taxoexpan.formats.tables.path_layouts import (
    DEFAULT_SEPARATOR,
    MARKER,
    MAX_DEPTH,
    PATH_COLUMNS,
    SEPARATOR,
    Category,
    LevelTable,
    Parts,
    PathLines,
    PathTable,
    find_separator,
)
from taxoexpan.formats.tables.table import is_table, open_if_table, table_text
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy
from taxoexpan.taxonomy.ids import make_distinct

SAMPLE_SIZE = 200
"""The number of lines that format detection looks at."""

_NOT_IN_LABELS = re.compile(r"[>\n\r]")
_REPLACEMENTS = {">": "›", "\n": " ", "\r": " "}
_SPACES = re.compile(r"\s+")
_BULLET = re.compile(r"(?:[-*+]|\d+[.)])\s")


class PathsFormat(Format):
    """Paths from a root to each category, as lines or in the cells of a table."""

    is_table = True

    def can_read(self, file: TextFile) -> bool:
        """Return whether there are path columns, or a quarter of the first lines are paths."""
        if file.text.startswith(MARKER):
            return True
        table = open_if_table(file)
        if table is not None and table.columns.has_relations:
            states_parents = table.has("child", "parent") or table.columns.has_parents
            return table.has("path") or (bool(table.columns.levels) and not states_parents)
        # The cells of a table must not be read as lines of paths.
        if table is not None and is_table(file) and table.has_equal_rows:
            return False
        first = [line for _, line in islice(PathLines(file).lines(), SAMPLE_SIZE)]
        return sum(SEPARATOR in line for line in first) * 4 >= max(1, len(first))

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read every path as a concept, and also ancestors without their own line."""
        layout = file.parsed(_layout)
        categories = file.parsed(_categories)
        if isinstance(layout, PathLines) and not file.text.startswith(MARKER):
            _refuse_outline(layout, categories)
        may_repeat = not isinstance(layout, LevelTable)
        builder = TaxonomyBuilder(file.path)
        ids = path_ids(file, categories, may_repeat)
        # Tables of levels often list only leaves.
        notes_ancestors = not isinstance(layout, LevelTable) or layout.has_ids
        for category in categories:
            if category.id:
                ids[category.parts] = category.id  # children follow the last one with this path
            for depth in range(1, len(category.parts) + 1):
                parts = category.parts[:depth]
                if parts not in ids:
                    ids[parts] = SEPARATOR.join(parts)
                    message = f"{ids[parts]!r} has no line of its own; it is added as a category"
                    if notes_ancestors:
                        builder.note(category.line, message)
                elif depth < len(category.parts):
                    continue
                is_own = depth == len(category.parts)
                texts = (category.synonyms, category.definition, category.deprecated)
                builder.add(ids[parts], parts[-1], category.line, *(texts if is_own else ()))
                if depth > 1:
                    builder.relate(ids[parts[:-1]], ids[parts], category.line)
        if not isinstance(layout, PathLines):
            builder.notes += layout.notes()
            known = (*PATH_COLUMNS, *layout.table.columns.levels)
            builder.ignored.update(layout.table.other_columns(*known))
        return builder.finish()

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append one line per new concept, and insert its label into paths of moved concepts."""
        for concept in additions.concepts:
            refuse_unsupported(file, expanded, concept.id, _NOT_IN_LABELS)
        added = [
            Category(0, c.id, tuple(expanded.path(c.id)), c.synonyms, c.definition)
            for c in additions.concepts
        ]
        moved = _apply_moves(file, expanded, additions.moves) if additions.moves else ()
        return {file.path: [*moved, *file.parsed(_layout).insert_new(added)]}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write one path per concept along first parents, after the id unless both are equal."""
        path = target.path
        lines = {id: SEPARATOR.join(parts) for id, parts in written_paths(taxonomy, path).items()}
        if is_table(TextFile(path, "")):
            _refuse_other_separator(path, list(lines.values()))
            ids = clean_ids(taxonomy, str.strip)
            rows = [(ids[id], line) for id, line in lines.items()]
            return Copy({path: table_text(path, ("id", "path"), rows)}, ids)
        bare = "".join(f"{line}\n" for line in lines.values())
        has_comments = bare.startswith("#") or "\n#" in bare
        is_plain = not has_comments and not PathLines(TextFile(path, bare)).has_ids
        if is_plain and all(id == line for id, line in lines.items()):
            return Copy({path: MARKER + bare})
        ids = clean_ids(taxonomy, lambda id: _SPACES.sub("_", id.strip().lstrip("#")))
        text = "".join(f"{ids[id]} : {line}\n" for id, line in lines.items())
        return Copy({path: MARKER + text}, ids)

    def supported_fields(self, file: TextFile) -> frozenset[str]:
        """Return labels, and the other fields for which the file has a place."""
        layout = file.parsed(_layout)
        if isinstance(layout, PathLines):
            return frozenset({"labels", "ids"} if layout.has_ids else {"labels"})
        fields = {name for name, column in FIELD_COLUMNS.items() if layout.table.has(column)}
        return frozenset({"labels"} | fields)

    def supported_changes(self, file: TextFile) -> frozenset[str]:
        """Return moves if every category has an id, because a move changes paths that are ids."""
        if isinstance(file.parsed(_layout), LevelTable):
            return frozenset()
        categories = file.parsed(_categories)
        with_id = {(), *(category.parts for category in categories if category.id)}
        all_ids = all(c.parts in with_id and c.parts[:-1] in with_id for c in categories)
        is_distinct = len({category.parts for category in categories}) == len(categories)
        return frozenset({"moves"} if all_ids and is_distinct else ())


def _layout(file: TextFile) -> PathLines | PathTable:
    """Return the layout of a file with category paths."""
    table = None if file.text.startswith(MARKER) else open_if_table(file)
    if table is None or not (table.has("path") or table.columns.levels):
        return PathLines(file)
    return PathTable(table) if table.has("path") else LevelTable(table)


def _categories(file: TextFile) -> list[Category]:
    return list(file.parsed(_layout).categories())


def written_paths(
    taxonomy: Taxonomy, path: Path, replacements: Mapping[str, str] = _REPLACEMENTS
) -> dict[str, tuple[str, ...]]:
    """Return a distinct path per concept; characters that labels cannot contain are replaced."""
    table = str.maketrans(dict(replacements))
    parents = {id: next(iter(taxonomy.parents(id)), None) for id in taxonomy}
    siblings: dict[str | None, dict[str, str]] = {}
    for id, label in zip(taxonomy.ids, taxonomy.labels, strict=True):
        name = label.translate(table).strip()
        siblings.setdefault(parents[id], {})[id] = name or "concept"
    names: dict[str, str] = {}
    for group in siblings.values():
        names.update(zip(group, make_distinct([*group.values()]), strict=True))
    parts: dict[str | None, tuple[str, ...]] = {None: ()}
    for id in map(taxonomy.ids.__getitem__, taxonomy.topological_order.tolist()):
        parts[id] = (*parts[parents[id]], names[id])
        if len(parts[id]) > MAX_DEPTH:
            message = f"the path of {id!r} would have more than {MAX_DEPTH} parts"
            raise FormatError(path, message, fix="choose another format")
    return {id: parts[id] for id in taxonomy}


def _apply_moves(file: TextFile, expanded: Taxonomy, moves: Sequence[Move]) -> Iterator[Insertion]:
    """Insert the new labels into the paths of moved categories and their descendants."""
    labels = {(m.old_parent, m.child): expanded.concept(m.new_parent).label for m in moves}
    ids = {category.parts: category.id for category in file.parsed(_categories)}

    def inserted(parts: tuple[str, ...]) -> list[tuple[int, str]]:
        along = [ids.get(parts[:depth], "") for depth in range(1, len(parts) + 1)]
        steps = enumerate(pairwise(along), start=1)
        return [(index, labels[step]) for index, step in steps if step in labels]

    return file.parsed(_layout).insert_parts(inserted)


def path_ids(
    file: TextFile, categories: Sequence[Category], may_repeat: bool = False
) -> dict[Parts, str]:
    """Return the id or else the path of every category; refuse repeated paths.

    With `may_repeat`, two categories with ids may have the same path, as in translations.
    """
    firsts: dict[Parts, Category] = {}
    for category in categories:
        first = firsts.setdefault(category.parts, category)
        if first is not category and not (may_repeat and first.id and category.id):
            path = SEPARATOR.join(category.parts)
            message = f"the path {path!r} is already on line {first.line}"
            raise FormatError(file.path, message, fix="remove one", line=category.line)
    return {each.parts: each.id or SEPARATOR.join(each.parts) for each in categories}


def _refuse_outline(layout: PathLines, categories: Sequence[Category]) -> None:
    """Refuse lines without a separator that are indented, or that all have bullets."""
    lines = list(layout.lines())
    indented = next((number for number, line in lines if line[0].isspace()), 0)
    bullets = bool(lines) and all(_BULLET.match(line) for _, line in lines)
    if (indented or bullets) and all(len(category.parts) == 1 for category in categories):
        message = "this is a line of an outline, not a path"
        raise FormatError(
            layout.file.path, message, fix="choose the format outline", line=indented or lines[0][0]
        )


def _refuse_other_separator(path: Path, lines: Sequence[str]) -> None:
    """Refuse to write paths without `>` that would be read with another separator."""
    try:
        found = find_separator(path, list(enumerate(lines, start=2)))
    except FormatError:
        found = None
    if found != DEFAULT_SEPARATOR:
        message = "without relations, signs in the labels would be read as separators of paths"
        fix = "choose a name that ends in .txt, or another format"
        raise FormatError(path, message, fix=fix)


def refuse_unsupported(
    file: TextFile, expanded: Taxonomy, id: str, forbidden: re.Pattern[str]
) -> None:
    """Refuse several parents, long paths, repeated paths and labels that do not read back."""
    label = expanded.concept(id).label
    parents = expanded.parents(id)
    path = expanded.path(id)
    if len(parents) > 1:
        message = f"{label!r} has {len(parents)} parents, but a path has only one"
        raise FormatError(file.path, message, fix="choose one")
    if len(path) > MAX_DEPTH:
        message = f"the path of {label!r} would have {len(path)} parts, but at most {MAX_DEPTH}"
        raise FormatError(
            file.path, f"{message} are allowed", fix="choose a parent closer to a root"
        )
    if not label or label != label.strip() or forbidden.search(label):
        message = f"{label!r} would not be read back as one category"
        raise FormatError(file.path, message, fix="rename it")
    if _has_namesake(expanded, id):
        message = f"the path {SEPARATOR.join(path)!r} would occur twice"
        raise FormatError(file.path, message, fix="rename the new concept")
    while parents:
        if _has_namesake(expanded, parents[0]):
            over = SEPARATOR.join(expanded.path(parents[0]))
            message = f"{label!r} cannot be added: two categories have the path {over!r}"
            raise FormatError(file.path, message, fix="rename one of them")
        parents = expanded.parents(parents[0])


def _has_namesake(taxonomy: Taxonomy, id: str) -> bool:
    """Return whether a sibling has the same label, so that both have the same path."""
    parents = taxonomy.parents(id)
    label = taxonomy.concept(id).label
    siblings = taxonomy.children(parents[0]) if parents else taxonomy.roots
    return any(other != id and taxonomy.concept(other).label == label for other in siblings)
