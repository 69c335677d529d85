"""Outlines: lines indented by spaces or tabs, lists with bullets or numbers, Markdown headings.

As in files of paths, the id of a concept is its path. Text that is not a list is kept and ignored.
A definition follows a tab, or in Markdown a link.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.concept_list import combined_lines
from taxoexpan.formats.format import Copy, Format, Insertions, Target
from taxoexpan.formats.inline_markdown import escaped, readings
from taxoexpan.formats.tables.path_layouts import MAX_DEPTH, SEPARATOR, Category, Parts
from taxoexpan.formats.tables.paths import path_ids, refuse_unsupported, written_paths
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Taxonomy

PLAIN_SUFFIXES = (".txt", "")
"""Suffixes of files that may be outlines; other texts with indented lines are often programs."""

_BLANKS = r"[ \t\u00a0]+"
_LOOSE = re.compile(rf"\d{{1,9}}(?:\.\d{{1,9}})*{_BLANKS}(?=\S)")
"""A number without a sign after it; it is part of the label, unless other lines have numbers."""
_MARK = re.compile(rf"(?:[-*+•◦▪‣]|\d{{1,9}}(?:\.\d{{1,9}})*[.)]){_BLANKS}(?=\S)")
_HEADING = re.compile(rf"#{{1,6}}{_BLANKS}(?=\S)")
_HEADING_END = re.compile(r"\s+#+\s*$")
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*")
_UNDERLINE = re.compile(r"=+\s*|-{2,}\s*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_CONTENTS = re.compile(r"\[[^\[\]]*\]\(#[^()]*\)")
"""An entry of a table of contents: a link to a place in the same file."""
_NOT_IN_LABELS = re.compile(r"[\n\r]")
_MARKDOWN_REPLACEMENTS = {"\n": " ", "\r": " "}
_TEXT_REPLACEMENTS = {**_MARKDOWN_REPLACEMENTS, "\t": " "}


@dataclass(frozen=True, slots=True)
class Item:
    """A list item, or a heading of some level, on a line (0 if new) with a mark before its label.

    The mark is a bullet, a number or the signs of a heading, with the blanks after it.
    """

    line: int
    indent: str
    mark: str
    label: str
    level: int = 0
    parts: Parts = ()
    definition: str = ""

    @property
    def place(self) -> tuple[int, str, int]:
        """The level, the indentation and the dots inside a number, which siblings share."""
        number = _NUMBERS.match(self.mark)
        # Before a mark, a tab ends at the next multiple of 4, as in Markdown.
        blanks = self.indent.expandtabs(4) if self.mark else self.indent
        return self.level, blanks, number[0].count(".") if number else 0

    def is_below(self, other: Item) -> bool:
        """Return whether this list item is indented or numbered below another one."""
        (_, own, dots), (_, others, other_dots) = self.place, other.place
        return dots > other_dots if own == others else own.startswith(others)


ROOT = Item(0, "", "", "")
"""The parent of the items without a parent."""


@dataclass
class Lines:
    """The items of a file without their paths, other lines with text, and lines of code."""

    skipped: set[int]
    items: list[Item] = field(default_factory=list)
    texts: set[int] = field(default_factory=set)


class OutlineFormat(Format):
    """Indented lines, lists and headings."""

    fields = frozenset({"labels"})
    changes = frozenset()

    def can_read(self, file: TextFile) -> bool:
        """Return whether a text has items on several levels; a Markdown file needs a single item.

        Without bullets, at least a quarter of the lines must be indented.
        """
        if file.suffix not in (*self.suffixes, *PLAIN_SUFFIXES) or not file.text.strip():
            return False
        items = file.parsed(scan_lines).items
        if file.suffix in self.suffixes and any(item.mark for item in items):
            return True
        below = sum(item.place != items[0].place for item in items)
        return below * 4 >= max(1, len(items))

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read every item as a concept below the item or heading that it is indented under."""
        outline = file.parsed(Outline.of)
        builder = TaxonomyBuilder(file.path)
        ids = path_ids(file, [Category(i.line, "", i.parts) for i in outline.items])
        for item in outline.items:
            builder.add(ids[item.parts], item.label, item.line, definition=item.definition)
            if len(item.parts) > 1:
                builder.relate(ids[item.parts[:-1]], ids[item.parts], item.line)
        scanned = file.parsed(scan_lines)
        ignored = sorted(scanned.texts | {n for n in scanned.skipped if file.lines[n - 1].strip()})
        if ignored:
            builder.ignored["line that is not a list item or a heading"] = len(ignored)
            lines = f"{len(ignored):,} lines are" if len(ignored) > 1 else "this line is"
            kinds = "not list items or headings" if len(ignored) > 1 else "not a list item"
            builder.note(ignored[0], f"{lines} {kinds}; kept, but not read as concepts")
        if not _is_markdown(file):
            bare = [(item.line, item.label) for item in outline.items if not item.definition]
            for found, message in combined_lines(bare):
                if len(found) * 2 > len(outline.items):  # or else they are labels
                    builder.note(found[0], message)
        return builder.finish()

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Insert a line per new concept after its siblings, with the same mark and indentation."""
        for concept in additions.concepts:
            refuse_unsupported(file, expanded, concept.id, _NOT_IN_LABELS)
        new = [tuple(expanded.path(concept.id)) for concept in additions.concepts]
        insertions = file.parsed(Outline.of).insert(new)
        changed = TextFile(file.path, file.apply(insertions).decode("utf-8-sig"), file.options)
        found = {item.parts for item in changed.parsed(Outline.of).items}
        lost = next((parts[-1] for parts in new if parts not in found), None)
        if lost is not None:
            message = f"{lost!r} would not be read back as one item"
            raise FormatError(file.path, message, fix="rename it")
        return {file.path: insertions}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a list with two spaces per level; a concept is below its first parent only."""
        is_markdown = format_suffix(target.path) not in PLAIN_SUFFIXES
        replacements = _MARKDOWN_REPLACEMENTS if is_markdown else _TEXT_REPLACEMENTS
        paths = written_paths(taxonomy, target.path, replacements)
        if len({SEPARATOR.join(parts) for parts in paths.values()}) < len(paths):
            # A label with the separator looks like the path of another concept.
            paths = written_paths(taxonomy, target.path, {**replacements, ">": "›"})
        below = _by_parent(paths.values())
        lines = list[str]()
        waiting = below[()][::-1]
        while waiting:
            parts = waiting.pop()
            label = escaped(parts[-1]) if is_markdown else parts[-1]
            # With a hyphen, a label of hyphens would be a horizontal rule.
            mark = "+ " if _RULE.fullmatch(f"- {label}") else "- "
            lines.append(f"{'  ' * (len(parts) - 1)}{mark}{label}\n")
            waiting += below.get(parts, [])[::-1]
        ids = {id: SEPARATOR.join(parts) for id, parts in paths.items()}
        return Copy({target.path: "".join(lines)}, ids)


