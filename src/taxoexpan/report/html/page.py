"""A report as a single HTML file that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from importlib.metadata import version
from itertools import groupby
from typing import TypeAlias

from taxoexpan.report.html.charts import Chart, chart_element
from taxoexpan.report.html.element import Element, Node, element, to_html
from taxoexpan.report.html.sortable_table import Table, format_value, table_elements


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A number with its label and a note."""

    label: str
    value: str | float
    note: str = ""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """A section with the most important numbers."""

    title: str
    figures: Sequence[KeyFigure]


@dataclass(frozen=True, slots=True)
class TextSection:
    """A section of paragraphs."""

    title: str
    paragraphs: Sequence[str]


@dataclass(frozen=True, slots=True)
class ChartSection:
    """A section with a chart; consecutive charts are shown side by side."""

    title: str
    chart: Chart


Section: TypeAlias = KeyFigures | TextSection | Table | ChartSection


@dataclass(frozen=True, slots=True)
class Page:
    """A report."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    footer: str = ""


def render(page: Page) -> str:
    """Return the page as HTML; equal pages give equal texts."""
    style, script = _read_asset("style.css"), _read_asset("table.js")
    head = [
        element("title", page.title),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
    ]
    policy = element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script))
    main = element("main", *_section_elements(page))
    body = element("body", _header(page), main, *_footer(page))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{to_html(policy)}\n{''.join(map(to_html, head))}\n<style>{style}</style>\n</head>\n"
        f"{to_html(body).removesuffix('</body>')}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def creation_note(created: datetime) -> str:
    """Say which version created a report, and when."""
    day = f"{created.day} {created:%B %Y}, {created:%H:%M %Z}".rstrip()
    return f"Created by taxoexpan {version('taxoexpan')} on {day}."


def _read_asset(name: str) -> str:
    return resources.files("taxoexpan.report.html").joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Allow this style and this script only, no requests, and no markup made from text."""
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _header(page: Page) -> Element:
    subtitle = [element("p", page.subtitle, dir="auto", class_="subtitle")] if page.subtitle else []
    return element("header", element("h1", page.title, dir="auto"), *subtitle)


def _footer(page: Page) -> list[Node]:
    return [element("footer", element("p", page.footer))] if page.footer else []


def _section_elements(page: Page) -> Iterator[Element]:
    """Yield the sections in order, with consecutive charts in one element."""
    for are_charts, group in groupby(page.sections, lambda each: isinstance(each, ChartSection)):
        elements = [_section_element(each) for each in group]
        if are_charts:
            yield element("div", *elements, class_="charts")
        else:
            yield from elements


def _section_element(section: Section) -> Element:
    title = [element("h2", section.title, dir="auto")] if section.title else []
    match section:
        case KeyFigures():
            figures = [_figure_element(each) for each in section.figures]
            return element("section", *title, element("dl", *figures, class_="figures"))
        case TextSection():
            paragraphs = [element("p", each, dir="auto") for each in section.paragraphs]
            return element("section", *title, *paragraphs, class_="prose")
        case ChartSection():
            caption = element("figcaption", section.chart.caption)
            figure = element("figure", chart_element(section.chart), caption)
            return element("section", *title, figure, class_="chart-section")
        case Table():
            text = section.introduction
            introduction = [element("p", text, dir="auto", class_="prose")] if text else []
            return element(
                "section", *title, *introduction, *table_elements(section), class_="table"
            )


def _figure_element(figure: KeyFigure) -> Element:
    note = [element("dd", figure.note, class_="note")] if figure.note else []
    value = element("dd", format_value(figure.value), class_="value")
    return element("div", element("dt", figure.label), value, *note)
