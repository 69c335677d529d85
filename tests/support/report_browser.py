"""A report in a browser, and the actions of a reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from taxoexpan.report.page import Page, render
from tests.support.demo_report import COLUMNS


class Opened:
    """A page in the browser, and the actions of a reader on its first table."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self.file = folder / "report.html"

    def show(self, page: Page) -> Opened:
        self.file.write_text(render(page), encoding="utf-8")
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.script("window.replaced = true")
        self.driver.get(self.file.as_uri())
        # The address is that of the page before, so a busy browser can answer too early.
        WebDriverWait(self.driver, 15, 0.03, ignored_exceptions=[WebDriverException]).until(
            lambda _: self.script("return !window.replaced && document.readyState === 'complete'")
        )
        return self

    def find(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def script(self, text: str) -> Any:
        return self.driver.execute_script(text)

    def column(self, index: int) -> list[str]:
        """Return the visible texts of a column of the first table."""
        return list(
            self.script(
                "return [...document.querySelector('tbody').querySelectorAll('tr:not(.details)')]"
                f".map((row) => row.cells[{index}].textContent)"
            )
        )

    def header(self, index: int) -> Any:
        return self.all("th button")[index]

    def sorted_by(self) -> list[str | None]:
        return [header.get_attribute("aria-sort") for header in self.all("thead th")][
            : len(COLUMNS)
        ]

    def count(self) -> str:
        return str(self.find(".count").text)

    def fill(self, selector: str, text: str) -> None:
        box = self.find(selector)
        box.clear()
        box.send_keys(text or "x" + Keys.BACKSPACE)
