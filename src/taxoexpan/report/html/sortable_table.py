"""Tables that can be sorted and filtered, and whose rows may open."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from taxoexpan.report.html.element import Compact, Element, Node, as_compact, element, name
from taxoexpan.report.html.tree import Tree, tree_element

CHUNK = 200
"""How many rows are drawn at once; as many are there without a script."""

Kind = Literal["text", "number", "share", "path"]
Cell: TypeAlias = str | float | Sequence[str] | None
"""A text, a number or share, a path from the root; None is a blank."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head, what its cells are, and the digits after the point of its numbers.

    A `share` is a number from 0 to 1, by which rows can be left out.
    """

    name: str
    kind: Kind = "text"
    digits: int = 2


@dataclass(frozen=True, slots=True)
class Details:
    """What opens below a row."""

    paragraphs: Sequence[str] = ()
    facts: Sequence[tuple[str, str | Sequence[str]]] = ()
    """What is known, by its name: a text, or a path from the root."""
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A cell for each column, and what opens below them."""

    cells: Sequence[Cell]
    details: Details | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table under a title, with an introduction."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    introduction: str = ""


def table_elements(table: Table) -> list[Node]:
    """The tools, the table with its first rows, and all rows as JSON for the page's script."""
    for number, row in enumerate(table.rows, start=1):
        if len(row.cells) != len(table.columns):
            raise ValueError(
                f"row {number} of {table.title!r} has {len(row.cells)} cells, "
                f"but there are {len(table.columns)} columns"
            )
    head = element("tr", *(_head(column) for column in table.columns), role="row")
    first = [line for row in table.rows[:CHUNK] for line in _lines(table, row)]
    drawn = element(
        "table",
        element("caption", table.title, class_="unseen"),
        element("thead", head, role="rowgroup"),
        element("tbody", *first, role="rowgroup"),
        role="table",
    )
    return [
        _tools(table),
        element("div", drawn, class_="rows"),
        element("p", element("button", type="button"), class_="rest", hidden=True),
        *_without_script(table),
        element("script", _island(table), type="application/json"),
    ]


def spelled(value: str | float, digits: int = 2) -> str:
    """A number as people write it: 1,234 or 0.57, and a text as it is."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def _tools(table: Table) -> Element:
    """What filters; it stays hidden where no script could make it work."""
    tools = [element("label", "Filter ", element("input", type="search", autocomplete="off"))]
    for place, column in enumerate(table.columns):
        if column.kind == "share":
            least = element(
                "input", type="number", min=0, max=1, step="any", data_column=place, placeholder=0
            )
            tools.append(element("label", f"{column.name} at least ", least))
    if any(row.details for row in table.rows):
        tools.append(element("button", "Open all", type="button", class_="all"))
    tools.append(element("output", class_="count", role="status"))
    return element("div", *tools, class_="tools", hidden=True)


def _without_script(table: Table) -> list[Element]:
    """A line for those whose browser runs no script, where they would miss rows."""
    if len(table.rows) <= CHUNK:
        return []
    told = f"These are the first {CHUNK} of {len(table.rows):,} rows; the others need JavaScript."
    return [element("p", told, class_="scriptless")]


def _island(table: Table) -> str:
    """All rows as JSON: for each its cells, the numbers among them, and what opens below."""
    rows = []
    for row in table.rows:
        cells = [_compact(_content(*pair)) for pair in zip(table.columns, row.cells, strict=True)]
        values = [_number(cell) for cell in row.cells]
        rows.append([cells, values, as_compact(_details(row.details)) if row.details else 0])
    return json.dumps(
        {"chunk": CHUNK, "rows": rows}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )


def _compact(nodes: list[Node]) -> list[Compact]:
    return [as_compact(node) for node in nodes]


def _head(column: Column) -> Element:
    return element("th", column.name, scope="col", role="columnheader", data_kind=column.kind)


def _lines(table: Table, row: Row) -> list[Element]:
    """A row as it is without a script: with its details, if any, in a line below it."""
    cells = [
        element(
            "td", *_content(column, cell), role="cell", class_=column.kind, data_name=column.name
        )
        for column, cell in zip(table.columns, row.cells, strict=True)
    ]
    lines = [element("tr", *cells, role="row")]
    if row.details:
        opening = element("details", element("summary", "Details"), _details(row.details))
        cell = element("td", opening, role="cell", colspan=len(table.columns))
        lines.append(element("tr", cell, role="row", class_="details"))
    return lines


def _content(column: Column, cell: Cell) -> list[Node]:
    """What stands in a cell; every name is kept apart from the direction of its neighbours."""
    if column.kind in ("number", "share"):
        if cell is not None and not isinstance(cell, (int, float)):
            raise TypeError(f"{cell!r} in the column {column.name!r} is not a Python number")
        number = _number(cell)
        if number is None:
            return ["–"]
        return [spelled(float(number) if column.kind == "share" else number, column.digits)]
    if cell is None:
        return []
    if isinstance(cell, (str, int, float)):
        return [name(str(cell))]
    return _path(cell)


def _path(labels: Sequence[str]) -> list[Node]:
    """A path from the root downwards."""
    content: list[Node] = []
    for place, label in enumerate(labels):
        content += [*([" › "] if place else []), name(label)]
    return content


def _number(cell: Cell) -> float | None:
    """The cell as a number; NaN and infinity are none."""
    return cell if isinstance(cell, (int, float)) and math.isfinite(cell) else None


def _details(details: Details) -> Element:
    parts: list[Node] = [element("p", each, dir="auto") for each in details.paragraphs]
    if details.facts:
        parts.append(element("dl", *(_fact(*fact) for fact in details.facts)))
    if details.tree:
        parts.append(tree_element(details.tree))
    return element("div", *parts, class_="inside")


def _fact(known_as: str, value: str | Sequence[str]) -> Element:
    """A name and its value; of a path the last concept counts."""
    if isinstance(value, str):
        told = element("dd", value, dir="auto")
    else:
        told = element("dd", *_path(value), dir="auto", class_="path")
    return element("div", element("dt", known_as), told)
