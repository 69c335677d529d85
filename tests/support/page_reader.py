"""Helpers that read the content of pages, and a model and concepts to make pages of."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path

from taxoexpan import TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.report.page import ChartSection, KeyFigures, Page, Table, TextSection, Tree
from taxoexpan.taxonomy import Concept
from tests.support.messy_pantry import large_pantry

CREATED = datetime(2026, 5, 3, 14, 5, tzinfo=UTC)
NEW = (
    Concept("n1", "cashew milk", (), "a drink of nuts"),
    Concept("n2", "white tea"),
    Concept("n3", "goat brie", ("chèvre",)),
)


@cache
def food_model() -> TaxoExpan:
    """Return a barely trained model of the foods, with enough leaves for a calibration."""
    food = Path(str(resources.files("taxoexpan").joinpath("data/food.csv")))
    return TaxoExpan("fast", device="cpu", seed=1, epochs=1, features="static").fit(
        read_taxonomy(food)
    )


@cache
def calibrated_model() -> TaxoExpan:
    """Return a model of the large pantry that is trained at once, and still has a calibration."""
    foods, settings = large_pantry(), {"epochs": 1, "features": "static"}
    named = [replace(each, synonyms=(f"{each.label} as sold",)) for each in foods.concepts]
    model = TaxoExpan("fast", device="cpu", seed=1, validation_fraction=0.4, **settings)
    return model.fit(Taxonomy(named, foods.relations))


def table_of(page: Page, title: str = "Suggestions") -> Table:
    (table,) = (s for s in page.sections if isinstance(s, Table) and s.title == title)
    return table


def figures_of(page: Page) -> dict[str, tuple[object, str]]:
    return {
        figure.label: (figure.value, figure.note)
        for section in page.sections
        if isinstance(section, KeyFigures)
        for figure in section.figures
    }


def text_of(page: Page, title: str) -> str:
    return "\n".join(
        paragraph
        for section in page.sections
        if isinstance(section, TextSection) and section.title == title
        for paragraph in section.paragraphs
    )


def charts_of(page: Page) -> list[str]:
    return [section.chart.title for section in page.sections if isinstance(section, ChartSection)]


def details_of(page: Page, row: int) -> tuple[str, dict[str, object], Tree]:
    """Return the text, the facts and the tree that open below a row."""
    details = table_of(page).rows[row].details
    assert details is not None
    assert details.tree is not None
    return "\n".join(details.paragraphs), dict(details.facts), details.tree
