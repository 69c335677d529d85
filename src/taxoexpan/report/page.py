"""Reports as single HTML files, which load nothing from elsewhere and also work without scripts."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib import resources
from importlib.metadata import version
from itertools import groupby
from typing import Any, ClassVar, Literal, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from taxoexpan.report.charts import WIDTH, Chart, coordinate

CHUNK = 200
"""The number of rows that are drawn at a time, and that a page without a script shows."""
MAX_PATH = 8
"""The number of concepts shown of a path; the middle of a longer path is left out."""
MAX_WORD = 28
"""The length above which a word may be broken anywhere."""
# Characters that UTF-8 cannot encode, or that a browser would drop or misread.
_INVALID = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")

ColumnKind = Literal["text", "number", "fraction", "path"]
Cell: TypeAlias = str | float | Sequence[str] | Sequence[tuple[str, float]] | None
"""A text, a number, a path from the root (a level may have a confidence), or None if empty."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A sibling or child of the new concept, with the cosine between them if it is known."""

    label: str
    cosine: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class TreePosition:
    """A possible position of the new concept; `number` is the formatted confidence or score."""

    path: Sequence[str]
    siblings: Sequence[Neighbor] = ()
    more_siblings: int = 0
    children: Sequence[Neighbor] = ()
    number: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """A new concept at its suggested position and at the runner-up position, with notes."""

    concept: str
    suggested: TreePosition
    runner_up: TreePosition | None = None
    notes: tuple[str, str] = ("new", "runner-up")

    @property
    def shared(self) -> int:
        """The number of concepts at the start of both paths that are equal and drawn only once."""
        if self.runner_up is None:
            return 0
        first = self.suggested.path
        second = self.runner_up.path
        # Equal paths belong to two concepts of one label.
        limit = min(len(first), len(second)) - (tuple(first) == tuple(second))
        return next((index for index in range(limit) if first[index] != second[index]), limit)


@dataclass(frozen=True, slots=True)
class Details:
    """The content that opens below a row; the value of a fact is a string or a path."""

    paragraphs: Sequence[str] = ()
    facts: Sequence[tuple[str, str | Sequence[str]]] = ()
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row with one cell per column, and optional details below it."""

    cells: Sequence[Cell]
    details: Details | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column; readers can filter by a minimum if it holds fractions, which are from 0 to 1."""

    name: str
    kind: ColumnKind = "text"
    digits: int = 2

    def number(self, cell: Cell) -> float | None:
        """Return the number in a cell, or None if there is no finite number."""
        if cell is None or self.kind not in ("number", "fraction"):
            return None
        number = cell if isinstance(cell, int) else float(cell)  # type: ignore[arg-type]
        return number if math.isfinite(number) else None

    def shown(self, cell: Cell) -> str:
        """Format the number in a cell."""
        number = self.number(cell)
        if number is None:
            return "–"
        return format_number(float(number) if self.kind == "fraction" else number, self.digits)


@dataclass(frozen=True, slots=True)
class Table:
    """A section with a table whose rows can be sorted, filtered and opened."""

    kind: ClassVar[str] = "table"
    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    introduction: str = ""


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A number with its label and a note."""

    label: str
    value: str | float
    note: str = ""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """A section with the most important numbers."""

    kind: ClassVar[str] = "figures"
    title: str
    figures: Sequence[KeyFigure]


@dataclass(frozen=True, slots=True)
class TextSection:
    """A section of paragraphs."""

    kind: ClassVar[str] = "prose"
    title: str
    paragraphs: Sequence[str]


@dataclass(frozen=True, slots=True)
class ChartSection:
    """A section with a chart; consecutive charts are shown side by side."""

    kind: ClassVar[str] = "chart"
    title: str
    chart: Chart


Section: TypeAlias = KeyFigures | TextSection | Table | ChartSection


@dataclass(frozen=True, slots=True)
class Page:
    """A report with a title and sections."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    created: datetime | None = None

    @property
    def footer(self) -> str:
        """The version of taxoexpan and the time of the report, or "" without a time."""
        if self.created is None:
            return ""
        day = f"{self.created.day} {self.created:%B %Y, %H:%M %Z}".rstrip()
        return f"Created by taxoexpan {version('taxoexpan')} on {day}."


def render(page: Page) -> str:
    """Return the page as HTML; equal pages give equal HTML."""
    folder = resources.files("taxoexpan.report")
    style, script = (folder.joinpath(name).read_text("utf-8") for name in ("style.css", "table.js"))
    # Only this style and this script are allowed, no requests, and no markup made from other text.
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types closed-details"
    )
    groups = [
        (kind == "chart", list(group))
        for kind, group in groupby(page.sections, lambda section: section.kind)
    ]
    template = _environment().get_template("report.html")
    return template.render(page=page, groups=groups, policy=policy, style=style, script=script)


def paragraphs(text: str, **values: Any) -> list[str]:
    """Return the paragraphs of a text in the template `texts.txt`, filled with values."""
    macro = getattr(_environment().get_template("texts.txt").module, text)
    return [line for line in str(macro(**values)).split("\n") if line]


@lru_cache
def _environment() -> Environment:
    """Return the Jinja2 environment of the reports."""
    environment = template_environment("taxoexpan.report")
    environment.globals.update(CHUNK=CHUNK, MAX_PATH=MAX_PATH, WIDTH=WIDTH)
    environment.filters.update(xy=coordinate, number=format_number)
    return environment


@lru_cache
def template_environment(package: str) -> Environment:
    """Return a Jinja2 environment that escapes values (not in .txt) and refuses unknown names."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=select_autoescape(default=True),  # not in .txt
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(is_long=has_long_word, shorten=shorten, shown_path=shortened_path)
    return environment


def printable(value: Any) -> Any:
    """Replace every character that UTF-8 or a browser cannot handle with U+FFFD."""
    if type(value) is not str or value.isprintable():
        return value
    return _INVALID.sub("\ufffd", value)


def has_long_word(text: str) -> bool:
    """Return whether a string has a word that is so long that it may be broken anywhere."""
    return len(text) > MAX_WORD and any(len(word) > MAX_WORD for word in text.split())


def shorten(text: str, limit: int) -> str:
    """Return a string that is cut at its end if it is longer than the limit."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def shortened_path(path: Sequence[str]) -> list[str | None]:
    """Return the path; None replaces the middle of a long path."""
    if len(path) <= MAX_PATH:
        return list(path)
    return [*path[: MAX_PATH // 2 - 1], None, *path[-MAX_PATH // 2 :]]


def format_number(value: str | float, digits: int = 2) -> str:
    """Format a number, such as 1,234 or 0.57; return a string unchanged."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