def scan_lines(file: TextFile) -> Lines:
    """Find the items of a file; in a list with bullets, other lines are only text.

    Tables of contents in Markdown are only text, too.
    """
    found = Lines(skipped=set(_skipped_lines(file.lines)))
    unmarked = list[Item]()
    is_markdown = _is_markdown(file)
    for number, line in enumerate(file.lines, start=1):
        content = line.strip()
        if not content or number in found.skipped:
            continue
        indent = line[: len(line) - len(line.lstrip())]
        heading = None if indent else _HEADING.match(content)
        mark = None if _RULE.fullmatch(line) else heading or _MARK.match(content)
        sign = mark[0] if mark else ""
        label = content[len(sign) :]
        if is_markdown and mark and _CONTENTS.fullmatch(label):
            found.texts.add(number)
            continue
        level = heading[0].count("#") if heading else 0
        label = _HEADING_END.sub("", label) if heading else label
        (found.items if mark else unmarked).append(Item(number, indent, sign, label, level))
    loose = {item: match for item in unmarked if (match := _LOOSE.match(item.label))}
    dotted = {item: match for item, match in loose.items() if "." in match[0]}
    if found.items or not dotted or len(loose) < len(unmarked):  # "7 Up" is a label
        loose = dotted if any(item.mark[:1].isdigit() for item in found.items) else {}
    for item, match in loose.items():
        found.items.append(replace(item, mark=match[0], label=item.label[match.end() :]))
    unmarked = [item for item in unmarked if item not in loose]
    every = [*found.items, *unmarked]
    if not _is_marked(found.items, unmarked, is_markdown):
        # Here, lines with # are comments.
        found.items = [i for i in every if not i.level and not _RULE.fullmatch(i.mark + i.label)]
    elif is_markdown:
        _refuse_underlines(file, unmarked)
    found.texts |= {item.line for item in every} - {item.line for item in found.items}
    found.items.sort(key=lambda item: item.line)
    return found


