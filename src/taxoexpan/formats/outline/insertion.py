"""The insertion of new items into an outline, in the style of the old ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from taxoexpan.formats.inline_markdown import escaped
from taxoexpan.formats.outline.outline import Outline
from taxoexpan.formats.outline.scanning import NUMBERS, RULE, Item, is_markdown, scan_lines
from taxoexpan.formats.tables.path_layouts import Parts
from taxoexpan.formats.text_file import Insertion

ROOT = Item(0, "", "", "")
"""The parent of the items without a parent."""
MAX_LEVEL = 6
"""The deepest heading of Markdown."""
CODE_INDENT = 4
"""In Markdown, a line that begins so many columns after the label above is code, not a child."""


class _Example(NamedTuple):
    """An old item and its last child, which new children of similar items look like."""

    parent: Item
    child: Item


class OutlineInserter:
    """Makes insertions of new items into an outline."""

    def __init__(self, outline: Outline) -> None:
        self.file = outline.file
        self.items = outline.items
        self.children = outline.children

    def insert(self, new: Sequence[Parts]) -> list[Insertion]:
        """Return the insertions of new items, which are given by their paths."""
        new_children = by_parent(new)
        items = {(): ROOT} | {item.parts: item for item in self.items}
        old_parents = [items[parts] for parts in new_children if parts in items]
        texts: dict[int, list[str]] = {}
        # Two branches may end on the same line; the lines of the inner one come first.
        for parent in sorted(old_parents, key=lambda item: len(item.parts), reverse=True):
            siblings = self.children.get(parent.parts, [])
            first = self._new_item(parent, siblings, new_children[parent.parts][0])
            line = self._line_before(parent, siblings, first)
            texts.setdefault(line, []).extend(self._block(parent, siblings, new_children))
        starts = self.file.starts
        return [self.file.insert_lines(starts[line], lines) for line, lines in texts.items()]

    def _block(
        self, parent: Item, siblings: Sequence[Item], new_children: dict[Parts, list[Parts]]
    ) -> Iterator[str]:
        """Yield the lines of all new items below an item, and blank lines as between old ones."""
        siblings = list(siblings)
        for parts in new_children.get(parent.parts, []):
            item = self._new_item(parent, siblings, parts)
            if self._has_blank_above(parent, siblings, item):
                yield ""
            label = escaped(item.label) if is_markdown(self.file) else item.label
            yield f"{item.indent}{item.mark}{label}"
            yield from self._block(item, [], new_children)
            siblings.append(item)

    def _has_blank_above(self, parent: Item, siblings: Sequence[Item], item: Item) -> bool:
        """Return whether a blank line separates a new item from the lines above it.

        - A heading has one if the last old heading has one, best among the siblings.
        - A list item after two or more old ones has one if the last of them has one.
        - The first list item below a heading has one, unless other lists begin directly below.
        - Any other list item has none.
        """
        alike = [sibling for sibling in siblings if sibling.is_heading == item.is_heading]
        old = [sibling for sibling in alike if sibling.line]
        if item.is_heading or len(old) > 1:
            # On the first line, nothing can be above.
            headings = [other for other in self.items if other.is_heading and other.line > 1]
            compared = old or headings
            if not compared or compared[-1].line == 1:
                return True
            return self._is_blank(compared[-1].line - 1)
        return parent.is_heading and not alike and not self._is_tight

    @cached_property
    def _is_tight(self) -> bool:
        """Whether a list begins on the line below its heading."""
        return any(
            upper.is_heading and not lower.is_heading and lower.line == upper.line + 1
            for upper, lower in pairwise(self.items)
        )

    def _is_blank(self, line: int) -> bool:
        return not self.file.lines[line - 1].strip()

    def _new_item(self, parent: Item, siblings: Sequence[Item], parts: Parts) -> Item:
        """Return a new item in the style of its siblings, or else of other items at its depth."""
        label = parts[-1]
        list_items = [sibling for sibling in siblings if not sibling.is_heading]
        if list_items:
            return Item(0, list_items[-1].indent, _next_mark(list_items), label, 0, parts)
        if siblings:
            return Item(0, "", siblings[-1].mark, label, siblings[-1].level, parts)
        example = self._example(parent)
        if parent.is_heading and (example is None or example.child.is_heading):
            return _first_below_heading(parent, example, parts)
        return self._first_list_item(parent, example, parts)

    def _example(self, parent: Item) -> _Example | None:
        """Return the last old item like a parent, best at the same depth, with its last child."""
        alike = [
            example for example in self._examples if example.parent.is_heading == parent.is_heading
        ]
        depth = len(parent.parts)
        at_depth = [example for example in alike if len(example.parent.parts) == depth]
        return (at_depth or alike)[-1] if alike else None

    @cached_property
    def _examples(self) -> list[_Example]:
        """The items with children, each with its last child."""
        return [
            _Example(item, self.children[item.parts][-1])
            for item in self.items
            if item.parts in self.children
        ]

    def _first_list_item(self, parent: Item, example: _Example | None, parts: Parts) -> Item:
        """Return the first child of an item as a list item, indented like the example."""
        if example is None:
            indent = parent.indent + " " * (len(parent.mark) or 2)
            return Item(0, indent, first_mark(parent.mark), parts[-1], 0, parts)
        indent = example.child.indent
        if not parent.is_heading:
            indent = parent.indent + indent[len(example.parent.indent) :]
            if parent.mark and is_markdown(self.file):
                # Markdown shows a line as a child only if it begins at the label above, or a bit
                # later.
                width = len(indent.expandtabs(4)) - len(parent.indent.expandtabs(4))
                if not 0 <= width - len(parent.mark) < CODE_INDENT:
                    indent = parent.indent + " " * len(parent.mark)
        return Item(0, indent, first_mark(example.child.mark, parent.mark), parts[-1], 0, parts)

    def _line_before(self, parent: Item, siblings: Sequence[Item], new: Item) -> int:
        """Return the line after which new items are inserted, given the first of them."""
        list_items = [sibling for sibling in siblings if not sibling.is_heading]
        last = parent.line
        if siblings and (new.is_heading or list_items):
            last = self._last_lines[(list_items or siblings)[-1].parts]
        index = bisect_right(self.items, last, key=lambda item: item.line)
        end = self.items[index].line if index < len(self.items) else len(self.file.lines) + 1
        filled = [line for line in range(last, end) if not self._is_blank(line)]
        if new.is_heading or (parent.is_heading and not list_items):
            return filled[-1]
        return self._text_end(last, filled, new.indent)

    @cached_property
    def _last_lines(self) -> dict[Parts, int]:
        """The line of the last item at or below each path."""
        return {
            item.parts[:depth]: item.line
            for item in self.items
            for depth in range(1, len(item.parts) + 1)
        }

    def _text_end(self, line: int, filled: Sequence[int], indent: str) -> int:
        """Return the last line of the text of an item: adjacent lines, or lines indented deeper."""
        scanned = self.file.parsed(scan_lines)
        for number in filled[1:]:
            content = self.file.lines[number - 1]
            width = len(content) - len(content.lstrip())
            is_text = number in scanned.texts and not RULE.fullmatch(content)
            # New items stay inside the HTML element that ends on the next line, such as <details>.
            is_adjacent = number == line + 1 and is_text and not content.startswith(("#", "</"))
            is_inside = number in scanned.skipped and line in scanned.skipped
            if not (is_adjacent or is_inside or width > len(indent)):
                break
            line = number
        return line


def _first_below_heading(parent: Item, example: _Example | None, parts: Parts) -> Item:
    """Return the first child of a heading as a deeper heading, or as a list item at the deepest."""
    deeper = example.child.level - example.parent.level if example else 1
    deeper = min(deeper, MAX_LEVEL - parent.level)
    if deeper > 0:
        mark = f"{'#' * deeper}{parent.mark}"
        return Item(0, "", mark, parts[-1], parent.level + deeper, parts)
    return Item(0, "", "- ", parts[-1], 0, parts)


def by_parent(paths: Iterable[Parts]) -> dict[Parts, list[Parts]]:
    """Return the paths below each path."""
    children: dict[Parts, list[Parts]] = {}
    for parts in paths:
        children.setdefault(parts[:-1], []).append(parts)
    return children


def _next_mark(siblings: Sequence[Item]) -> str:
    """Return the mark after the last sibling; a list with equal numbers keeps them."""
    mark = siblings[-1].mark
    number = NUMBERS.match(mark)
    if number is None or (len(siblings) > 1 and siblings[-2].mark == mark):
        return mark
    *outer, last = number[0].split(".")
    return ".".join([*outer, f"{int(last) + 1:0{len(last)}d}"]) + mark[number.end() :]


def first_mark(example: str, parent: str = "") -> str:
    """Return the mark of a first child, given the marks of a child elsewhere and of the parent.

    >>> first_mark("* ", "- ")
    '* '
    >>> first_mark("7) ", "2. ")
    '1) '
    >>> first_mark("1.07. ", "2. ")
    '2.01. '
    """
    example_number = NUMBERS.match(example)
    parent_number = NUMBERS.match(parent)
    if example_number is None:
        return example
    *outer, last = example_number[0].split(".")
    if outer and parent_number:
        outer = parent_number[0].split(".")
    return ".".join([*outer, f"{1:0{len(last)}d}"]) + example[example_number.end() :]
