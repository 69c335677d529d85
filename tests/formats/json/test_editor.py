from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.formats.json.document import parse
from taxoexpan.formats.json.editor import JsonEditor
from taxoexpan.formats.text_file import Insertion, TextFile
from tests.support.strategies import quickly

FLARE = """{
 "name": "food",
 "children": [
  {
   "name": "fruit", "tags": [ "a", "b" ],
   "children": [
    {"name": "apple"}
   ]
  }
 ]
}
"""
ROBOT = '{ "nodes" : [ {\n  "id" : 1\n}, {\n  "id" : 2\n} ] }'


def source(text: str) -> TextFile:
    return TextFile(Path("x.json"), text)


def edited(text: str, edit: Any) -> str:
    """Return a text after an edit of its value, which keeps every old character in order."""
    file = source(text)
    value = parse(file)
    insertions: list[Insertion] = edit(JsonEditor(file, [value], {}), value)
    return file.apply(insertions).decode("utf-8")


@pytest.mark.parametrize(
    ("text", "edit", "wanted"),
    [
        (
            FLARE,
            lambda editor, food: editor.append(food["children"][0]["children"], [{"name": "fig"}]),
            FLARE.replace('"apple"}', '"apple"},\n    {"name": "fig"}'),
        ),
        (
            FLARE,
            lambda editor, food: editor.add(
                food["children"][0]["children"][0], "children", [{"name": "gala", "tags": ["c"]}]
            ),
            FLARE.replace(
                '"apple"}',
                '"apple", "children": [\n     {"name": "gala", "tags": [ "c" ]}\n    ]}',
            ),
        ),
        (
            FLARE,
            lambda editor, food: [editor.set(food, "name", "Food")],
            FLARE.replace('"food"', '"Food"'),
        ),
        (
            ROBOT,
            lambda editor, graph: editor.append(graph["nodes"], [{"id": "3"}]),
            ROBOT.replace("2\n} ]", '2\n}, {\n  "id" : "3"\n} ]'),
        ),
        (
            '{"a": "x", "b": null, "c": []}',
            lambda editor, value: [
                *editor.add(value, "a", ["y"]),
                *editor.add(value, "b", ["z"]),
                *editor.add(value, "c", ["w"]),
            ],
            '{"a": ["x", "y"], "b": ["z"], "c": ["w"]}',
        ),
    ],
)
def test_new_values_are_laid_out_like_others_of_their_kind(
    text: str, edit: Any, wanted: str
) -> None:
    assert edited(text, edit) == wanted


VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1)


@given(DOCUMENTS, VALUES, st.sampled_from([None, 0, 2, "\t"]), st.sampled_from(["\n", "\r\n"]))
@quickly
def test_edits_change_one_value_only(
    old: dict[str, Any], value: Any, indent: Any, newline: str
) -> None:
    text = json.dumps(old, indent=indent).replace("\n", newline)
    for key in ("a", "new"):
        set_value = edited(text, lambda editor, root, key=key: [editor.set(root, key, value)])
        assert json.loads(set_value) == {**old, key: value}
        listed = edited(text, lambda editor, root, key=key: editor.add(root, key, [value]))
        before = deepcopy(old.get(key))
        before = before if isinstance(before, list) else [] if before is None else [before]
        assert json.loads(listed) == {**old, key: [*before, value]}
        assert newline in listed or "\n" not in listed