def _is_marked(marked: Sequence[Item], unmarked: Sequence[Item], is_markdown: bool) -> bool:
    """Return whether lines without a mark are only text."""
    if is_markdown or len(marked) < len(unmarked):
        return is_markdown and bool(marked)
    bullet = next((item for item in marked if not item.level), None)
    if bullet is None:
        return len({item.level for item in marked}) > 1  # or else they are comments
    # A list may be indented below a line without a bullet, which is then the parent.
    above = [item for item in unmarked if item.line == bullet.line - 1]
    return not above or len(bullet.indent) <= len(above[0].indent)


def _skipped_lines(lines: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines in front matter, code fences and comments."""
    end: re.Pattern[str] | None = None
    if lines[0].rstrip() == "---" and any(line.rstrip() in ("---", "...") for line in lines[1:]):
        end = re.compile(r"(---|\.\.\.)\s*$")
    for number, line in enumerate(lines, start=1):
        if end is not None:
            yield number
            if number > 1 and end.match(line):
                end = None
        elif fence := _FENCE.match(line):
            yield number
            end = re.compile(rf"\s*{fence[1]}+\s*$")
        elif line.lstrip().startswith("<!--"):
            yield number
            end = None if "-->" in line else re.compile(r".*-->")


def _refuse_underlines(file: TextFile, unmarked: Sequence[Item]) -> None:
    """Refuse headings that are underlined, because new ones could not follow them."""
    for item in unmarked:
        below = file.lines[item.line : item.line + 1]
        if not item.indent and below and _UNDERLINE.fullmatch(below[0]):
            sign = "#" if below[0].startswith("=") else "##"
            message = f"the heading {item.label!r} is underlined; write '{sign} {item.label}'"
            raise FormatError(file.path, f"{message}, and remove the line below it", line=item.line)


@dataclass(frozen=True)
class Outline:
    """The items of a file with their paths, by parent, and the insertion of new items."""

    file: TextFile
    items: list[Item]
    children: dict[Parts, list[Item]]

    @cached_property
    def _pairs(self) -> list[tuple[Item, Item]]:
        """The items with children, each with its last child."""
        last = {over: children[-1] for over, children in self.children.items()}
        return [(item, last[item.parts]) for item in self.items if item.parts in last]

    @cached_property
    def _is_tight(self) -> bool:
        """Whether a list begins on the line below its heading."""
        return any(
            a.level and not b.level and b.line == a.line + 1 for a, b in pairwise(self.items)
        )

    @classmethod
    def of(cls, file: TextFile) -> Outline:
        """Read the items of a file; refuse a line that is indented like no line above it."""
        items = list[Item]()
        children = dict[Parts, list[Item]]()
        headings = list[Item]()
        above = list[Item]()
        paths = set[Parts]()
        for found in file.parsed(scan_lines).items:
            if found.level:
                above.clear()
                while headings and headings[-1].level >= found.level:
                    headings.pop()
            last = None
            while above and not found.is_below(above[-1]):
                last = above.pop()
            if last is not None and last.place != found.place:
                under = f" below {above[-1].label!r}" if above else ""
                message = f"{found.label[:80]!r} is indented like no other line{under}"
                fix = "give it the same spaces or tabs as its siblings"
                raise FormatError(file.path, message, fix=fix, line=found.line)
            over = (above or headings)[-1].parts if above or headings else ()
            if len(over) >= MAX_DEPTH:
                message = f"more than {MAX_DEPTH} levels"
                raise FormatError(
                    file.path, message, fix="check that this is an outline", line=found.line
                )
            texts = list(_readings(file, found.label))
            unused = (text for text in texts if (*over, text[0]) not in paths)
            label, definition = next(unused, texts[-1])
            item = replace(found, label=label, parts=(*over, label), definition=definition)
            paths.add(item.parts)
            items.append(item)
            children.setdefault(over, []).append(item)
            (headings if item.level else above).append(item)
        return cls(file, items, children)

    def insert(self, new: Sequence[Parts]) -> list[Insertion]:
        """Return the insertions of new items, which are given by their paths."""
        below = _by_parent(new)
        items = {(): ROOT} | {item.parts: item for item in self.items}
        texts: dict[int, list[str]] = {}
        # Two branches may end on the same line; the lines of the inner one come first.
        for over in sorted((parts for parts in below if parts in items), key=len, reverse=True):
            siblings = self.children.get(over, [])
            first = self._new_item(items[over], siblings, below[over][0])
            line = self._line_before(items[over], siblings, first)
            texts.setdefault(line, []).extend(self._block(items[over], siblings, below))
        starts = self.file.starts
        return [self.file.insert_lines(starts[line], lines) for line, lines in texts.items()]

    def _block(
        self, over: Item, siblings: Sequence[Item], below: dict[Parts, list[Parts]]
    ) -> Iterator[str]:
        """Yield the lines of all new items below an item, and blank lines as between old ones."""
        siblings = list(siblings)
        for parts in below.get(over.parts, []):
            item = self._new_item(over, siblings, parts)
            if self._has_blank_above(over, siblings, item):
                yield ""
            label = escaped(item.label) if _is_markdown(self.file) else item.label
            yield f"{item.indent}{item.mark}{label}"
            yield from self._block(item, [], below)
            siblings.append(item)

    def _has_blank_above(self, over: Item, siblings: Sequence[Item], item: Item) -> bool:
        """Return whether a blank line separates a new item from the lines above it."""
        same = [s for s in siblings if bool(s.level) == bool(item.level)]
        old = [s for s in same if s.line]
        if item.level or len(old) > 1:
            others = old or [i for i in self.items if i.level and i.line > 1]
            return not others or others[-1].line == 1 or self._is_blank(others[-1].line - 1)
        return over.level > 0 and not same and not self._is_tight

    def _is_blank(self, line: int) -> bool:
        return not self.file.lines[line - 1].strip()

    def _new_item(self, over: Item, siblings: Sequence[Item], parts: Parts) -> Item:
        """Return a new item in the style of its siblings, or else of other items at its depth."""
        label = parts[-1]
        lists = [item for item in siblings if not item.level]
        if lists:
            return Item(0, lists[-1].indent, _next_mark(lists), label, 0, parts)
        if siblings:
            return Item(0, "", siblings[-1].mark, label, siblings[-1].level, parts)
        same = [pair for pair in self._pairs if bool(pair[0].level) == bool(over.level)]
        same = [pair for pair in same if len(pair[0].parts) == len(over.parts)] or same
        old, like = same[-1] if same else (over, None)
        if over.level and (like is None or like.level):
            more = min(like.level - old.level if like else 1, 6 - over.level)
            if more > 0:
                return Item(0, "", f"{'#' * more}{over.mark}", label, over.level + more, parts)
            return Item(0, "", "- ", label, 0, parts)
        if like is None:
            indent = over.indent + " " * (len(over.mark) or 2)
            return Item(0, indent, _first_mark(over.mark, ""), label, 0, parts)
        indent = like.indent if over.level else over.indent + like.indent[len(old.indent) :]
        if over.mark and not over.level and _is_markdown(self.file):
            # Markdown shows a line as a child only if it begins at the label above, or a bit later.
            step = len(indent.expandtabs(4)) - len(over.indent.expandtabs(4)) - len(over.mark)
            indent = indent if 0 <= step < 4 else over.indent + " " * len(over.mark)
        return Item(0, indent, _first_mark(like.mark, over.mark), label, 0, parts)

    def _line_before(self, over: Item, siblings: Sequence[Item], new: Item) -> int:
        """Return the line after which new items are inserted."""
        lists = [item for item in siblings if not item.level]
        last = over.line
        if siblings and (new.level or lists):
            last = self._last_lines[(lists or siblings)[-1].parts]
        index = bisect_right(self.items, last, key=lambda item: item.line)
        end = self.items[index].line if index < len(self.items) else len(self.file.lines) + 1
        filled = [n for n in range(last, end) if not self._is_blank(n)]
        if new.level or (over.level and not lists):
            return filled[-1]
        return self._text_end(last, filled, new.indent)

    @cached_property
    def _last_lines(self) -> dict[Parts, int]:
        """The line of the last item at or below each path."""
        return {i.parts[:d]: i.line for i in self.items for d in range(1, len(i.parts) + 1)}

    def _text_end(self, line: int, filled: Sequence[int], indent: str) -> int:
        """Return the last line of the text of an item: adjacent lines, or lines indented deeper."""
        scanned = self.file.parsed(scan_lines)
        for number in filled[1:]:
            content = self.file.lines[number - 1]
            width = len(content) - len(content.lstrip())
            is_text = number in scanned.texts and not _RULE.fullmatch(content)
            is_adjacent = number == line + 1 and is_text and not content.startswith(("#", "</"))
            is_inside = number in scanned.skipped and line in scanned.skipped
            if not (is_adjacent or is_inside or width > len(indent)):
                break
            line = number
        return line


def _is_markdown(file: TextFile) -> bool:
    """Return whether the labels may have links, emphasis and backslashes."""
    return file.suffix not in PLAIN_SUFFIXES


def _readings(file: TextFile, text: str) -> Iterator[tuple[str, str]]:
    """Yield how the text of an item may be read, the best first: a label and a definition.

    In Markdown, two links may have the same text, and an image has none. In other texts, a
    definition follows a tab.
    """
    if _is_markdown(file):
        yield from (reading for reading in readings(text) if reading[0])
        yield text, ""
    else:
        label, _, definition = text.partition("\t")
        yield label.rstrip(), definition.strip()


def _by_parent(paths: Iterable[Parts]) -> dict[Parts, list[Parts]]:
    """Return the paths below each path."""
    below: dict[Parts, list[Parts]] = {}
    for parts in paths:
        below.setdefault(parts[:-1], []).append(parts)
    return below


def _next_mark(siblings: Sequence[Item]) -> str:
    """Return the mark after the last sibling; a list with equal numbers keeps them."""
    mark = siblings[-1].mark
    number = _NUMBERS.match(mark)
    if number is None or (len(siblings) > 1 and siblings[-2].mark == mark):
        return mark
    *above, last = number[0].split(".")
    return ".".join([*above, f"{int(last) + 1:0{len(last)}d}"]) + mark[number.end() :]


def _first_mark(like: str, over: str) -> str:
    """Return the mark of a first child: the other mark, or the first number below the parent's."""
    number = _NUMBERS.match(like)
    parent = _NUMBERS.match(over)
    if number is None:
        return like
    *above, last = number[0].split(".")
    if above and parent:
        above = parent[0].split(".")
    return ".".join([*above, f"{1:0{len(last)}d}"]) + like[number.end() :]
