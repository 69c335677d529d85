"""JSON as others write it: references as objects, copies, nulls, envelopes and JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.formats.json.document import LINES_SUFFIXES
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from tests.support.expanded_files import KIWI, refusal, under, write_expanded, write_file
from tests.support.strategies import Growth, growths, names, quickly

BERRY = Concept("b", "berry")


def taxonomy_of(folder: Path, text: str, name: str = "food.json") -> Taxonomy:
    return TaxonomyFile.open(write_file(folder / name, text)).taxonomy


def expanded(folder: Path, text: str, additions: Additions, name: str = "food.json") -> str:
    """Return the text of the expanded file, which was read back before it was written."""
    path = write_file(folder / name, text)
    output = path.with_stem("new")
    write_expanded(path, additions, output, force=True)
    assert TaxonomyFile.open(output).taxonomy == TaxonomyFile.open(path).taxonomy.expanded(
        additions
    )
    return output.read_bytes().decode("utf-8")


# ---- parents and children as objects --------------------------------------------------------

BROADER = (
    '[{"uri": "f", "prefLabel": "fruit", "broader": []}, '
    '{"uri": "a", "prefLabel": "apple", "broader": [{"uri": "f", "name": "fruit"}]}]'
)


@pytest.mark.parametrize(
    "broader",
    [
        '[{"uri": "f", "name": "fruit"}]',
        '{"uri": "f", "name": "fruit"}',
        '[{"name": "fruit", "uri": "f", "type": "x"}]',
        '["f"]',
        '["f", {"uri": "g"}]',
    ],
)
def test_parents_may_be_objects(tmp_path: Path, broader: str) -> None:
    text = (
        f'[{{"uri": "f", "name": "fruit"}}, {{"uri": "g"}}, {{"uri": "a", "broader": {broader}}}]'
    )
    taxonomy = taxonomy_of(tmp_path, text)
    assert taxonomy.parents("a") == (("f", "g") if "g" in broader else ("f",))


def test_new_parents_are_objects_too(tmp_path: Path) -> None:
    assert expanded(tmp_path, BROADER, under("a", "f")) == (
        f'{BROADER[:-1]}, {{"uri": "kiwi", "prefLabel": "kiwi", "broader": '
        '[{"uri": "a", "name": "apple"}, {"uri": "f", "name": "fruit"}]}]'
    )


def test_a_new_single_parent_is_an_object_too(tmp_path: Path) -> None:
    text = '[{"id": "f", "broader": null}, {"id": "a", "broader": {"name": "f", "id": "f"}}]'
    assert expanded(tmp_path, text, under("a")) == (
        f'{text[:-1]}, {{"id": "kiwi", "broader": {{"name": "a", "id": "a"}}, "label": "kiwi"}}]'
    )


def test_a_move_replaces_id_and_name_of_a_parent_object(tmp_path: Path) -> None:
    text = BROADER.replace('"name": "fruit"}]', '"name": "fruit", "rank": 1}]')
    additions = Additions([BERRY], [("f", "b")], moves=[Move("a", "f", "b")])
    new = expanded(tmp_path, text, additions)
    assert '"broader": [{"uri": "b", "name": "berry", "rank": 1}]}, {"uri": "b"' in new


def test_a_parent_that_only_an_object_describes_becomes_a_concept(tmp_path: Path) -> None:
    text = '[{"id": "a", "label": "apple",\n "broader": [{"id": "f", "label": "fruit"}]}]'
    opened = TaxonomyFile.open(write_file(tmp_path / "food.json", text))
    assert opened.taxonomy.concept("f") == Concept("f", "fruit")
    assert [(note.line, note.id) for note in opened.notes] == [(2, "f")]
    assert '"broader": [{"id": "f", "label": "fruit"}]' in expanded(tmp_path, text, under("f"))[80:]


def category(id: str, name: str, parent: str | None, *children: dict[str, str]) -> dict[str, Any]:
    above = [{"id": parent, "name": "Food"}] if parent else []
    level = {"id": id, "level": len(above), "name": name, "parent_id": parent, "attributes": []}
    return {**level, "children": list(children), "ancestors": above}


FRUIT = {"id": "f-1", "name": "Fruit"}
FOOD = [category("f", "Food", None, FRUIT), category("f-1", "Fruit", "f")]
TOYS = [category("t", "Toys", None)]


def verticals(*lists: list[dict[str, Any]]) -> str:
    """Return the layout of Shopify: lists of concepts inside a list."""
    named = [{"name": entries[0]["name"], "categories": entries} for entries in lists]
    return json.dumps({"version": "1", "verticals": named}, indent=2) + "\n"


VERTICALS = verticals(FOOD, TOYS)


def test_lists_in_envelopes_with_references_to_children(tmp_path: Path) -> None:
    taxonomy = taxonomy_of(tmp_path, VERTICALS)
    assert taxonomy.ids == ("f", "f-1", "t")
    assert list(taxonomy.relations) == [("f", "f-1")]
    kiwi = {"id": "f-1-1", "name": "Kiwi"}
    new = {**kiwi, "parent_id": "f-1", "attributes": [], "children": []}
    text = expanded(tmp_path, VERTICALS, under("f-1", concept=Concept("f-1-1", "Kiwi")))
    assert text == verticals([FOOD[0], category("f-1", "Fruit", "f", kiwi), new], TOYS)


def test_a_new_root_goes_to_the_last_list(tmp_path: Path) -> None:
    value = json.loads(expanded(tmp_path, VERTICALS, Additions([KIWI], [])))
    assert [c["id"] for c in value["verticals"][1]["categories"]] == ["t", "kiwi"]
    assert value["verticals"][1]["categories"][1]["parent_id"] is None


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 2, "topics": [{"id": "f", "name": "fruit"}]}',
        '{"title": "All", "data": {"meta": {"n": 1}, "topics": [{"id": "f", "name": "fruit"}]}}',
    ],
)
def test_concepts_under_a_key_of_any_name(tmp_path: Path, text: str) -> None:
    assert taxonomy_of(tmp_path, text).labels == ("fruit",)
    assert json.dumps("kiwi") in expanded(tmp_path, text, under("f"))


def test_two_lists_are_ambiguous(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.json", '{"a": [{"name": "x"}],\n"b": [{"name": "y"}]}')
    assert refusal(path).startswith(f"{path}, line 1: several lists of objects")


# ---- copies ---------------------------------------------------------------------------------


def test_short_references_get_no_children(tmp_path: Path) -> None:
    text = (
        '[{"id": "f", "children": [{"id": "a", "name": "apple", "children": [{"id": "g"}]}]}, '
        '{"id": "r", "children": [{"id": "a"}]}]'
    )
    assert expanded(tmp_path, text, under("a")).count('"kiwi"}') == 1


def unfolded(taxonomy: Taxonomy, id: str) -> dict[str, Any]:
    """Return a concept with everything below it."""
    children = [unfolded(taxonomy, child) for child in taxonomy.children(id)]
    return {"id": id, "name": taxonomy.concept(id).label, "children": children}


@given(growth=growths(names(), names(), most_parents=2), indent=st.sampled_from([None, 1, 4]))
@quickly
def test_a_tree_with_copies_stays_one(
    tmp_path_factory: pytest.TempPathFactory, growth: Growth, indent: int | None
) -> None:
    old = [unfolded(growth.old, root) for root in growth.old.roots]
    folder = tmp_path_factory.mktemp("copies")
    path = write_file(folder / "food.json", json.dumps(old, indent=indent))
    write_expanded(path, growth.additions, folder / "new.json")
    whole = growth.old.expanded(growth.additions)
    assert set(TaxonomyFile.open(folder / "new.json").taxonomy.relations) == set(whole.relations)
    text = (folder / "new.json").read_text()
    repeated = any(len(growth.old.parents(id)) > 1 for id in growth.old)
    if repeated:
        wanted = [unfolded(whole, root) for root in whole.roots]
        assert sort(json.loads(text)) == sort(wanted)
    assert text == json.dumps(json.loads(text), indent=indent)


def sort(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries and all children in the order of their ids."""
    ordered = sorted(entries, key=lambda entry: str(entry["id"]))
    return [{**entry, "children": sort(entry["children"])} for entry in ordered]


