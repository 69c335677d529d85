"""A report that `clean` would write, in a real browser."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import test_browser
from conftest import SMALL

from taxoexpan import Taxonomy
from taxoexpan.curation.cleaning import ModelOptions, clean
from taxoexpan.report.doubts_page import doubts_page

pytestmark = test_browser.pytestmark
driver = test_browser.driver


@pytest.fixture
def page(driver: Any, pantry: Path, tmp_path: Path) -> test_browser.Opened:
    """Doubts of which each is surer than the one before, and the last knows nothing of it."""
    taxonomy = Taxonomy.read(pantry)
    training = ModelOptions(seed=1, device="cpu", settings={**SMALL, "epochs": 2})
    found = clean(taxonomy, training, folds=2)[:8]
    sure = [
        replace(doubt, confidence=place / 10, parent_confidence=0.5 - place / 20)
        for place, doubt in enumerate(found[:-1])
    ]
    made = doubts_page(taxonomy, [*sure, found[-1]], 80, "Doubtful", datetime.now(UTC))
    return test_browser.Opened(driver, tmp_path).show(made)


def test_a_reader_sorts_by_confidence_and_leaves_out_what_is_unsure(
    driver: Any, page: test_browser.Opened
) -> None:
    assert page.column(4) == [f"0.{place}0" for place in range(7)] + ["–"]
    page.head(4).click()
    assert page.column(4) == [f"0.{place}0" for place in range(6, -1, -1)] + ["–"]
    page.head(5).click()
    assert page.column(5)[:2] == ["0.50", "0.45"]
    page.find("input[type=number]").send_keys("0.35")
    assert sorted(page.column(4)) == ["0.40", "0.50", "0.60"]
    assert driver.get_log("browser") == []


def test_a_reader_opens_a_row_for_the_evidence(page: test_browser.Opened) -> None:
    concept = page.column(0)[0]
    page.find(".opener").click()
    opened = page.find(".inside")
    assert opened.find_element("css selector", ".tree .new bdi").text == concept
    assert opened.find_element("css selector", ".tree .runner-up bdi").text == concept
    assert "now, 0.50" in opened.text
    assert "It is now " in opened.find_elements("css selector", "p")[1].text
    facts = opened.find_element("css selector", "dl").text
    assert "cosine now" in facts
    assert "raw score now" in facts
