"""JSON of which a part would be lost: other kinds of files, lists beside the concepts, texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from taxoexpan.formats.taxonomy_file import TaxonomyFile
from tests.support.expanded_files import refusal, write_file

STIX = {
    "type": "bundle",
    "id": "bundle--1",
    "objects": [
        {"type": "attack-pattern", "id": f"attack-pattern--{n}", "name": f"Technique {n}"}
        for n in range(1200)
    ]
    + [{"type": "relationship", "id": "relationship--1", "source_ref": "a", "target_ref": "b"}],
}
PACKAGE = {
    "name": "shop",
    "description": "A shop",
    "scripts": {"test": "jest"},
    "dependencies": {"react": "18", "next": "14"},
}
FEATURE = {
    "id": "b1",
    "type": "Feature",
    "geometry": {"type": "Point", "coordinates": [1, 2]},
    "properties": {"theme": "buildings"},
}
FEATURES = {"type": "FeatureCollection", "name": "towns", "features": [FEATURE, FEATURE]}
OPENAPI = {
    "openapi": "3.0.0",
    "info": {"title": "Shop", "version": "1"},
    "tags": [{"name": "carts", "description": "Carts"}],
    "paths": {"/carts": {"get": {"responses": {"200": {"description": "done"}}}}},
}
CLUSTER = {
    "name": "Sectors",
    "uuid": "u1",
    "values": [{"value": name, "uuid": name} for name in ("Energy", "Food", "Health")],
}
LEVELS = {"L1": [{"code": "A", "label": "Farms", "L2": [{"label": "Crops"}, {"label": "Cows"}]}]}
COCO = {
    "images": [{"id": 1}],
    "annotations": [{"id": 1, "category_id": 1}, {"id": 2, "category_id": 1}],
    "categories": [{"id": 1, "name": "person", "supercategory": "being"}],
}


def opened(folder: Path, value: Any) -> TaxonomyFile:
    return TaxonomyFile.open(write_file(folder / "x.json", json.dumps(value, indent=1)))


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (STIX, "'objects' (1,201 entries)"),
        (PACKAGE, "'scripts' (1 entry), 'dependencies' (2 entries)"),
        (FEATURE, "'geometry' (2 entries), 'properties' (1 entry)"),
        (FEATURES, "'features' (2 entries)"),
        (OPENAPI, "'info' (2 entries), 'paths' (1 entry)"),
        (CLUSTER, "'values' (3 entries)"),
        (LEVELS, "'L2' (2 entries)"),
        (COCO, "'images' (1 entry), 'annotations' (2 entries)"),
    ],
    ids=["stix", "package", "feature", "features", "openapi", "cluster", "levels", "coco"],
)
def test_a_file_of_which_most_would_be_lost_is_refused(
    tmp_path: Path, value: Any, seen: str
) -> None:
    message = refusal(write_file(tmp_path / "x.json", json.dumps(value)))
    assert "line 1: no relation is known, and only 1 concept would be read" in message
    assert seen in message
    assert '"parents"' in message


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ({"taxonomy": {"Food": {"Fruit": {}}}}, "'taxonomy' (1 entry)"),
        ({"C": {"type": "language"}, "Go": {"type": "language"}}, "'C' (1 entry), 'Go' (1 entry)"),
        ({"DescriptorRecordSet": {"DescriptorRecord": [{"DescriptorUI": "D1"}]}}, "RecordSet"),
        ({"predicates": [{"value": "a"}], "values": []}, "'predicates' (1 entry)"),
    ],
)
def test_a_refusal_names_the_keys_that_were_seen(tmp_path: Path, value: Any, seen: str) -> None:
    message = refusal(write_file(tmp_path / "x.json", json.dumps(value)))
    assert "no concepts found under the keys" in message
    assert seen in message


RECORDS = [{"id": "f", "name": "fruit"}, {"id": "a", "name": "apple", "parent_code": "f"}]


@pytest.mark.parametrize(
    "value",
    [
        {"version": "1", "name": "Food", "data": RECORDS},
        {"status": "ok", "result": {"items": RECORDS, "page": {"size": 2}}},
    ],
)
def test_records_in_a_wrapper_are_read_with_their_parents(tmp_path: Path, value: Any) -> None:
    file = opened(tmp_path, value)
    assert list(file.taxonomy.relations) == [("f", "a")]
    assert not file.notes


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"id": "t", "title": "Terms", "terms_used": ["a", "b"]}, "only one concept was found"),
        ([{"name": "a"}, {"name": "b"}], "none of the 2 concepts has a parent or a child"),
    ],
)
def test_a_file_without_relations_is_noted(tmp_path: Path, value: Any, message: str) -> None:
    (note,) = opened(tmp_path, value).notes
    assert note.line == 1
    assert message in note.message


def test_lists_of_one_name_in_several_objects_are_not_overwritten(tmp_path: Path) -> None:
    value = {"Food": {"items": [{"name": "apple"}]}, "Tools": {"items": [{"name": "saw"}]}}
    message = refusal(write_file(tmp_path / "x.json", json.dumps(value)))
    assert "several lists of objects could be the concepts: 'items' (1 entry), 'items'" in message


@pytest.mark.parametrize("count", [1, 2])
def test_labels_above_lists_of_concepts_are_noted(tmp_path: Path, count: int) -> None:
    inner = [{"id": 1, "name": "fruit"}, {"id": 2, "name": "apple", "parent": 1}]
    others = [{"name": "Tools", "categories": [{"id": 3, "name": "saw"}]}]
    value = {"data": [{"name": "Food", "categories": inner}, *others][:count]}
    (note,) = opened(tmp_path, value).notes
    assert "such as 'Food', are not read" in note.message
    assert "rename 'categories' to 'children'" in note.message


def test_a_second_list_of_concepts_is_noted(tmp_path: Path) -> None:
    value = {"nodes": RECORDS, "categories": [{"name": "colors"}]}
    (note,) = opened(tmp_path, value).notes
    assert "'categories' lists objects with labels, but another list" in note.message


def test_a_key_that_may_have_the_labels_is_noted(tmp_path: Path) -> None:
    value = [{"id": "f", "value": "fruit"}, {"id": "a", "value": "apple", "parent": "f"}]
    (note,) = opened(tmp_path, value).notes
    assert "rename 'value' to 'label'" in note.message
    assert not opened(tmp_path, [{"id": "f"}, {"id": "a", "parent": "f"}]).notes


def test_synonyms_in_one_text_are_noted(tmp_path: Path) -> None:
    value = [
        {"id": "f", "name": "fruit", "synonyms": "fruits; edible fruits"},
        {"id": "a", "name": "apple", "synonyms": "apples|malus", "parent": "f"},
    ]
    (note,) = opened(tmp_path, value).notes
    assert "'synonyms' is one text with ';' or '|' in 2 objects" in note.message
    assert not opened(tmp_path, [value[0], {**value[1], "synonyms": ["a; b"]}]).notes


def test_numbers_of_children_are_not_taken_for_ids(tmp_path: Path) -> None:
    value = [{"code": str(n), "name": f"n{n}", "children_count": 2} for n in (1, 2, 3)]
    (note,) = opened(tmp_path, value).notes
    assert "none of the 3 concepts" in note.message


@pytest.mark.parametrize("status", ["deprecated", "Obsolete", "withdrawn"])
def test_other_names_and_a_status_are_read(tmp_path: Path, status: str) -> None:
    value = [
        {"uri": "1", "name": "quasar", "altNames": ["QSO"], "status": "active"},
        {"uri": "2", "name": "old", "status": status, "broader": [{"uri": "1"}]},
    ]
    quasar, old = opened(tmp_path, value).taxonomy.concepts
    assert quasar.synonyms == ("QSO",)
    assert (quasar.deprecated, old.deprecated) == (False, True)


def test_a_key_that_continues_a_tree_below_its_leaves_is_noted(tmp_path: Path) -> None:
    apple = {"name": "apple", "varieties": [{"name": "gala"}]}
    shops = [{"name": "market"}]
    value = {"name": "food", "shops": shops, "children": [apple, {"name": "pear", "shops": shops}]}
    (note,) = opened(tmp_path, value).notes
    assert "'varieties' lists objects with labels" in note.message
