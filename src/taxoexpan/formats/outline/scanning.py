"""The items of an outline: which lines of a file are list items or headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.path_layouts import Parts
from taxoexpan.formats.text_file import TextFile

PLAIN_SUFFIXES = (".txt", "")
"""Suffixes of files that may be outlines; other texts with indented lines are often programs."""
NUMBERS = re.compile(r"\d+(?:\.\d+)*")
RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*")
"""A horizontal rule."""

_BLANKS = r"[ \t\u00a0]+"
_NUMBER_WITHOUT_SIGN = re.compile(rf"\d{{1,9}}(?:\.\d{{1,9}})*{_BLANKS}(?=\S)")
"""A number without a sign after it; it is part of the label, unless other lines have numbers."""
_MARK = re.compile(rf"(?:[-*+•◦▪‣]|\d{{1,9}}(?:\.\d{{1,9}})*[.)]){_BLANKS}(?=\S)")
_HEADING = re.compile(rf"#{{1,6}}{_BLANKS}(?=\S)")
_HEADING_END = re.compile(r"\s+#+\s*$")
_UNDERLINE = re.compile(r"=+\s*|-{2,}\s*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_CONTENTS = re.compile(r"\[[^\[\]]*\]\(#[^()]*\)")
"""An entry of a table of contents: a link to a place in the same file."""


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
    def is_heading(self) -> bool:
        """Whether this is a heading, not a list item."""
        return self.level > 0

    @property
    def place(self) -> tuple[int, str, int]:
        """The level, the indentation and the dots inside a number, which siblings share."""
        number = NUMBERS.match(self.mark)
        # Before a mark, a tab ends at the next multiple of 4, as in Markdown.
        blanks = self.indent.expandtabs(4) if self.mark else self.indent
        return self.level, blanks, number[0].count(".") if number else 0

    def is_below(self, other: Item) -> bool:
        """Return whether this list item is indented or numbered below another one."""
        _, blanks, dots = self.place
        _, other_blanks, other_dots = other.place
        return dots > other_dots if blanks == other_blanks else blanks.startswith(other_blanks)


@dataclass
class ScannedLines:
    """The items of a file without their paths, and the numbers of its other lines.

    `texts` are other lines with text; `skipped` are front matter, code and comments.
    """

    items: list[Item] = field(default_factory=list)
    texts: set[int] = field(default_factory=set)
    skipped: set[int] = field(default_factory=set)


def is_markdown(file: TextFile) -> bool:
    """Return whether the labels may have links, emphasis and backslashes."""
    return file.suffix not in PLAIN_SUFFIXES


def scan_lines(file: TextFile) -> ScannedLines:
    """Find the items of a file; in a list with bullets, other lines are only text.

    Tables of contents in Markdown are only text, too.
    """
    scanned = ScannedLines(skipped=set(_skipped_lines(file.lines)))
    candidates = list(_read_items(file, scanned))
    marked = [item for item in candidates if item.mark]
    unmarked = [item for item in candidates if not item.mark]
    numbered = _numbered_without_sign(marked, unmarked)
    marked += numbered
    numbered_lines = {item.line for item in numbered}
    unmarked = [item for item in unmarked if item.line not in numbered_lines]
    if _is_marked(marked, unmarked, is_markdown(file)):
        items = marked
        if is_markdown(file):
            _refuse_underlines(file, unmarked)
    else:
        items = [item for item in (*marked, *unmarked) if not _is_comment_or_rule(item)]
    scanned.items = sorted(items, key=lambda item: item.line)
    scanned.texts |= {item.line for item in candidates} - {item.line for item in items}
    return scanned


def _read_items(file: TextFile, scanned: ScannedLines) -> Iterator[Item]:
    """Yield every line as an item, with or without a mark; add tables of contents to the texts."""
    for number, line in enumerate(file.lines, start=1):
        content = line.strip()
        if not content or number in scanned.skipped:
            continue
        indent = line[: len(line) - len(line.lstrip())]
        heading = None if indent else _HEADING.match(content)
        match = None if RULE.fullmatch(line) else heading or _MARK.match(content)
        mark = match[0] if match else ""
        label = content[len(mark) :]
        if is_markdown(file) and mark and _CONTENTS.fullmatch(label):
            scanned.texts.add(number)
        elif heading:
            level = heading[0].count("#")
            yield Item(number, indent, mark, _HEADING_END.sub("", label), level)
        else:
            yield Item(number, indent, mark, label)


def _numbered_without_sign(marked: Sequence[Item], unmarked: Sequence[Item]) -> list[Item]:
    """Return the unmarked lines like *1.1 Fruit* that are numbered, with the number as their mark.

    - If other lines have numbers with a sign (*1. Food*), those with a dot inside are numbered.
    - If no line has a mark, all of them are numbered if all begin with a number, one with a dot.
    - Otherwise none is: *7 Up* is a label.
    """
    whole = [
        (item, match) for item in unmarked if (match := _NUMBER_WITHOUT_SIGN.match(item.label))
    ]
    dotted = [(item, match) for item, match in whole if "." in match[0]]
    numbered = []
    if any(item.mark[0].isdigit() for item in marked):
        numbered = dotted
    elif not marked and dotted and len(whole) == len(unmarked):
        numbered = whole
    return [
        replace(item, mark=match[0], label=item.label[match.end() :]) for item, match in numbered
    ]


def _is_marked(marked: Sequence[Item], unmarked: Sequence[Item], in_markdown: bool) -> bool:
    """Return whether only lines with a mark are items, so that the others are only text."""
    if in_markdown:
        return bool(marked)
    if len(marked) < len(unmarked):
        return False
    bullet = next((item for item in marked if not item.is_heading), None)
    if bullet is None:
        return len({item.level for item in marked}) > 1  # or else they are comments
    # A list may be indented below a line without a bullet, which is then the parent.
    line_above = next((item for item in unmarked if item.line == bullet.line - 1), None)
    return line_above is None or len(bullet.indent) <= len(line_above.indent)


def _is_comment_or_rule(item: Item) -> bool:
    """Return whether an item is no item where lines without a mark are: there, `#` is a comment."""
    return item.is_heading or RULE.fullmatch(item.mark + item.label) is not None


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
        line_below = file.lines[item.line] if item.line < len(file.lines) else ""
        if not item.indent and _UNDERLINE.fullmatch(line_below):
            sign = "#" if line_below.startswith("=") else "##"
            raise FormatError(
                file.path,
                f"the heading {item.label!r} is underlined",
                fix=f"write '{sign} {item.label}', and remove the line below it",
                line=item.line,
            )