# ---- nulls ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "empty",
    [
        '"children": null, "definition": null, "synonyms": null, "deprecated": null',
        '"children": [], "definition": "", "synonyms": [], "deprecated": false',
        '"synonyms": []',
        '"children": [], "definition": null',
    ],
)
def test_a_new_leaf_has_the_empty_values_of_the_others(tmp_path: Path, empty: str) -> None:
    leaves = ", ".join(f'{{"id": "{id}", "label": "{id}", {empty}}}' for id in "abc")
    text = (
        f'[{{"id": "f", "label": "fruit", "definition": "sweet", "children": [{leaves}, '
        '{"id": "d", "label": "d", "definition": "x"}]}]'
    )
    assert expanded(tmp_path, text, under("f")) == text.replace(
        '"x"}]', f'"x"}}, {{"id": "kiwi", "label": "kiwi", {empty}}}]'
    )


def test_a_path_that_would_occur_twice_is_refused(tmp_path: Path) -> None:
    text = '{"name": "f", "children": [{"name": "kiwi"}]}'
    with pytest.raises(FormatError, match="the id 'f > kiwi' is already used"):
        expanded(tmp_path, text, under("f", concept=Concept("1", "kiwi")))


def test_null_becomes_a_list_when_a_leaf_gets_children(tmp_path: Path) -> None:
    text = '[{"id": "f", "children": [{"id": "a", "children": null}]}]'
    wanted = text.replace("null", '[{"id": "kiwi", "children": null, "label": "kiwi"}]')
    assert expanded(tmp_path, text, under("a")) == wanted


