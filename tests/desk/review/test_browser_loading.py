"""What the pages do while a page loads, with a real browser; skipped without chromium."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.desk.store.decision_store import DecisionStore
from tests.support import chromium
from tests.support.messy_pantry import shop
from tests.support.review_browser import Desk
from tests.support.small_models import SMALL

driver = chromium.driver
pytestmark = chromium.needs_chromium

FOODS = "label\n" + "".join(f"kind {number} milk\n" for number in range(60))
QUICKER = "const wait = setTimeout; window.setTimeout = (act, after) => wait(act, after / 20);"
"""Makes the clock of the page run faster."""


@pytest.fixture(scope="module")
def desk(
    driver: Any, model_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    opened = Desk(driver, tmp_path_factory.mktemp("review"), model_directory, new=FOODS)
    yield opened
    opened.close()


@contextmanager
def hanging(desk: Desk) -> Iterator[None]:
    """Stop the server, which neither answers nor refuses anything meanwhile."""
    os.kill(desk.process.id, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(desk.process.id, signal.SIGCONT)


def number_of_decisions(desk: Desk) -> int:
    with DecisionStore.open(str(desk.folder / "reviews.db")) as store:
        return len(store.history(limit=None))


@pytest.mark.slow
def test_quick_keys_are_used_one_page_after_the_other(desk: Desk) -> None:
    desk.open("?order=listed&concept=kind+0+milk")
    with hanging(desk):
        desk.press("jjjj")
    desk.wait(lambda: desk.name() == "kind 4 milk")


def test_text_for_a_panel_follows_the_keys_that_open_it(desk: Desk) -> None:
    desk.open("?order=listed&concept=kind+0+milk")
    with hanging(desk):
        desk.press("jj/soup")
    desk.wait(lambda: desk.find("#panel [name=find]").get_attribute("value") == "soup")
    assert desk.name() == "kind 2 milk"


def test_a_key_decides_nothing_about_a_concept_that_was_not_shown_and_says_so(desk: Desk) -> None:
    desk.open("?order=listed&concept=kind+10+milk")
    before = number_of_decisions(desk)
    with hanging(desk):
        desk.press("aaj")
    desk.says("kind 10 milk: accepted below milk. Keys that were pressed while")
    assert desk.find(".toast").text.endswith("did nothing: a j")
    assert desk.name() == "kind 11 milk"
    assert number_of_decisions(desk) == before + 1


def test_a_server_that_hangs_is_shown_and_the_decision_can_be_sent_again(desk: Desk) -> None:
    desk.open("?order=listed&concept=kind+20+milk")
    before = number_of_decisions(desk)
    desk.script(QUICKER)
    with hanging(desk):
        desk.press("a")
        desk.says("Saving…")
        assert desk.find(".toast").is_displayed()
        desk.says("The server has not answered yet.")
        desk.press(" ")  # the focus is on the button
        desk.says("Saving…")
        desk.wait(lambda: desk.all(".toast button"))
    desk.says("kind 20 milk: accepted below milk.")
    assert desk.name() == "kind 21 milk"
    assert number_of_decisions(desk) == before + 1


def test_a_decision_can_be_sent_again_when_the_server_is_back(desk: Desk) -> None:
    desk.open("?order=listed&concept=kind+30+milk")
    before = number_of_decisions(desk)
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    desk.driver.execute_cdp_cmd("Network.enable", {})
    desk.driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    desk.press("x")
    desk.says("The server does not answer.")
    online = {**offline, "offline": False}
    desk.driver.execute_cdp_cmd("Network.emulateNetworkConditions", online)
    desk.click(".toast button")
    desk.says("kind 30 milk is not below milk.")
    assert number_of_decisions(desk) == before + 1


@pytest.mark.slow
def test_there_is_no_empty_page_below_a_long_list(driver: Any, tmp_path: Path) -> None:
    settings = {**SMALL, "validation": "leaves", "validation_fraction": 0.35}
    TaxoExpan("fast", seed=1, device="cpu", **settings).fit(shop()).save(tmp_path / "model")
    desk = Desk(driver, tmp_path, tmp_path / "model", None, FOODS)
    try:
        for path in ("", "?order=parent", "?concept=kind+1+milk&panel=insert", "bulk?min=0"):
            desk.open(path)
            assert desk.script(EMPTY_BELOW) < 100, path
    finally:
        desk.close()


EMPTY_BELOW = """
const ends = [...document.querySelectorAll("main, .queue, .opened, .page")]
  .map((each) => each.getBoundingClientRect().bottom + scrollY);
return document.documentElement.scrollHeight - Math.max(innerHeight, ...ends);
"""
"""Returns the pixels below everything that is shown."""
