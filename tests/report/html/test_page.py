from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from demoreport import COLUMNS, HOSTILE, demo_page, rows
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.report import html as html_package
from taxoexpan.report.html import (
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
from taxoexpan.report.html.element import element, to_html, to_json_node
from taxoexpan.report.html.sortable_table import CHUNK


class ParsedPage(HTMLParser):
    """The tags, attributes, texts and JSON of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.json_texts: list[str] = []
        self._is_json = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._is_json = ("type", "application/json") in attrs

    def handle_data(self, data: str) -> None:
        if self._is_json:
            self.json_texts.append(data)
        self._is_json = False
        self.texts.append(data)


def page_full_of(name: str) -> Page:
    """Return a page with a name wherever a name can occur."""
    tree = Tree(
        name,
        TreePosition([name, name], [Neighbor(name, 0.5, name)], 3, [Neighbor(name)]),
        TreePosition([name]),
        (name, name),
    )
    row = Row((name, [name, name]), Details([name], [(name, name), (name, [name, name])], tree))
    table = Table(name, [Column(name), Column(name, "path")], [row], name)
    figures = KeyFigures(name, [KeyFigure(name, name, name)])
    return Page(name, name, [figures, TextSection(name, [name]), table], name)


def texts(node: str | list[object]) -> list[str]:
    """Return all texts of a JSON node."""
    if isinstance(node, str):
        return [node]
    return [text for child in node[2:] for text in texts(child)]  # type: ignore[arg-type]


def check_harmless(name: str) -> None:
    page = render(page_full_of(name))
    page.encode()  # fails for characters that UTF-8 cannot encode
    # The plain name has the same length, because long words have a class of their own.
    read, plain = ParsedPage(page), ParsedPage(render(page_full_of(re.sub(r"\S", "x", name))))
    assert read.tags == plain.tags
    assert [key for key, _ in read.attributes] == [key for key, _ in plain.attributes]
    assert len(read.json_texts) == 1
    ((cells, _, details),) = json.loads(read.json_texts[0])["rows"]
    expected = re.sub("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", name)
    assert texts(cells[0][0]) == [expected]
    assert expected in texts(details)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_name_becomes_markup(name: str) -> None:
    check_harmless(name)


@given(st.text(st.sampled_from("<>/\"'&!-]=; \nscriptyleb\u202e\ud800\x00"), min_size=1))
def test_no_text_becomes_markup(name: str) -> None:
    check_harmless(name)


def test_texts_and_attributes_are_escaped() -> None:
    made = element("p", "a < b & \"c\" 'd'", title="\"><b>'")
    assert to_html(made) == ('<p title="&quot;&gt;&lt;b&gt;&#x27;">a &lt; b &amp; "c" \'d\'</p>')
    assert to_json_node(made) == ["p", {"title": "\"><b>'"}, "a < b & \"c\" 'd'"]
    assert to_json_node(element("p", element("b", "x"))) == ["p", 0, ["b", 0, "x"]]


def test_no_json_text_ends_the_script_element() -> None:
    row = Row(("</script><!--<script>",))
    page = render(Page("t", "", [Table("t", [Column("c")], [row])]))
    json_text = page.split('<script type="application/json">')[1].split("</script>")[0]
    assert "<" not in json_text
    assert "</script><!--<script>" in texts(json.loads(json_text)["rows"][0][0][0][0])


def test_equal_pages_give_equal_texts() -> None:
    assert render(demo_page(30)) == render(demo_page(30))


def test_the_policy_allows_only_the_style_and_script_of_the_page() -> None:
    page = render(demo_page(3))
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert len(policy) == 1
    rules = dict(rule.split(" ", 1) for rule in policy[0].replace("&#x27;", "'").split("; "))
    assert rules["default-src"] == "'none'"
    assert not {key for key in rules if key.endswith("-src")} - {
        "default-src",
        "style-src",
        "script-src",
    }
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
    assert "://" not in page
    assert "url(" not in page
    assert "@import" not in page


def test_without_a_script_the_first_rows_are_shown_and_the_others_counted() -> None:
    table = Table("t", [Column("c")], [Row((f"n{index}",)) for index in range(1234)])
    page = render(Page("t", "", [table]))
    body = page.split("<tbody")[1].split("</tbody>")[0]
    assert re.findall("<bdi>(.*?)</bdi>", body) == [f"n{index}" for index in range(CHUNK)]
    assert "These are the first 200 of 1,234 rows. The others need JavaScript." in page
    few = replace(table, rows=table.rows[:CHUNK])
    assert (
        "JavaScript" not in render(Page("t", "", [few])).split("</tbody>")[1].split("<script>")[0]
    )


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
    assert f'class="{kind}" data-name="c">{shown}</td>' in page


def test_a_row_with_too_few_cells_is_rejected() -> None:
    table = Table("t", [Column("a"), Column("b")], [Row(("x", "y")), Row(("x",))])
    with pytest.raises(ValueError, match="row 2 of 't' has 1 cells, but there are 2 columns"):
        render(Page("t", "", [table]))


def test_a_text_in_a_number_column_is_rejected() -> None:
    table = Table("t", [Column("score", "fraction")], [Row(("0.5",))])
    with pytest.raises(TypeError, match=r"'0\.5' in the column 'score' is not a Python number"):
        render(Page("t", "", [table]))


def test_an_empty_page_can_be_rendered() -> None:
    read = ParsedPage(render(Page("t", "", [])))
    assert read.tags.count("main") == 1
    assert "section" not in read.tags


def test_style_and_script_are_plain_files_of_the_package() -> None:
    folder = Path(html_package.__file__).parent
    for name in ("style.css", "table.js"):
        assert "</" not in (folder / name).read_text("utf-8")
