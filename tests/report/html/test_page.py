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
    Figure,
    Figures,
    Neighbour,
    Page,
    Place,
    Row,
    Table,
    Text,
    Tree,
    html,
)
from taxoexpan.report.html.element import as_compact, as_html, element
from taxoexpan.report.html.sortable_table import CHUNK


class Read(HTMLParser):
    """What a reader of HTML finds: tags, attributes, the texts of cells and the JSON."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.islands: list[str] = []
        self._island = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._island = ("type", "application/json") in attrs

    def handle_data(self, data: str) -> None:
        if self._island:
            self.islands.append(data)
        self._island = False
        self.texts.append(data)


def everywhere(name: str) -> Page:
    """A page that has a name at every place where a name can be."""
    tree = Tree(name, Place([name, name], [Neighbour(name, 0.5)], 3), Place([name]), name)
    row = Row((name, [name, name]), Details([name], [(name, name), (name, [name, name])], tree))
    table = Table(name, [Column(name), Column(name, "path")], [row], name)
    figures = Figures(name, [Figure(name, name, name)])
    return Page(name, name, [figures, Text(name, [name]), table], name)


def texts(compact: str | list[object]) -> list[str]:
    """All texts of a compact node."""
    if isinstance(compact, str):
        return [compact]
    return [text for child in compact[2:] for text in texts(child)]  # type: ignore[arg-type]


def check_harmless(name: str) -> None:
    page = html(everywhere(name))
    page.encode()  # would fail where UTF-8 cannot hold it
    # As long, since a long word has a class of its own.
    read, plain = Read(page), Read(html(everywhere(re.sub(r"\S", "x", name))))
    assert read.tags == plain.tags
    assert [key for key, _ in read.attributes] == [key for key, _ in plain.attributes]
    assert len(read.islands) == 1
    ((cells, _, details),) = json.loads(read.islands[0])["rows"]
    wanted = re.sub("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", name)
    assert texts(cells[0][0]) == [wanted]
    assert wanted in texts(details)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_becomes_markup(name: str) -> None:
    check_harmless(name)


@given(st.text(st.sampled_from("<>/\"'&!-]=; \nscriptyleb\u202e\ud800\x00"), min_size=1))
def test_no_text_becomes_markup(name: str) -> None:
    check_harmless(name)


def test_texts_and_attributes_are_escaped_each_in_its_way() -> None:
    made = element("p", "a < b & \"c\" 'd'", title="\"><b>'")
    assert as_html(made) == ('<p title="&quot;&gt;&lt;b&gt;&#x27;">a &lt; b &amp; "c" \'d\'</p>')
    assert as_compact(made) == ["p", {"title": "\"><b>'"}, "a < b & \"c\" 'd'"]
    assert as_compact(element("p", element("b", "x"))) == ["p", 0, ["b", 0, "x"]]


def test_nothing_in_the_json_ends_its_element() -> None:
    row = Row(("</script><!--<script>",))
    page = html(Page("t", "", [Table("t", [Column("c")], [row])]))
    island = page.split('<script type="application/json">')[1].split("</script>")[0]
    assert "<" not in island
    assert "</script><!--<script>" in texts(json.loads(island)["rows"][0][0][0][0])


def test_the_same_page_is_the_same_text() -> None:
    assert html(demo_page(30)) == html(demo_page(30))


def test_the_policy_lets_nothing_in_but_our_own_style_and_script() -> None:
    page = html(demo_page(3))
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
    # It must stand before what it is to rule.
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_nothing_is_linked_from_elsewhere() -> None:
    page = html(demo_page(30))
    read = Read(page)
    assert not {"src", "href", "style", "action"} & {key for key, _ in read.attributes}
    assert not [key for key, _ in read.attributes if key.startswith("on")]
    assert "://" not in page
    assert "url(" not in page
    assert "@import" not in page


def test_without_a_script_the_first_rows_are_there_and_the_rest_is_told() -> None:
    table = Table("t", [Column("c")], [Row((f"n{place}",)) for place in range(1234)])
    page = html(Page("t", "", [table]))
    body = page.split("<tbody")[1].split("</tbody>")[0]
    assert re.findall("<bdi>(.*?)</bdi>", body) == [f"n{place}" for place in range(CHUNK)]
    assert "These are the first 200 of 1,234 rows; the others need JavaScript." in page
    few = replace(table, rows=table.rows[:CHUNK])
    assert "JavaScript" not in html(Page("t", "", [few])).split("</tbody>")[1].split("<script>")[0]


def test_without_a_script_details_open_by_themselves() -> None:
    page = html(Page("t", "", [Table("t", COLUMNS, rows(1))]))
    assert "<details><summary>Details</summary>" in page


@pytest.mark.parametrize(
    ("kind", "cell", "shown"),
    [
        ("number", 1234, "1,234"),
        ("number", 1234.5678, "1,234.57"),
        ("share", 0.5, "0.50"),
        ("share", 1, "1.00"),
        ("share", None, "–"),
        ("number", float("nan"), "–"),
        ("number", float("inf"), "–"),
        ("text", 7, "<bdi>7</bdi>"),
        ("text", None, ""),
        ("path", ("food", "tea"), "<bdi>food</bdi> › <bdi>tea</bdi>"),
        ("path", "tea", "<bdi>tea</bdi>"),
    ],
)
def test_a_cell_is_written_by_the_kind_of_its_column(kind: str, cell: object, shown: str) -> None:
    page = html(Page("t", "", [Table("t", [Column("c", kind)], [Row((cell,))])]))  # type: ignore[arg-type]
    assert f'class="{kind}" data-name="c">{shown}</td>' in page


def test_a_row_with_too_few_cells_is_refused() -> None:
    table = Table("t", [Column("a"), Column("b")], [Row(("x", "y")), Row(("x",))])
    with pytest.raises(ValueError, match="row 2 of 't' has 1 cells, but there are 2 columns"):
        html(Page("t", "", [table]))


def test_a_text_in_a_column_of_numbers_is_refused() -> None:
    table = Table("t", [Column("score", "share")], [Row(("0.5",))])
    with pytest.raises(TypeError, match=r"'0\.5' in the column 'score' is not a Python number"):
        html(Page("t", "", [table]))


def test_a_page_of_nothing_is_a_page() -> None:
    read = Read(html(Page("t", "", [])))
    assert read.tags.count("main") == 1
    assert "section" not in read.tags


def test_style_and_script_are_plain_files_of_the_package() -> None:
    folder = Path(html_package.__file__).parent
    for name in ("style.css", "table.js"):
        assert "</" not in (folder / name).read_text("utf-8")
