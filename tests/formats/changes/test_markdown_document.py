from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.formats.changes.markdown import (
    MAX_CHARACTERS,
    MAX_LISTED,
    code,
    document,
    escape,
)


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
