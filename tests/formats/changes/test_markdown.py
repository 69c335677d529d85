from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.formats.changes.markdown import (
    MAX_CHARACTERS,
    MAX_LISTED,
    changes_markdown,
    code,
    document,
    escape,
)
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.difference import Difference
from tests.support.strategies import quickly

WORDS = ("food", "drink", "oat milk", "tea", "mud")
OLD = Taxonomy(
    [Concept(str(n), word) for n, word in enumerate(WORDS, start=1)],
    [("1", "2"), ("2", "3"), ("2", "4"), ("2", "5")],
)
NEW = Taxonomy(
    [
        *(Concept("1", "food"), Concept("2", "drinks"), Concept("3", "oat milk", ("oat drink",))),
        *(Concept("4", "tea", deprecated=True), Concept("6", "milk", ("moo",), "white")),
    ],
    [("1", "2"), ("6", "3"), ("2", "6"), ("2", "4"), ("1", "4")],
)


def test_changes_have_labels_ids_and_paths() -> None:
    text = changes_markdown(Difference(OLD, NEW), [("1", "11")], title="Changes in food.ttl")
    sections = {
        "Added (1)": ["**milk** (`6`) under food › drinks; synonym moo; definition: white"],
        "Moved (2)": [
            "**oat milk** (`3`): from food › drink to food › drinks › milk",
            "**tea** (`4`): now also under food",
        ],
        "Renamed (1)": ["drink → **drinks** (`2`)"],
        "Described (2)": [
            "**oat milk** (`3`): 1 new synonym oat drink",
            "**tea** (`4`): deprecated",
        ],
        "Id changed (1)": ["**food**: `1` → `11`"],
        "Removed (1)": ["**mud** (`5`), which was under food › drink"],
    }
    assert text == (
        "<!-- taxoexpan: Changes in food.ttl -->\n## Changes in food.ttl\n\n"
        "1 added, 2 moved, 1 renamed, 2 described, 1 id changed and 1 removed.\n"
    ) + "".join(
        f"\n### {name}\n\n" + "".join(f"- {entry}\n" for entry in entries)
        for name, entries in sections.items()
    )


def test_no_change_is_said() -> None:
    assert changes_markdown(Difference(OLD, OLD)) == (
        "<!-- taxoexpan: Changes -->\n## Changes\n\nNo changes.\n"
    )


def test_very_long_lists_are_cut() -> None:
    many = Taxonomy([Concept(str(n), f"c{n}") for n in range(MAX_LISTED + 7)])
    lines = changes_markdown(Difference(Taxonomy([]), many)).splitlines()
    assert lines[-1] == "- … and 7 more, which are not listed here"
    assert len(lines) == MAX_LISTED + 8


def test_a_lost_parent_is_named() -> None:
    concepts = [Concept("1", "food"), Concept("2", "drink"), Concept("3", "tea")]
    both, one, none = [("1", "3"), ("2", "3")], [("2", "3")], list[tuple[str, str]]()
    for before, after, steps in (
        (both, one, "no longer under food"),
        (one, none, "no longer under drink, now at the top"),
        (one, both, "now also under food"),
        (none, one, "now under drink"),
    ):
        difference = Difference(Taxonomy(concepts, before), Taxonomy(concepts, after))
        text = changes_markdown(difference)
        assert f"**tea** (`3`): {steps}\n" in text


def test_nobody_is_mentioned_and_no_issue_is_linked() -> None:
    text = escape("@octocat fixes #12 and GH-3, see https://x.org or www.x.org :tada:")
    for reference in ("@octocat", "#12", "GH-3", "https://", "www.x", ":tada:"):
        assert reference not in text
    assert re.sub("<!-- -->", "", text).endswith("www.x.org :tada:")


@given(st.text(st.sampled_from(list("ab1_ `*_[](){}<>&#%+-.!|~$\\@:/'\"=^\n")), min_size=1))
@quickly
def test_markdown_shows_labels_and_ids_as_they_are(text: str) -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    shown = " ".join(text.split())
    if not shown:
        return
    for written, kind in ((escape(text), "text"), (code(text), "code_inline")):
        (inline,) = (t for t in markdown.parse(f"- x {written} y") if t.type == "inline")
        pieces = [t.content for t in inline.children if t.type in (kind, "text", "text_special")]
        content = "".join(pieces)
        assert content == f"x {shown} y"
        allowed = {kind, "text", "text_special", "html_inline"}
        assert {t.type for t in inline.children} <= allowed


@pytest.mark.parametrize("length", [100, 2_000, 70_000])
def test_a_document_fits_into_a_comment_and_says_what_is_missing(length: int) -> None:
    sections = {"Added": ["ä" * length] * 300, "Removed": ["x"] * 3, "Moved": []}
    text = document("Changes", "Many.", sections)
    assert len(text) <= MAX_CHARACTERS < 65_536
    listed = text.count("ä" * length)
    assert listed == {100: MAX_LISTED, 2_000: 25, 70_000: 0}[length]
    assert f"{300 - listed} more, which are not listed here" in text
    assert text.count("- x") == 3
    assert "### Added (300)" in text
    assert "Moved" not in text


def test_a_document_starts_with_a_marker_that_is_not_shown() -> None:
    text = document("Changes in a-->b.ttl", "None.", {})
    first, second, *_ = text.splitlines()
    assert re.fullmatch(r"<!-- [^<>]* -->", first)
    assert second == "## Changes in a--\\>b.ttl"
    assert document("Changes in b.ttl", "None.", {}).splitlines()[0] != first


def test_characters_that_hide_text_are_shown_as_escapes() -> None:
    assert escape("a\u202eb\x1b") == r"a\\u202eb\\x1b"
    assert code("a\u202eb") == r"`a\u202eb`"
