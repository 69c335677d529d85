"""A report written by `clean` in a real browser."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from taxoexpan.curation.cleaning.self_cleaning import clean
from taxoexpan.report.suspicious_relations_page import suspicious_relations_page
from tests.support import chromium
from tests.support.report_browser import Opened
from tests.support.small_models import SMALL

pytestmark = chromium.needs_chromium
driver = chromium.driver


@pytest.fixture
def page(driver: Any, pantry: Path, tmp_path: Path) -> Opened:
    """Return a page of relations with increasing confidence; the last one has none."""
    taxonomy = read_taxonomy(pantry)
    options = ModelOptions("fast", seed=1, device="cpu", settings={**SMALL, "epochs": 2})
    found = clean(taxonomy, options, folds=2)[:8]
    calibrated = [
        replace(relation, confidence=index / 10, parent_confidence=0.5 - index / 20)
        for index, relation in enumerate(found[:-1])
    ]
    made = suspicious_relations_page(
        taxonomy, [*calibrated, found[-1]], 80, "Suspicious", datetime.now(UTC)
    )
    return Opened(driver, tmp_path).show(made)


@pytest.mark.slow
def test_a_reader_sorts_and_filters_by_confidence(driver: Any, page: Opened) -> None:
    assert page.column(4) == [f"0.{tenth}0" for tenth in range(7)] + ["–"]
    page.header(4).click()
    assert page.column(4) == [f"0.{tenth}0" for tenth in range(6, -1, -1)] + ["–"]
    page.header(5).click()
    assert page.column(5)[:2] == ["0.50", "0.45"]
    page.find("input[type=number]").send_keys("0.35")
    assert sorted(page.column(4)) == ["0.40", "0.50", "0.60"]
    assert driver.get_log("browser") == []


@pytest.mark.slow
def test_a_reader_opens_a_row_for_the_evidence(page: Opened) -> None:
    concept = page.column(0)[0]
    page.find(".expander").click()
    opened = page.find(".details-content")
    assert opened.find_element("css selector", ".tree .new bdi").text == concept
    assert opened.find_element("css selector", ".tree .runner-up bdi").text == concept
    assert "current, 0.50" in opened.text
    assert "It is now " in opened.find_elements("css selector", "p")[1].text
    facts = opened.find_element("css selector", "dl").text
    assert "current cosine" in facts
    assert "current raw score" in facts
