"""Reports in a real browser; skipped without chromium and its driver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from taxoexpan.report.page import (
    Column,
    Details,
    Page,
    Row,
    Table,
    TextSection,
    Tree,
    TreePosition,
)
from tests.support import chromium
from tests.support.demo_report import COLUMNS, HOSTILE, demo_page, rows
from tests.support.report_browser import Opened

driver = chromium.driver
pytestmark = chromium.needs_chromium

PHONE = {"width": 375, "height": 667, "deviceScaleFactor": 2, "mobile": True}


@pytest.fixture
def opened(driver: Any, tmp_path: Path) -> Iterator[Opened]:
    yield Opened(driver, tmp_path)
    for command in ("Emulation.clearDeviceMetricsOverride", "Emulation.setEmulatedMedia"):
        driver.execute_cdp_cmd(command, {} if "clear" in command else {"media": ""})


def foods(number: int, details: bool = True) -> Page:
    return Page("Foods", "", [Table("Suggestions", COLUMNS, rows(number, details=details))])


def scores(number: int) -> list[float]:
    return [float(row.cells[2]) for row in rows(number)]  # type: ignore[arg-type]


def test_a_number_column_sorts_descending_then_ascending_then_not_at_all(
    opened: Opened,
) -> None:
    opened.show(foods(50))
    unsorted = [f"{score:.2f}" for score in scores(50)]
    ordered = [f"{score:.2f}" for score in sorted(scores(50))]
    assert opened.column(2) == unsorted
    opened.header(2).click()
    assert opened.column(2) == ordered[::-1]
    assert opened.sorted_by() == [None, None, "descending", None, None, None]
    opened.header(2).click()
    assert opened.column(2) == ordered
    assert opened.sorted_by()[2] == "ascending"
    opened.header(2).click()
    assert opened.column(2) == unsorted
    assert opened.sorted_by() == [None] * 6


def test_numbers_sort_by_value_with_empty_cells_last(opened: Opened) -> None:
    values = [9, 10, None, -3, 1000, 0.5]
    table = Table("t", [Column("n"), Column("v", "number")], [Row(("x", v)) for v in values])
    opened.show(Page("t", "", [table]))
    opened.header(1).click()
    assert opened.column(1) == ["1,000", "10", "9", "0.50", "-3", "–"]
    opened.header(1).click()
    assert opened.column(1) == ["-3", "0.50", "9", "10", "1,000", "–"]


def test_texts_sort_without_case_and_accents_and_by_numbers(opened: Opened) -> None:
    names = ["zucchini", "Éclair", "item 10", "apple", "item 9", "", "Banana", "eclair"]
    opened.show(Page("t", "", [Table("t", [Column("n")], [Row((name,)) for name in names])]))
    ordered = ["apple", "Banana", "Éclair", "eclair", "item 9", "item 10", "zucchini"]
    opened.header(0).click()
    assert opened.column(0) == [*ordered, ""]
    opened.header(0).click()
    descending = ["zucchini", "item 10", "item 9", "Éclair", "eclair", "Banana", "apple", ""]
    assert opened.column(0) == descending


def test_columns_can_be_sorted_by_keyboard(opened: Opened) -> None:
    opened.show(foods(20))
    opened.header(2).send_keys(Keys.ENTER)
    assert opened.column(2) == [f"{score:.2f}" for score in sorted(scores(20), reverse=True)]
    opened.header(2).send_keys(Keys.SPACE)
    assert opened.sorted_by()[2] == "ascending"


@pytest.mark.slow
def test_the_filter_keeps_and_counts_rows_with_every_word(opened: Opened) -> None:
    opened.show(foods(600))
    assert opened.count() == "600 of 600"
    opened.fill("input[type=search]", "MILK béverage")
    expected = [
        row.cells[0]
        for row in rows(600)
        if "milk" in str(row.cells) and "beverage" in str(row.cells)
    ]
    assert 0 < len(expected) < 200
    assert opened.column(0) == expected
    assert opened.count() == f"{len(expected)} of 600"
    opened.fill("input[type=search]", "nothing like it")
    assert opened.column(0) == []
    assert opened.count() == "0 of 600"
    opened.fill("input[type=search]", "")
    assert opened.count() == "600 of 600"


def test_rows_below_the_minimum_are_left_out(opened: Opened) -> None:
    opened.show(foods(150))
    opened.fill("input[data-column='2']", "0.7")
    assert opened.column(2) == [f"{score:.2f}" for score in scores(150) if score >= 0.7]
    opened.fill("input[data-column='3']", "0.1")
    assert any(row.cells[3] is None for row in rows(150))
    assert "–" not in opened.column(3)


def test_a_filter_keeps_the_order(opened: Opened) -> None:
    opened.show(foods(150))
    opened.header(2).click()
    opened.fill("input[type=search]", "cheese")
    kept = [float(score) for score in opened.column(2)]
    assert len(kept) > 3
    assert kept == sorted(kept, reverse=True)


def test_a_row_opens_to_its_tree_and_closes(opened: Opened) -> None:
    opened.show(foods(20))
    assert not opened.all(".tree")
    button = opened.all(".expander")[1]
    assert button.get_attribute("aria-expanded") == "false"
    assert button.get_attribute("aria-label") == "Details of bubble tea"
    button.send_keys(Keys.ENTER)
    assert button.get_attribute("aria-expanded") == "true"
    assert opened.find(".tree .new > bdi").text == "bubble tea"
    assert opened.find(".tree .runner-up > bdi").text == "bubble tea"
    assert opened.find(".tree .moves .note").text == "may move here"
    assert opened.find(".details dd").is_displayed()
    button.send_keys(Keys.ENTER)
    assert not opened.all(".tree")


def test_a_click_opens_a_row_which_stays_open_when_sorted(opened: Opened) -> None:
    opened.show(foods(20))
    opened.all("tbody td.path")[0].click()
    assert opened.find(".tree .new > bdi").text == "oat milk"
    opened.header(0).click()
    line = opened.find("tr:has(+ .details)")
    assert line.find_element(By.CSS_SELECTOR, "td").text.endswith("oat milk")


def test_a_row_after_the_first_ones_opens_to_its_tree(opened: Opened) -> None:
    opened.show(foods(260))
    opened.fill("input[type=search]", "bubble tea 16")
    opened.find(".expander").click()
    assert opened.find(".tree .new > bdi").text == "bubble tea 16"
    assert opened.find(".details dd").is_displayed()


def test_all_rows_can_be_opened_and_closed_at_once(opened: Opened) -> None:
    opened.show(foods(12))
    opened.find("button.open-all").click()
    assert len(opened.all(".details")) == 12
    opened.find("button.open-all").click()
    assert not opened.all(".details")


def test_rows_without_details_do_not_open(opened: Opened) -> None:
    opened.show(foods(12, details=False))
    assert not opened.all(".expander")
    assert not opened.all("button.open-all")


def hostile_page() -> Page:
    made = []
    for index, name in enumerate((*HOSTILE, "long" * 100)):
        tree = Tree(name, TreePosition([name] * 12, more_siblings=2), TreePosition([name, "x"]))
        details = Details([name], [(name, name)], tree)
        made.append(Row((name, name, index / 20, None, index, [name] * 3), details))
    columns = [*COLUMNS[:5], Column("<img src=x onerror='window.hit = 1'>", "path")]
    table = Table(HOSTILE[3], columns, made, HOSTILE[2])
    return Page(HOSTILE[0], HOSTILE[1], [TextSection("long" * 100, ["long" * 100]), table])


def test_hostile_labels_have_no_effect(opened: Opened) -> None:
    opened.show(hostile_page())
    opened.find("button.open-all").click()
    opened.header(0).click()
    opened.fill("input[type=search]", "<script>")
    opened.fill("input[type=search]", "")
    opened.header(0).click()
    opened.header(0).click()
    assert opened.script("return window.hit") is None
    assert not opened.all("#injected, img, b, iframe, body > svg, td svg, td script, [onerror]")
    assert opened.column(0) == [
        *(name.encode("utf-8", "replace").decode().replace("?", "\ufffd", 1)
          .replace("\x00", "\ufffd").replace("\x1b", "\ufffd")
          if "\ud800" in name else name for name in HOSTILE),
        "long" * 100,
    ]  # fmt: skip
    assert opened.driver.get_log("browser") == []


def test_labels_of_other_directions_do_not_affect_their_neighbors(opened: Opened) -> None:
    path = ["\u202eturned", "שוקו", "קר", "tea"]
    opened.show(Page("t", "", [Table("t", [Column("p", "path")], [Row((path,))])]))
    positions = opened.script(
        "return [...document.querySelectorAll('td bdi')]"
        ".map((name) => name.getBoundingClientRect().left)"
    )
    assert len(positions) == 4
    assert positions == sorted(positions)


def test_the_page_makes_no_requests(opened: Opened) -> None:
    opened.show(hostile_page())
    opened.find("button.open-all").click()
    requested = [
        message["params"]["request"]["url"]
        for entry in opened.driver.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    ]
    assert requested == [opened.file.as_uri()]
    assert opened.script("return performance.getEntriesByType('resource').length") == 0


def test_the_policy_blocks_requests_and_markup_from_text(opened: Opened) -> None:
    opened.show(foods(3))
    blocked = opened.driver.execute_async_script(
        """
        const done = arguments[arguments.length - 1], seen = [];
        addEventListener("securitypolicyviolation", (event) => {
          seen.push(event.effectiveDirective);
          if (seen.length === 4) done(seen.sort());
        });
        const image = new Image(); image.src = "https://example.org/a.png";
        document.body.append(Object.assign(document.createElement("iframe"), {src: "https://example.org"}));
        fetch("https://example.org/").catch(() => 0);
        try { document.body.insertAdjacentHTML("beforeend", "<p>"); } catch { }
        """
    )
    assert blocked == ["connect-src", "frame-src", "img-src", "require-trusted-types-for"]


@pytest.mark.parametrize("width", [375, pytest.param(768, marks=pytest.mark.slow), 1280])
@pytest.mark.parametrize("page", [demo_page(45), hostile_page()], ids=["demo", "hostile"])
def test_the_page_never_scrolls_sideways(opened: Opened, page: Page, width: int) -> None:
    screen = {**PHONE, "width": width}
    opened.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    opened.show(page)
    opened.find("button.open-all").click()
    assert opened.script("return innerWidth") == width
    assert opened.script("return document.documentElement.scrollWidth") <= width


def test_a_very_long_word_leaves_room_for_the_other_columns(opened: Opened) -> None:
    strange = Row(("long" * 100, "milk", 0.5, None, 3, ["food", "long" * 100]))
    opened.show(Page("t", "", [Table("t", COLUMNS, [strange, *rows(20)])]))
    content_width, visible_width = opened.script(
        "const box = document.querySelector('.rows'); return [box.scrollWidth, box.clientWidth]"
    )
    assert content_width <= visible_width


def test_texts_in_charts_stay_readable_on_a_phone(opened: Opened) -> None:
    opened.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    opened.show(demo_page(3))
    sizes = opened.script(
        "return [...document.querySelectorAll('svg')].map((svg) => svg.getScreenCTM().a * "
        "parseFloat(getComputedStyle(svg.querySelector('text')).fontSize))"
    )
    assert len(sizes) == 3
    assert min(sizes) >= 11


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_color_has_enough_contrast(opened: Opened, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    opened.show(demo_page(3))
    colours = opened.script(
        "const style = getComputedStyle(document.documentElement);"
        "return ['background', 'text', 'muted', 'accent', 'highlight'].map((name) => "
        "style.getPropertyValue('--' + name))"
    )
    background, *others = map(luminance, colours)
    assert (background < 0.1) == (scheme == "dark")
    for other in others:
        assert (max(background, other) + 0.05) / (min(background, other) + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """Return the relative luminance of a color as defined by WCAG."""
    digits = colour.strip().removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    parts = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.slow
def test_ten_thousand_rows_are_sorted_filtered_and_shown_in_chunks(opened: Opened) -> None:
    opened.show(foods(10_000, details=False))
    assert len(opened.column(0)) == 200
    opened.header(2).click()
    best = [f"{score:.2f}" for score in sorted(scores(10_000), reverse=True)]
    assert opened.column(2) == best[:200]
    assert opened.find(".show-more button").text == "Show 200 more of 9,800"
    opened.find(".show-more button").click()
    assert opened.column(2) == best[:400]
    opened.fill("input[type=search]", "ramen 600")
    assert opened.column(0) == ["ramen 600"]
    assert opened.count() == "1 of 10,000"
    assert not opened.find(".show-more").is_displayed()


@pytest.mark.slow
def test_printing_includes_all_filtered_rows_and_no_buttons(opened: Opened) -> None:
    opened.show(foods(260))
    opened.fill("input[data-column='2']", "0.5")
    expected = sum(score >= 0.5 for score in scores(260))
    assert 200 < expected < 260
    opened.script(
        "addEventListener('beforeprint', () => {"
        "  window.printed = document.querySelectorAll('tbody tr').length; });"
    )
    opened.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert opened.script("return window.printed") == expected
    assert len(opened.column(0)) == 200
    opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    for selector in ("button.open-all", ".show-more button", ".expander", "input"):
        assert not opened.find(selector).is_displayed()
    assert opened.find(".count").is_displayed()


def test_two_tables_are_independent(opened: Opened) -> None:
    opened.show(Page("t", "", [*foods(20).sections, *foods(30).sections]))
    opened.fill("section + section input[type=search]", "cheese")
    counts = [count.text for count in opened.all(".count")]
    assert counts[0] == "20 of 20"
    assert counts[1].endswith(" of 30")
    assert counts[1] != "30 of 30"


def test_a_short_table_has_no_toolbar(opened: Opened) -> None:
    opened.show(foods(3))
    assert not opened.find(".toolbar").is_displayed()
    opened.header(2).click()
    assert opened.sorted_by()[2] == "descending"
