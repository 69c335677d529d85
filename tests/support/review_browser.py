"""The command `review` in a process of its own, and a curator in front of a real browser."""

from __future__ import annotations

import csv
import io
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.support import chromium
from tests.support.builders import pantry_csv
from tests.support.review_process import ReviewProcess

NEW = """label,definition,synonyms
hemp milk,a drink made of hemp seeds,hemp drink
white tea,,
sheep cheese,,
corn bread,,
golden apple,,
<script>window.hit = 1</script> soup,,
fish sauce,,
"""
LABELS = [row["label"] for row in csv.DictReader(io.StringIO(NEW))]


class Desk:
    """The command `review` in a process of its own, and a curator in front of the browser."""

    def __init__(
        self,
        driver: Any,
        folder: Path,
        model: Path,
        taxonomy: str | None = "pantry.csv",
        new: str = NEW,
    ) -> None:
        self.driver, self.folder = driver, folder
        (folder / "pantry.csv").write_text(pantry_csv(), encoding="utf-8")
        (folder / "new.csv").write_text(new, encoding="utf-8")
        options = ["--taxonomy", taxonomy] if taxonomy else []
        options += ["--curator", "Ada", "--quiet"]
        self.process = ReviewProcess(folder, model, "new.csv", *options)
        self.url = self.process.url

    def close(self) -> None:
        self.process.close()

    def open(self, path: str = "") -> None:
        self.driver.get(self.url + path)

    def wait(self, condition: Callable[[], object]) -> None:
        wait = WebDriverWait(self.driver, 15, 0.03, ignored_exceptions=[WebDriverException])
        wait.until(lambda _: condition())

    def press(self, *keys: str) -> None:
        chromium.webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def find(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector: str) -> None:
        """Click an element, again if the page was replaced between finding and clicking it."""
        self.wait(lambda: self.find(selector).click() is None)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def name(self) -> str:
        return str(self.find("[data-focus]").text)

    def script(self, text: str) -> Any:
        return self.driver.execute_script(text)

    def shows(self, text: str) -> None:
        self.wait(lambda: text in self.find("body").text)

    def says(self, text: str) -> None:
        """Wait until a screen reader would have said a text."""
        self.wait(lambda: text in self.script("return document.querySelector('#live').textContent"))

    def download(self, name: str) -> bytes:
        with urllib.request.urlopen(f"{self.url}export/{name}") as response:
            content: bytes = response.read()
        return content