def test_roots_have_the_empty_parent_of_other_roots(tmp_path: Path) -> None:
    text = '[{"id": "f", "parent": null}, {"id": "a", "parent": "f"}]'
    new = '{"id": "kiwi", "parent": null, "label": "kiwi"}'
    assert expanded(tmp_path, text, Additions([KIWI], [])) == f"{text[:-1]}, {new}]"


@pytest.mark.parametrize("root", ["0", '"0"', "-1", '""', "[0]"])
def test_the_parent_of_a_root_may_be_zero(tmp_path: Path, root: str) -> None:
    text = f'[{{"id": 1, "name": "a", "parent_id": {root}}}, {{"id": 2, "parent_id": 1}}]'
    assert list(taxonomy_of(tmp_path, text).relations) == [("1", "2")]
    new = Concept("3", "kiwi")
    assert json.loads(expanded(tmp_path, text, Additions([new], [])))[2] == {
        **{"id": 3, "name": "kiwi"},
        "parent_id": json.loads("[]" if root == "[0]" else root),
    }


def test_other_keys_that_every_object_has_get_their_empty_value(tmp_path: Path) -> None:
    entries = [
        {"id": "f", "source": "", "name": "fruit", "above": [], "uses": [], "rank": 1},
        {"id": "a", "source": "", "name": "apple", "above": ["f"], "uses": [], "rank": 2},
        {"id": "p", "source": "x", "name": "pear", "above": ["f"], "uses": ["y"], "rank": 2},
    ]
    text = json.dumps([entries[0], *({**entry, "parent": "f"} for entry in entries[1:])])
    new = json.loads(expanded(tmp_path, text, under("f")))[3]
    assert new == {"id": "kiwi", "source": "", "name": "kiwi", "uses": [], "parent": "f"}
    assert list(new) == ["id", "source", "name", "uses", "parent"]


def test_texts_that_every_object_has_are_empty_in_a_new_one(tmp_path: Path) -> None:
    texts = '"description": "x", "aliases": ["y"]'
    text = f'[{{"id": "f", {texts}, "name": "f"}}, {{"id": "a", {texts}, "parent": "f"}}]'
    new = json.loads(expanded(tmp_path, text, under("f")))[2]
    assert (new["description"], new["aliases"]) == ("", [])


def test_zero_may_be_the_id_of_a_parent(tmp_path: Path) -> None:
    text = '[{"id": 0, "name": "a", "parent_id": null}, {"id": 2, "parent_id": 0}]'
    assert list(taxonomy_of(tmp_path, text).relations) == [("0", "2")]


def test_lists_of_unknown_name_in_a_file_without_relations_are_noted(tmp_path: Path) -> None:
    text = '{"categories": [{"name": "a",\n "types": [{"name": "b"}]}]}'
    (note,) = TaxonomyFile.open(write_file(tmp_path / "food.json", text)).notes
    assert note.line == 2
    assert "'types' lists objects" in note.message


# ---- JSON Lines -----------------------------------------------------------------------------

LINES = '{"id": "f", "label": "fruit"}\n\n{"id": "a", "label": "apple", "broader": {"id": "f"}}\n'


