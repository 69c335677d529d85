"""A whole review in a real browser; skipped without chromium and its driver."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from taxoexpan import TaxoExpan
from taxoexpan.cli.main import main
from taxoexpan.decisions.suggestion import SuggestionKind
from taxoexpan.desk.store.decision_store import DecisionStore
from tests.support import chromium
from tests.support.builders import pantry_csv
from tests.support.messy_pantry import shop
from tests.support.review_browser import LABELS, Desk
from tests.support.small_models import SMALL

driver = chromium.driver
pytestmark = chromium.needs_chromium


@pytest.fixture(scope="module")
def desk(
    driver: Any, model_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    opened = Desk(driver, tmp_path_factory.mktemp("review"), model_directory)
    yield opened
    opened.close()


def test_a_curator_reviews_a_list_with_the_keyboard_and_gets_the_new_taxonomy(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.open("?order=listed")
    assert desk.name() == "hemp milk"
    desk.wait(lambda: "shares the word 'milk'" in desk.find(".reasons").text)

    desk.press("a")  # accept the first proposal
    desk.wait(lambda: desk.name() == "white tea")
    desk.says("hemp milk: accepted below milk.")
    assert desk.script("return document.activeElement.id") == "name"

    desk.press("/soUp")  # choose another parent by search, without waiting for the field
    desk.wait(lambda: desk.find("#results").get_attribute("data-query") == "soUp")
    desk.press(Keys.ENTER)
    desk.wait(lambda: desk.name() == "sheep cheese")
    desk.says("white tea: accepted below soup.")

    desk.press("r")  # reject, with the first reason
    desk.wait(lambda: desk.script("return document.activeElement.type") == "radio")
    desk.press(Keys.ENTER)
    desk.wait(lambda: desk.name() == "corn bread")
    desk.press("n")  # not sure
    desk.wait(lambda: desk.name() == "golden apple")

    desk.press("u")  # the concept that was not sure is back
    desk.wait(lambda: desk.name() == "corn bread")
    desk.press("u")
    desk.wait(lambda: desk.name() == "sheep cheese")
    desk.says("Undone: sheep cheese is back.")
    first = desk.find(".best .where strong").text
    desk.press("x")  # not this proposal
    desk.wait(lambda: desk.find(".best .where strong").text != first)
    desk.press("2")  # the runner-up
    desk.wait(lambda: desk.name() == "corn bread")

    desk.press("l")  # bulk accept
    desk.wait(lambda: desk.name() == "Accept many at once")
    field = desk.find("[name=min]")
    field.send_keys(Keys.CONTROL + "a" + Keys.NULL + "0" + Keys.TAB)
    desk.wait(lambda: desk.find(".confirm [name=min]").get_attribute("value") == "0")
    assert "Accept 4 concepts" in desk.find(".confirm").text
    desk.click("h1")
    desk.press("a")
    desk.says("4 concepts accepted.")
    desk.shows("All 7 concepts are decided.")

    desk.press("e")
    desk.wait(lambda: desk.name() == "Export")
    (desk.folder / "decisions.csv").write_bytes(desk.download("decisions.csv"))
    monkeypatch.chdir(desk.folder)
    command = desk.find("pre code").text.split()
    assert command[:4] == ["taxoexpan", "apply", "pantry.csv", "decisions.csv"]
    assert main([*command[1:-1], "new.csv.out"]) == 0
    written = (desk.folder / "new.csv.out").read_text(encoding="utf-8")
    assert written == desk.download("taxonomy").decode()
    assert written.startswith(pantry_csv())
    added = dict(csv.reader(written.removeprefix(pantry_csv()).splitlines()))
    assert set(added) == set(LABELS)
    assert added["hemp milk"] == "milk"
    assert added["white tea"] == "soup"
    assert added["corn bread"] == "bread"
    assert added["sheep cheese"] != first

    desk.open()  # the batch is undone as a whole
    desk.press("h")
    desk.wait(lambda: desk.name() == "History")
    desk.click("[name=batch]")
    desk.says("4 decisions undone.")
    assert desk.script("return window.hit") is None
    log = desk.driver.get_log("browser")  # it would name violations of the security policy
    assert [entry for entry in log if entry["level"] != "INFO"] == []


def test_several_parents_are_marked_and_searched_with_the_keyboard(desk: Desk) -> None:
    desk.open("?status=all&concept=golden+apple")
    before, second = (each.text for each in desk.all(".proposal .where strong")[:2])
    chromium.webdriver.ActionChains(desk.driver).key_down(Keys.SHIFT).send_keys("2").key_up(
        Keys.SHIFT
    ).perform()
    desk.wait(lambda: "Accept 2 parents" in desk.find(".best [name=accept]").text)
    desk.press("/")
    desk.wait(lambda: desk.all("#panel [name=find]"))
    desk.press("berry")
    desk.wait(lambda: desk.find("#results").get_attribute("data-query") == "berry")
    desk.click("#results [name=with]")
    desk.wait(lambda: "Accept 3 parents" in desk.find(".best [name=accept]").text)
    desk.press("a")
    desk.says("Nothing was saved yet: one of the parents is redundant.")  # a kind of apple
    desk.click("#panel form:last-of-type button")
    desk.says(f"golden apple: accepted below {before} and {second} and berry.")
    desk.press("u")
    desk.says("Undone: golden apple is back.")


def test_the_arrow_keys_walk_through_the_results_and_escape_closes_the_panel(desk: Desk) -> None:
    desk.open("?status=all&concept=golden+apple&panel=merge")
    desk.press("milk")
    desk.wait(lambda: desk.find("#results").get_attribute("data-query") == "milk")
    desk.says("concepts found")
    desk.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    focused = desk.script("return document.activeElement.value")
    assert focused == desk.all("#results .pick")[1].get_attribute("value")
    desk.press(Keys.ESCAPE)
    desk.wait(lambda: not desk.all("#panel"))


def test_links_that_look_like_buttons_react_to_the_space_bar(desk: Desk) -> None:
    desk.open("?status=all&concept=golden+apple")
    desk.script("document.querySelector('.actions [data-key=m]').focus()")
    desk.press(" ")
    desk.wait(lambda: desk.all("#panel [name=find]"))


def test_a_batch_that_cannot_be_undone_is_mentioned(desk: Desk) -> None:
    desk.open("?status=all&concept=golden+apple")
    desk.press("n")
    desk.says("golden apple comes back at the end of the queue.")
    desk.press("b")
    desk.says("No batch is left to undo.")
    desk.press("u")
    desk.says("Undone: golden apple is back.")


@pytest.mark.slow
def test_a_decision_from_another_window_is_shown_instead_of_overwritten(desk: Desk) -> None:
    address = "?status=all&concept=golden+apple"
    desk.open(address)
    desk.driver.switch_to.new_window("tab")
    desk.open(address)
    desk.press(Keys.ENTER)
    desk.says("golden apple: accepted below")
    desk.driver.close()
    desk.driver.switch_to.window(desk.driver.window_handles[0])
    desk.press("n")
    desk.shows("decided about this concept while you were looking at it")
    assert "concept=golden+apple" in desk.driver.current_url
    desk.press("n")  # now with the decision of the other in view
    desk.says("golden apple comes back at the end of the queue.")
    desk.press("u")
    desk.says("Undone: a decision about golden apple; another one stands (accepted).")
    desk.press("u")
    desk.wait(lambda: "accepted below" not in desk.find("article").text)


def shown_parents(desk: Desk) -> tuple[str, str]:
    """The parent in the tree, and the parent on the card whose key is `a`."""
    card = desk.find(".best:has([data-key^=a])")
    tree = card.find_element(By.CSS_SELECTOR, ".tree .parent > .label bdi")
    return tree.text, card.find_element(By.CSS_SELECTOR, ".where strong").text


@pytest.mark.slow
def test_the_tree_the_card_and_the_key_mean_one_parent_after_a_decision(desk: Desk) -> None:
    address = "?status=all&concept=golden+apple"
    desk.open(address)
    desk.press("2")
    desk.says("golden apple: accepted below")
    desk.open(address)
    accepted = desk.find(".tree .parent > .label bdi").text
    desk.press("d")
    desk.wait(lambda: desk.all("#decide"))
    tree, card = shown_parents(desk)
    assert tree == card != accepted

    stale = f"{address}&again=1"
    desk.open(stale)
    desk.driver.switch_to.new_window("tab")
    desk.open(stale)
    desk.press("3")
    desk.says("golden apple: accepted below")
    desk.driver.close()
    desk.driver.switch_to.window(desk.driver.window_handles[0])
    desk.press("a")
    desk.shows("decided about this concept while you were looking at it")
    assert shown_parents(desk) == (card, card)
    desk.press("a")
    desk.says(f"golden apple: accepted below {card}.")
    for _ in range(3):
        desk.press("u")
        desk.says("Undone: ")
        desk.script("document.querySelector('#live').textContent = ''")


def test_existing_concepts_move_only_with_the_button_that_names_them(
    driver: Any, tmp_path: Path, model_directory: Path
) -> None:
    desk = Desk(driver, tmp_path, model_directory)
    try:
        with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
            queued = store.concept("hemp milk")
            assert queued is not None
            moves = ("oat milk", "red milk")
            first = replace(queued.proposals[0], kind=SuggestionKind.INSERT, moves=moves)
            store.set_proposals(str(queued.model), [first, *queued.proposals[1:]])
        desk.open("?concept=hemp+milk")
        button = desk.find(".best [name=insert]")
        assert button.text == "Accept, and move oat milk and red milk here"
        desk.press("a")
        desk.says("hemp milk: accepted below milk.")
        desk.press("u")
        desk.says("Undone: hemp milk is back.")
        desk.click(".best [name=insert]")
        desk.says("accepted below milk, with oat milk and red milk moved below it.")
    finally:
        desk.close()


def test_a_redundant_parent_is_named_and_one_of_the_two_is_chosen(desk: Desk) -> None:
    desk.open("?status=all&concept=golden+apple&with=apple&with=food")
    first = desk.find(".best .where strong").text
    desk.press("a")
    desk.says("Nothing was saved yet: one of the parents is redundant.")
    panel = desk.find("#panel")
    assert "food is redundant" in panel.text
    assert desk.script("return document.activeElement.textContent").startswith("Accept only")
    assert desk.script(UNNAMED) == []
    desk.press(Keys.ENTER)
    desk.says("golden apple: accepted below")
    assert "food" not in desk.find(".toast").text
    assert first in desk.find(".toast").text or first == "food"
    desk.press("u")
    desk.says("Undone: golden apple is back.")


@pytest.mark.slow
def test_a_concept_is_accepted_as_deep_as_is_sure_with_one_key(driver: Any, tmp_path: Path) -> None:
    settings = {**SMALL, "validation": "leaves", "validation_fraction": 0.35}
    TaxoExpan("fast", seed=1, device="cpu", **settings).fit(shop()).save(tmp_path / "model")
    desk = Desk(driver, tmp_path, tmp_path / "model", None)
    try:
        desk.open("?concept=hemp+milk")
        desk.wait(lambda: desk.name() == "hemp milk")
        desk.shows("Accept further up, and refine later:")
        desk.press("s")
        desk.says("hemp milk: accepted below ")
    finally:
        desk.close()


def test_branches_of_the_tree_open_on_request(desk: Desk) -> None:
    desk.open("?status=all&concept=golden+apple")
    branch = next(each for each in desk.all(".node.aside") if "berry" in each.text)
    branch.find_element(By.CSS_SELECTOR, ".label").click()
    desk.wait(lambda: "oat berry" in branch.text)
    desk.find(".unfold > summary").send_keys(Keys.ENTER)
    desk.wait(lambda: desk.all(".unfold .tree"))


def test_a_place_in_the_tree_is_chosen_with_the_keyboard(desk: Desk) -> None:
    """Walk from the proposal to another branch that has to be opened, and place it there."""
    desk.open("?status=all&concept=golden+apple")
    desk.press("t")
    focused = "return document.activeElement.querySelector('bdi')?.textContent ?? ''"
    proposed = desk.script(focused)
    assert proposed
    for _ in range(30):
        if desk.script("return document.activeElement.matches('.aside > [data-open]')"):
            break
        desk.press(Keys.ARROW_DOWN)
    parent = desk.script(focused)
    desk.press(Keys.ARROW_RIGHT)
    desk.wait(lambda: desk.all(".aside > [aria-expanded=true] ~ ul .label"))
    desk.press(Keys.ARROW_DOWN)
    child = desk.script(focused)
    assert child not in ("", parent, proposed)
    desk.shows("no children")  # who it is
    desk.press(Keys.ARROW_LEFT)
    assert desk.script(focused) == parent
    desk.press(Keys.ARROW_LEFT)
    assert not desk.all(".aside > [aria-expanded=true]")
    desk.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ENTER)
    desk.says(f"golden apple: accepted below {child}.")
    desk.press("u")
    desk.says("Undone: golden apple is back.")


@pytest.mark.slow
def test_the_last_decision_is_undone_with_a_key(
    driver: Any, tmp_path: Path, model_directory: Path
) -> None:
    desk = Desk(driver, tmp_path, model_directory)
    try:
        desk.open()
        for _ in LABELS:
            desk.wait(lambda: desk.all("#decide"))
            desk.press("a")
            desk.wait(lambda: desk.all("[data-announce]"))
            desk.script("document.querySelector('[data-announce]').remove()")
        desk.shows("concepts are decided.")
        desk.press("u")
        desk.wait(lambda: desk.all("#decide"))
    finally:
        desk.close()


def test_everything_works_without_scripts(desk: Desk) -> None:
    desk.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        desk.open("?status=all&concept=golden+apple&order=listed")
        desk.click(".actions a")
        desk.wait(lambda: desk.all("[name=find]"))
        desk.find("[name=find]").send_keys("soup" + Keys.ENTER)
        desk.wait(lambda: "soup" in desk.find("#results .pick").text)
        desk.click("#results .pick")
        desk.shows("golden apple: accepted below soup.")
        desk.click(".actions [data-key=u]")
        desk.shows("Undone: golden apple is back.")
        desk.find(".unfold > summary").send_keys(Keys.ENTER)
        desk.find(".unfold a").send_keys(Keys.ENTER)
        desk.wait(lambda: desk.all("main.page .tree .new"))
    finally:
        desk.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


PAGES = (
    "",
    "?view=queue&order=parent&status=all",
    *(f"?status=all&concept=golden+apple&panel={name}" for name in ("merge", "insert", "reject")),
    "?status=all&q=script",
    "bulk?min=0",
    "history",
    "export",
    "help",
)
LIKE_OTHERS = (
    "?status=all&concept=golden+apple&panel=merge",
    "?status=all&concept=golden+apple&panel=insert",
    "?status=all&q=script",
)
"""Pages of the same elements as others."""


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if path in LIKE_OTHERS else []) for path in PAGES],
)
def test_every_page_fits_on_a_phone_and_can_be_read_by_everybody(desk: Desk, path: str) -> None:
    desk.open(path)
    assert desk.script(UNNAMED) == []
    shown = "return [...document.querySelectorAll('h1')].filter((h) => h.checkVisibility()).length"
    assert [len(desk.all(tag)) for tag in ("main", "#live[role=status]")] == [1, 1]
    assert desk.script(shown) == 1
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        desk.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        assert desk.script(LOW_CONTRAST) == [], scheme
    for width in (390, 768):
        screen = {"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        desk.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        sizes = desk.script("return [innerWidth, document.documentElement.scrollWidth]")
        assert sizes == [width, width]
    desk.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    desk.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


UNNAMED = """
const named = "a[href], button, input:not([type=hidden]), select, textarea, summary";
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
return [...document.querySelectorAll(named)]
  .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length))
  .map((e) => e.outerHTML)
  .concat(ids.filter((id, i) => ids.indexOf(id) !== i));
"""
"""Returns controls without a name, and ids that occur twice."""

LOW_CONTRAST = """
const channels = (color) => color.match(/[\\d.]+/g).map(Number);
const luminance = (color) => channels(color).slice(0, 3).map((c) => c / 255)
  .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const background = (element) => {
  const color = getComputedStyle(element).backgroundColor;
  const isOpaque = channels(color).length < 4 || channels(color)[3] === 1;
  return isOpaque ? color : background(element.parentElement);
};
const hasText = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.nodeValue.trim());
return [...document.querySelectorAll("body *")]
  .filter((e) => hasText(e) && e.checkVisibility() && !e.closest(".visually-hidden"))
  .map((e) => {
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(background(e))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.className, e.textContent];
  })
  .filter(([ratio]) => ratio < 4.5);
"""
"""Returns the texts whose contrast with their background is too low (WCAG AA)."""
