from __future__ import annotations

from pathlib import Path

import pytest
from independent_readers import Comparison, compare_files

PREFIX = "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n"
FILES = {
    "a.ttl": (PREFIX + "<urn:f> a s:Concept .\n", "<urn:kiwi> s:broader <urn:f> .\n"),
    "a.csv": ("child,parent\nfruit,\napple,fruit\n", "kiwi,fruit\n"),
    "a.txt": ("fruit\nfruit > apple\n", "fruit > kiwi\n"),
    "a.obo": ("format-version: 1.2\n\n[Term]\nid: A:1\nname: fruit\n", "\n[Term]\nid: A:kiwi\n"),
}
"""An original, and the text that adds a concept at its end."""

LOSSES = {
    "a.ttl": ("s:Concept", "s:Collection"),
    "a.csv": ("apple,fruit", "apple,"),
    "a.txt": ("fruit > apple\n", ""),
    "a.obo": ("name: fruit", "name: fruits"),
}


def compare(folder: Path, name: str, old: str, new: str) -> Comparison:
    for place, text in (("old", old), ("new", new)):
        (folder / place).mkdir()
        (folder / place / name).write_text(text, encoding="utf-8")
    return compare_files(folder / "old" / name, folder / "new" / name, "paths")


@pytest.mark.parametrize("name", FILES)
def test_additions_are_found_and_nothing_is_missing(tmp_path: Path, name: str) -> None:
    old, added = FILES[name]
    found = compare(tmp_path, name, old, old + added)
    assert found.missing == []
    assert "kiwi" in " ".join(found.added)


@pytest.mark.parametrize("name", FILES)
def test_changed_content_is_missing(tmp_path: Path, name: str) -> None:
    old, added = FILES[name]
    assert compare(tmp_path, name, old, old.replace(*LOSSES[name]) + added).missing


def test_rows_in_another_order_are_missing(tmp_path: Path) -> None:
    assert compare(tmp_path, "a.csv", "id\na\nb\n", "id\nb\na\n").missing


JSON = '[{"id": 1, "tags": ["a", "b"], "children": null}]'


@pytest.mark.parametrize(
    "new",
    [
        '[{"id": 1, "tags": ["b", "a"], "children": null}]',
        '[{"id": 1, "tags": ["a"], "children": null}]',
        '[{"id": "1", "tags": ["a", "b"], "children": null}]',
        '[{"id": 1, "children": null}]',
    ],
)
def test_changed_json_is_missing(tmp_path: Path, new: str) -> None:
    assert compare(tmp_path, "a.json", JSON, new).missing


def test_a_null_may_become_a_list_of_children(tmp_path: Path) -> None:
    found = compare(tmp_path, "a.json", JSON, JSON.replace("null", '[{"id": 2}]'))
    assert found.missing == []
    assert found.states(['"id": 2'], ["1"])
    assert not found.states(['"id": 3'], ["1"])