@pytest.mark.parametrize("name", ["food.json", "food.jsonl", "food.NDJSON", "food.txt"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    opened = TaxonomyFile.open(write_file(tmp_path / name, LINES))
    assert opened.format is FORMATS["json"]
    assert list(opened.taxonomy.relations) == [("f", "a")]
    for text in (LINES, LINES.rstrip("\n"), LINES.replace("\n", "\r\n")):
        newline = "\r\n" if "\r\n" in text else "\n"
        start = "" if text.endswith("\n") else newline
        assert expanded(tmp_path, text, under("a"), name) == (
            f'{text}{start}{{"id": "kiwi", "label": "kiwi", "broader": {{"id": "a"}}}}{newline}'
        )


def test_a_file_of_one_line_is_json_lines_by_its_name(tmp_path: Path) -> None:
    text = '{"id": "f", "parents": []}\n'
    wanted = text + '{"id": "kiwi", "parents": [], "label": "kiwi"}\n'
    for suffix in LINES_SUFFIXES:
        assert expanded(tmp_path, text, Additions([KIWI], []), f"food{suffix}") == wanted


def test_an_error_in_json_lines_names_the_line(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.jsonl", '{"id": 1}\n{"id": 2,}\n')
    assert refusal(path).startswith(f"{path}, line 2: not valid JSON")


# ---- relations under unknown keys ---------------------------------------------------------------

NODES = '[{"id": 1, "label": "a"}, {"id": 2, "label": "b"}]'


@pytest.mark.parametrize(
    "text",
    [
        '{"x": [{"nodes": %s, "edges": [{"parent": 1, "child": 2}]}]}',
        '{"graph": {"label": "g", "nodes": %s, "links": [{"source": 1, "target": 2}]}}',
    ],
)
def test_a_graph_inside_other_objects_keeps_its_edges(tmp_path: Path, text: str) -> None:
    assert list(taxonomy_of(tmp_path, text % NODES).relations) == [("1", "2")]
    new = expanded(tmp_path, text % NODES, under("2", concept=Concept("3", "c")))
    assert list(taxonomy_of(tmp_path, new).relations) == [("1", "2"), ("2", "3")]


EDGES, MEMBERS = 'rename it to "edges"', 'rename it to "parents" or "children"'


@pytest.mark.parametrize(
    ("text", "key", "fix"),
    [
        ('{"nodes": %s, "relationships": [{"super": 1, "sub": 2}]}', "relationships", EDGES),
        ('{"nodes": %s, "hierarchy": [[1, 2]]}', "hierarchy", EDGES),
        ('{"x": [{"nodes": %s, "edges": [{"above": 1, "below": 2}]}]}', "edges", EDGES),
        ('[{"id": "a"}, {"id": "b", "broaderTerm": "a"}]', "broaderTerm", MEMBERS),
        ('[{"id": "a"}, {"id": "b", "broaderTerm": ["a"]}]', "broaderTerm", MEMBERS),
        ('[{"id": "a"}, {"id": "b", "up": [{"target": "a"}]}]', "up", MEMBERS),
        ('[{"id": 1}, {"id": 3}, {"id": 4}, {"id": 2, "Parent": 1}]', "Parent", MEMBERS),
        ('[{"id": 1}, {"id": 3}, {"id": 2, "parentCategory": 1}]', "parentCategory", MEMBERS),
    ],
)
def test_unknown_keys_that_relate_concepts_are_refused(
    tmp_path: Path, text: str, key: str, fix: str
) -> None:
    path = write_file(tmp_path / "x.json", text.replace("%s", NODES))
    message = refusal(path)
    assert message.startswith(f"{path}, line 1: no relation is known, but '{key}' names other")
    assert fix in message


def test_a_number_under_an_unknown_key_is_not_taken_for_a_relation(tmp_path: Path) -> None:
    text = '[{"id": 1}, {"id": 3}, {"id": 4}, {"id": 2, "level": 1}]'
    assert list(taxonomy_of(tmp_path, text).relations) == []


def test_several_graphs_with_edges_are_refused(tmp_path: Path) -> None:
    graph = f'{{"nodes": {NODES}, "edges": [[1, 2]]}}'
    path = write_file(tmp_path / "x.json", f'{{"x": [{graph}, {graph}]}}')
    assert "2 objects have nodes and edges; write one graph" in refusal(path)


TRANSLATED = """[
  {"id": "1", "label": {"en_GB": "fruit", "de": "Obst"}},
  {"id": "2", "label": {"en_GB": "apple"}, "definition": {"de": "rund", "en_GB": "round"},
   "parent": "1"}
]
"""


def test_labels_by_language_are_read_and_written(tmp_path: Path) -> None:
    path, output = write_file(tmp_path / "x.json", TRANSLATED), tmp_path / "y.json"
    file = TaxonomyFile.open(path)
    assert file.taxonomy.labels == ("fruit", "apple")
    assert file.taxonomy.concept("2").definition == "round"
    assert (file.parsed.language, file.taxonomy.foreign_names[0]) == ("en-gb", ("Obst",))
    assert read_taxonomy(path, language="de").labels == ("Obst", "apple")
    file.write(under("1", concept=Concept("3", "kiwi", definition="green")), output)
    new = '{"id": "3", "label": {"en_GB": "kiwi"}, "definition": {"en_GB": "green"}, "parent": "1"}'
    assert output.read_text() == TRANSLATED.replace("}\n]", f"}},\n  {new}\n]")


@pytest.mark.parametrize("label", ['{"text": "fruit"}', '{"en": 1}', "{}"])
def test_another_object_as_a_label_is_refused_with_what_is_expected(
    tmp_path: Path, label: str
) -> None:
    path = write_file(tmp_path / "x.json", f'[\n  {{"id": "1", "label": {label}}}\n]')
    with pytest.raises(FormatError, match=r"'label' has the wrong type.*by language") as caught:
        TaxonomyFile.open(path)
    assert caught.value.line == 2
