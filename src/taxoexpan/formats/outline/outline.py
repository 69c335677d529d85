"""The tree of an outline: the items of a file with their paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from taxoexpan.errors import FormatError
from taxoexpan.formats.inline_markdown import readings
from taxoexpan.formats.outline.scanning import Item, is_markdown, scan_lines
from taxoexpan.formats.tables.path_layouts import MAX_DEPTH, Parts
from taxoexpan.formats.text_file import TextFile


@dataclass(frozen=True)
class Outline:
    """The items of a file with their paths, and by parent."""

    file: TextFile
    items: list[Item]
    children: dict[Parts, list[Item]]

    @classmethod
    def of(cls, file: TextFile) -> Outline:
        """Read the items of a file; refuse a line that is indented like no line above it."""
        outline = cls(file, [], {})
        headings = list[Item]()
        list_items = list[Item]()
        paths = set[Parts]()
        for scanned in file.parsed(scan_lines).items:
            _leave_branches(file, scanned, headings, list_items)
            ancestors = list_items or headings
            parent = ancestors[-1].parts if ancestors else ()
            if len(parent) >= MAX_DEPTH:
                fix = "check that this is an outline"
                raise FormatError(
                    file.path, f"more than {MAX_DEPTH} levels", fix=fix, line=scanned.line
                )
            texts = list(_readings(file, scanned.label))
            unused = (text for text in texts if (*parent, text[0]) not in paths)
            label, definition = next(unused, texts[-1])
            item = replace(scanned, label=label, parts=(*parent, label), definition=definition)
            paths.add(item.parts)
            outline.items.append(item)
            outline.children.setdefault(parent, []).append(item)
            (headings if item.is_heading else list_items).append(item)
        return outline


def _leave_branches(
    file: TextFile, item: Item, headings: list[Item], list_items: list[Item]
) -> None:
    """Remove the headings and list items that are not above an item from the open ones."""
    if item.is_heading:
        list_items.clear()
        while headings and headings[-1].level >= item.level:
            headings.pop()
    last = None
    while list_items and not item.is_below(list_items[-1]):
        last = list_items.pop()
    if last is not None and last.place != item.place:
        under = f" below {list_items[-1].label!r}" if list_items else ""
        message = f"{item.label[:80]!r} is indented like no other line{under}"
        fix = "give it the same spaces or tabs as its siblings"
        raise FormatError(file.path, message, fix=fix, line=item.line)


def _readings(file: TextFile, text: str) -> Iterator[tuple[str, str]]:
    """Yield how the text of an item may be read, the best first: a label and a definition.

    In Markdown, two links may have the same text, and an image has none. In other texts, a
    definition follows a tab.
    """
    if is_markdown(file):
        yield from (reading for reading in readings(text) if reading[0])
        yield text, ""
    else:
        label, _, definition = text.partition("\t")
        yield label.rstrip(), definition.strip()
