"""Tables whose rows can be sorted, filtered and opened."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from taxoexpan.report.html.element import Element, Node, element, isolated, to_json_node
from taxoexpan.report.html.tree import Tree, tree_element

CHUNK = 200
"""The number of rows that are drawn at a time, and that a page without a script shows."""

Kind = Literal["text", "number", "fraction", "path"]
Cell: TypeAlias = str | float | Sequence[str] | None
"""A text, a number, a path from the root, or None for an empty cell."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, the kind of its cells, and the decimals of its numbers.

    A `fraction` is a number between 0 and 1; readers can filter rows by a minimum.
    """

    name: str
    kind: Kind = "text"
    digits: int = 2


@dataclass(frozen=True, slots=True)
class Details:
    """The content that opens below a row."""

    paragraphs: Sequence[str] = ()
    facts: Sequence[tuple[str, str | Sequence[str]]] = ()
    """Pairs of a name and a value, which is a text or a path from the root."""
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row: one cell per column, and the details below it, if any."""

    cells: Sequence[Cell]
    details: Details | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title and an introduction."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    introduction: str = ""


def table_elements(table: Table) -> list[Node]:
    """Return the toolbar, the table with its first rows, and all rows as JSON for the script."""
    for number, row in enumerate(table.rows, start=1):
        if len(row.cells) != len(table.columns):
            raise ValueError(
                f"row {number} of {table.title!r} has {len(row.cells)} cells, "
                f"but there are {len(table.columns)} columns"
            )
    head = element("tr", *(_head_cell(column) for column in table.columns), role="row")
    first_rows = [line for row in table.rows[:CHUNK] for line in _row_elements(table, row)]
    drawn = element(
        "table",
        element("caption", table.title, class_="visually-hidden"),
        element("thead", head, role="rowgroup"),
        element("tbody", *first_rows, role="rowgroup"),
        role="table",
    )
    return [
        _toolbar(table),
        element("div", drawn, class_="rows"),
        element("p", element("button", type="button"), class_="show-more", hidden=True),
        *_no_script_note(table),
        element("script", _json_rows(table), type="application/json"),
    ]


def format_value(value: str | float, digits: int = 2) -> str:
    """Format a number, such as 1,234 or 0.57; a text stays as it is."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def _toolbar(table: Table) -> Element:
    """Return the filters; they stay hidden in a browser that runs no script."""
    tools = [element("label", "Filter ", element("input", type="search", autocomplete="off"))]
    for index, column in enumerate(table.columns):
        if column.kind == "fraction":
            minimum = element(
                "input", type="number", min=0, max=1, step="any", data_column=index, placeholder=0
            )
            tools.append(element("label", f"{column.name} at least ", minimum))
    if any(row.details for row in table.rows):
        tools.append(element("button", "Open all", type="button", class_="open-all"))
    tools.append(element("output", class_="count", role="status"))
    return element("div", *tools, class_="toolbar", hidden=True)


def _no_script_note(table: Table) -> list[Element]:
    """Tell readers without JavaScript about the rows that they do not see."""
    if len(table.rows) <= CHUNK:
        return []
    note = f"These are the first {CHUNK} of {len(table.rows):,} rows. The others need JavaScript."
    return [element("p", note, class_="no-script")]


def _json_rows(table: Table) -> str:
    """Return all rows as JSON: per row the cells, their numbers, and the details."""
    rows = []
    for row in table.rows:
        cells = [
            [to_json_node(node) for node in _cell_content(column, cell)]
            for column, cell in zip(table.columns, row.cells, strict=True)
        ]
        numbers = [_finite_number(cell) for cell in row.cells]
        details = to_json_node(_details_element(row.details)) if row.details else 0
        rows.append([cells, numbers, details])
    return json.dumps(
        {"chunk": CHUNK, "rows": rows}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )


def _head_cell(column: Column) -> Element:
    return element("th", column.name, scope="col", role="columnheader", data_kind=column.kind)


def _row_elements(table: Table, row: Row) -> list[Element]:
    """Return a row for readers without a script, followed by its details, if any."""
    cells = [
        element(
            "td",
            *_cell_content(column, cell),
            role="cell",
            class_=column.kind,
            data_name=column.name,
        )
        for column, cell in zip(table.columns, row.cells, strict=True)
    ]
    rows = [element("tr", *cells, role="row")]
    if row.details:
        summary = element("summary", "Details")
        opening = element("details", summary, _details_element(row.details))
        cell = element("td", opening, role="cell", colspan=len(table.columns))
        rows.append(element("tr", cell, role="row", class_="details"))
    return rows


def _cell_content(column: Column, cell: Cell) -> list[Node]:
    """Return the content of a cell; labels are isolated from the text direction around them."""
    if column.kind in ("number", "fraction"):
        if cell is not None and not isinstance(cell, (int, float)):
            raise TypeError(f"{cell!r} in the column {column.name!r} is not a Python number")
        number = _finite_number(cell)
        if number is None:
            return ["–"]
        return [format_value(float(number) if column.kind == "fraction" else number, column.digits)]
    if cell is None:
        return []
    if isinstance(cell, (str, int, float)):
        return [isolated(str(cell))]
    return _path_content(cell)


def _path_content(labels: Sequence[str]) -> list[Node]:
    """Return the labels of a path from the root, with separators."""
    content: list[Node] = []
    for index, label in enumerate(labels):
        content += [*([" › "] if index else []), isolated(label)]
    return content


def _finite_number(cell: Cell) -> float | None:
    return cell if isinstance(cell, (int, float)) and math.isfinite(cell) else None


def _details_element(details: Details) -> Element:
    parts: list[Node] = [element("p", each, dir="auto") for each in details.paragraphs]
    if details.facts:
        parts.append(element("dl", *(_fact_element(*fact) for fact in details.facts)))
    if details.tree:
        parts.append(tree_element(details.tree))
    return element("div", *parts, class_="details-content")


def _fact_element(name: str, value: str | Sequence[str]) -> Element:
    if isinstance(value, str):
        description = element("dd", value, dir="auto")
    else:
        description = element("dd", *_path_content(value), dir="auto", class_="path")
    return element("div", element("dt", name), description)
