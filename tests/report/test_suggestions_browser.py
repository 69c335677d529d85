"""A report written by `suggest` in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taxoexpan.cli.main import main
from tests.support import chromium
from tests.support.report_browser import Opened

pytestmark = chromium.needs_chromium
driver = chromium.driver


def test_a_reader_sorts_by_score_and_opens_a_row(
    driver: Any, model_directory: Path, tmp_path: Path
) -> None:
    new, page = tmp_path / "new.csv", Opened(driver, tmp_path)
    names = ["cashew milk", "white tea", "<b id=injected>feta", "pea soup", "corn bread", "x", "y"]
    new.write_text("\n".join(["label", *names]) + "\n", encoding="utf-8")
    command = ["suggest", str(model_directory), str(new), "-o", str(tmp_path / "out.csv")]
    assert main([*command, "--report", str(page.file)]) == 0
    driver.get_log("browser")
    driver.get(page.file.as_uri())
    assert page.column(0) == names
    page.header(3).click()
    scores = [float(score) for score in page.column(3)]
    assert scores == sorted(scores, reverse=True)
    assert set(page.column(0)) == set(names)
    first = page.column(0)[0]
    assert not page.all(".details-content")
    page.find(".expander").click()
    opened = page.find(".details-content")
    assert opened.find_element("css selector", ".tree .new bdi").text == first
    assert opened.find_element("css selector", "p").text.endswith(".")
    assert "rank 2: " in opened.find_element("css selector", "dl").text
    assert not page.all("#injected")
    assert driver.get_log("browser") == []
