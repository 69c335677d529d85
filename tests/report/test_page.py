from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.report.page import (
    CHUNK,
    MAX_PATH,
    Column,
    Details,
    KeyFigure,
    KeyFigures,
    Neighbor,
    Page,
    Row,
    Table,
    TextSection,
    Tree,
    TreePosition,
    render,
)
from tests.support.demo_report import COLUMNS, HOSTILE, demo_page, rows


class ParsedPage(HTMLParser):
    """The tags, attributes and texts of a page, and the items of its tree by depth."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.items: list[str] = []
        self._depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._depth += tag == "ul"
        if tag == "li":
            self.items.append("  " * (self._depth - 1))

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "ul"

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._depth and data.strip("\n"):
            self.items[-1] += data


def page_full_of(name: str, count: int = 1) -> Page:
    """Return a page with a name wherever a name can occur."""
    tree = Tree(
        name,
        TreePosition([name, name], [Neighbor(name, 0.5, name)], 3, [Neighbor(name)]),
        TreePosition([name]),
        (name, name),
    )
    row = Row((name, [name, name]), Details([name], [(name, name), (name, [name, name])], tree))
    table = Table(name, [Column(name), Column(name, "path")], [row] * count, name)
    figures = KeyFigures(name, [KeyFigure(name, name, name)])
    return Page(name, name, [figures, TextSection(name, [name]), table])


def check_harmless(name: str, count: int = 1) -> None:
    page = render(page_full_of(name, count))
    page.encode()  # fails for characters that UTF-8 cannot encode
    # The plain name has the same length, because long words have a class of their own.
    same = page_full_of(re.sub(r"\S", "x", name), count)
    read, plain = ParsedPage(page), ParsedPage(render(same))
    assert read.tags == plain.tags
    assert [key for key, _ in read.attributes] == [key for key, _ in plain.attributes]
    expected = re.sub("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", name)
    assert expected in "".join(read.texts)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_name_becomes_markup(name: str) -> None:
    check_harmless(name)


def test_no_hostile_name_in_a_template_becomes_markup() -> None:
    check_harmless(" ".join(HOSTILE), CHUNK + 1)  # the last row is in a template


@given(st.text(st.sampled_from("<>/\"'&!-]=; \nscriptyleb\u202e\ud800\x00{%}"), min_size=1))
def test_no_text_becomes_markup(name: str) -> None:
    check_harmless(name)


def test_equal_pages_give_equal_texts() -> None:
    assert render(demo_page(30)) == render(demo_page(30))


def test_the_policy_allows_only_the_style_and_script_of_the_page() -> None:
    page = render(demo_page(3))
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert len(policy) == 1
    rules = dict(rule.split(" ", 1) for rule in policy[0].replace("&#39;", "'").split("; "))
    assert rules["default-src"] == "'none'"
    sources = {key for key in rules if key.endswith("-src")}
    assert sources == {"default-src", "style-src", "script-src"}
    (style,) = re.findall("<style>(.*?)</style>", page, re.S)
    (script,) = re.findall("<script>(.*?)</script>", page, re.S)
    for text, key in ((style, "style-src"), (script, "script-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[key] == f"'sha256-{digest}'"
    # The policy must come before the elements that it applies to.
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_the_page_links_to_nothing() -> None:
    page = render(demo_page(30))
    read = ParsedPage(page)
    assert not {"src", "href", "style", "action"} & {key for key, _ in read.attributes}
    assert not [key for key, _ in read.attributes if key.startswith("on")]
    for link in ("://", "url(", "@import"):
        assert link not in page


def test_without_a_script_the_first_rows_are_shown_and_the_others_counted() -> None:
    table = Table("t", [Column("c")], [Row((f"n{index}",)) for index in range(1234)])
    page = render(Page("t", "", [table]))
    body = page.split("<tbody")[1].split("</tbody>")[0]
    assert re.findall("<bdi>(.*?)</bdi>", body) == [f"n{index}" for index in range(CHUNK)]
    assert "These are the first 200 of 1,234 rows. The others need JavaScript." in page
    few = render(Page("t", "", [replace(table, rows=table.rows[:CHUNK])]))
    assert "need JavaScript" not in few


def test_without_a_script_details_can_be_opened() -> None:
    page = render(Page("t", "", [Table("t", COLUMNS, rows(1))]))
    assert "<details><summary>Details</summary>" in page


@pytest.mark.parametrize(
    ("kind", "cell", "shown"),
    [
        ("number", 1234, "1,234"),
        ("number", 1234.5678, "1,234.57"),
        ("fraction", 0.5, "0.50"),
        ("fraction", 1, "1.00"),
        ("fraction", None, "–"),
        ("number", float("nan"), "–"),
        ("number", float("inf"), "–"),
        ("text", 7, "<bdi>7</bdi>"),
        ("text", None, ""),
        ("path", ("food", "tea"), "<bdi>food</bdi> › <bdi>tea</bdi>"),
        ("path", "tea", "<bdi>tea</bdi>"),
    ],
)
def test_a_cell_is_formatted_by_the_kind_of_its_column(kind: str, cell: object, shown: str) -> None:
    page = render(Page("t", "", [Table("t", [Column("c", kind)], [Row((cell,))])]))  # type: ignore[arg-type]
    drawn = re.search(rf'class="{kind}" data-name="c"[^>]*>(.*?)</td>', page)
    assert drawn is not None
    assert drawn[1] == shown


def test_an_empty_page_can_be_rendered() -> None:
    read = ParsedPage(render(Page("t", "", [])))
    assert read.tags.count("main") == 1
    assert "section" not in read.tags


def outline(tree: Tree) -> list[str]:
    """Return the lines of the tree, each indented by its depth."""
    row = Row(("x",), Details(tree=tree))
    return ParsedPage(render(Page("t", "", [Table("t", [Column("c")], [row])]))).items


def test_a_new_concept_is_under_its_parent_before_its_siblings() -> None:
    siblings = [Neighbor("chai", 0.8765), Neighbor("maté", 0.5), Neighbor("oolong")]
    position = TreePosition(["food", "tea"], siblings, 37, number="0.61")
    assert outline(Tree("bubble tea", position)) == [
        "food",
        "  tea",
        "    bubble tea new, 0.61",
        "    chai cosine 0.88",
        "    maté 0.50",
        "    oolong",
        "    and 37 more",
    ]


@pytest.mark.parametrize(
    ("first", "second", "lines"),
    [
        (
            ["food", "milk", "soy"],
            ["food", "tea"],
            ["food", "  milk", "    soy", "      x new", "  tea", "    x runner-up"],
        ),
        (["food", "milk"], ["food"], ["food", "  milk", "    x new", "  x runner-up"]),
        (["food"], ["food", "milk"], ["food", "  x new", "  milk", "    x runner-up"]),
        (["food"], ["drink"], ["food", "  x new", "drink", "  x runner-up"]),
        # Two concepts of one label.
        (
            ["food", "milk"],
            ["food", "milk"],
            ["food", "  milk", "    x new", "  milk", "    x runner-up"],
        ),
    ],
)
def test_the_common_start_of_two_paths_is_drawn_once(
    first: list[str], second: list[str], lines: list[str]
) -> None:
    assert outline(Tree("x", TreePosition(first), TreePosition(second))) == lines


def test_a_concept_without_a_parent_is_a_root() -> None:
    assert outline(Tree("x", TreePosition([], [Neighbor("food")]))) == ["x new", "food"]


def test_concepts_that_may_move_are_under_the_new_one() -> None:
    moves = [Neighbor("matcha", 0.7, "may move here")]
    position = TreePosition(["tea"], [Neighbor("chai")], children=moves)
    assert outline(Tree("green tea", position)) == [
        "tea",
        "  green tea new",
        "    matcha cosine 0.70 may move here",
        "  chai",
    ]


@given(st.integers(0, 3 * MAX_PATH), st.integers(0, 3 * MAX_PATH), st.integers(0, 20))
def test_every_concept_of_both_paths_is_shown_or_counted(
    first: int, second: int, shared: int
) -> None:
    common = [f"c{n}" for n in range(shared)]
    tree = Tree(
        "x",
        TreePosition([*common, *(f"a{n}" for n in range(first))]),
        TreePosition([*common, *(f"b{n}" for n in range(second))]),
    )
    lines = [line.strip() for line in outline(tree)]
    counted = sum(int(line.split()[1]) for line in lines if line.startswith("…"))
    shown = sum(not line.startswith(("…", "x ")) for line in lines)
    twice = 1 if first == second == 0 and shared else 0  # two concepts of the same label
    assert shown + counted == shared + first + second + twice
    assert max(len(line) - len(line.lstrip()) for line in outline(tree)) <= 2 * 2 * MAX_PATH
