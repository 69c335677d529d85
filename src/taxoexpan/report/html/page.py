"""A report as one HTML file that fetches nothing, whatever it is opened with."""

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
from taxoexpan.report.html.element import Element, Node, as_html, element
from taxoexpan.report.html.sortable_table import Table, spelled, table_elements


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that counts, with what it is and a remark."""

    label: str
    value: str | float
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers to be seen first."""

    title: str
    figures: Sequence[Figure]


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs under a title."""

    title: str
    paragraphs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart under a title; pictures that follow each other stand side by side."""

    title: str
    chart: Chart


Section: TypeAlias = Figures | Text | Table | Picture


@dataclass(frozen=True, slots=True)
class Page:
    """A report; the colophon at its end says what made it, and when."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    colophon: str = ""


def html(page: Page) -> str:
    """The page as HTML; the same page is the same text, always."""
    style, script = _part("style.css"), _part("table.js")
    head = [
        element("title", page.title),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
    ]
    policy = element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script))
    body = element("body", *_header(page), element("main", *_sections(page)), *_footer(page))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{as_html(policy)}\n{''.join(map(as_html, head))}\n<style>{style}</style>\n</head>\n"
        f"{as_html(body).removesuffix('</body>')}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def colophon(made: datetime) -> str:
    """Say which version made a report, and when."""
    day = f"{made.day} {made:%B %Y}, {made:%H:%M %Z}".rstrip()
    return f"Made by taxoexpan {version('taxoexpan')} on {day}."


def _part(name: str) -> str:
    return resources.files("taxoexpan.report.html").joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing from anywhere; of styles and scripts these two alone, and no text made to markup."""
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _header(page: Page) -> list[Node]:
    subtitle = [element("p", page.subtitle, dir="auto", class_="subtitle")] if page.subtitle else []
    return [element("header", element("h1", page.title, dir="auto"), *subtitle)]


def _footer(page: Page) -> list[Node]:
    return [element("footer", element("p", page.colophon))] if page.colophon else []


def _sections(page: Page) -> Iterator[Element]:
    """The sections in their order; neighbouring pictures in one."""
    for pictures, those in groupby(page.sections, lambda each: isinstance(each, Picture)):
        drawn = [_section(each) for each in those]
        if pictures:
            yield element("div", *drawn, class_="pictures")
        else:
            yield from drawn


def _section(section: Section) -> Element:
    title = [element("h2", section.title, dir="auto")] if section.title else []
    match section:
        case Figures():
            shown = [_figure(each) for each in section.figures]
            return element("section", *title, element("dl", *shown, class_="figures"))
        case Text():
            paragraphs = [element("p", each, dir="auto") for each in section.paragraphs]
            return element("section", *title, *paragraphs, class_="prose")
        case Picture():
            caption = element("figcaption", section.chart.caption)
            drawn = element("figure", chart_element(section.chart), caption)
            return element("section", *title, drawn, class_="picture")
        case Table():
            told = section.introduction
            introduction = [element("p", told, dir="auto", class_="prose")] if told else []
            return element(
                "section", *title, *introduction, *table_elements(section), class_="table"
            )


def _figure(figure: Figure) -> Element:
    remark = [element("dd", figure.remark, class_="remark")] if figure.remark else []
    return element(
        "div",
        element("dt", figure.label),
        element("dd", spelled(figure.value), class_="value"),
        *remark,
    )
