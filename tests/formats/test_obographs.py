from __future__ import annotations

import json
from pathlib import Path

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.obographs import is_obo_graphs
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from tests.support.expanded_files import write_expanded, write_file

OBO = "http://purl.obolibrary.org/obo/"
ANIMAL, DOG, CAT = (f"{OBO}X_000000{number}" for number in (1, 2, 3))
PART_OF = f"{OBO}BFO_0000050"
WOLF = Concept(f"{OBO}X_0000004", "wolf", ("grey wolf",), "A wild dog.")
# The layout of ROBOT.
TEXT = """{
  "graphs" : [ {
    "id" : "http://purl.obolibrary.org/obo/x.owl",
    "meta" : { "version" : "1" },
    "nodes" : [ {
      "id" : "http://purl.obolibrary.org/obo/X_0000001",
      "lbl" : "animal",
      "type" : "CLASS"
    }, {
      "id" : "http://purl.obolibrary.org/obo/X_0000002",
      "lbl" : "dog",
      "type" : "CLASS",
      "meta" : {
        "definition" : {
          "val" : "A tame animal.",
          "xrefs" : [ "GOC:x" ]
        },
        "synonyms" : [ {
          "pred" : "hasExactSynonym",
          "val" : "hound"
        } ]
      }
    }, {
      "id" : "http://purl.obolibrary.org/obo/X_0000003",
      "lbl" : "old cat",
      "type" : "CLASS",
      "meta" : {
        "deprecated" : true
      }
    }, {
      "id" : "http://purl.obolibrary.org/obo/BFO_0000050",
      "lbl" : "part of",
      "type" : "PROPERTY"
    } ],
    "edges" : [ {
      "sub" : "http://purl.obolibrary.org/obo/X_0000002",
      "pred" : "is_a",
      "obj" : "http://purl.obolibrary.org/obo/X_0000001"
    }, {
      "sub" : "http://purl.obolibrary.org/obo/X_0000001",
      "pred" : "http://purl.obolibrary.org/obo/BFO_0000050",
      "obj" : "http://purl.obolibrary.org/obo/X_0000002"
    } ],
    "logicalDefinitionAxioms" : [ { "definedClassId" : "x" } ]
  } ]
}
"""


def opened(folder: Path, text: str = TEXT) -> TaxonomyFile:
    return TaxonomyFile.open(write_file(folder / "x.json", text))


def read(folder: Path, *edges: tuple[str, str, str], nodes: object = ()) -> Taxonomy:
    listed = [{"sub": sub, "pred": pred, "obj": obj} for sub, pred, obj in edges]
    graph = {"graphs": [{"nodes": nodes, "edges": listed}]}
    return opened(folder, json.dumps(graph)).taxonomy


def extended(folder: Path, additions: Additions, text: str = TEXT) -> str:
    output = folder / "new.json"
    write_expanded(write_file(folder / "x.json", text), additions, output, force=True)
    return output.read_text("utf-8")


def test_classes_and_is_a_edges_are_read(tmp_path: Path) -> None:
    file = opened(tmp_path)
    assert file.format.name == "obographs"
    assert file.taxonomy == Taxonomy(
        [
            Concept(ANIMAL, "animal"),
            Concept(DOG, "dog", ("hound",), "A tame animal."),
            Concept(CAT, "old cat", deprecated=True),
        ],
        [(ANIMAL, DOG)],
    )
    assert dict(file.parsed.ignored) == {
        "BFO_0000050 edges": 1,
        "other nodes": 1,
        "logicalDefinitionAxioms": 1,
    }


def test_new_classes_are_written_like_the_others(tmp_path: Path) -> None:
    new = extended(tmp_path, Additions([WOLF], [(DOG, WOLF.id)]))
    node = """    }, {
      "id" : "http://purl.obolibrary.org/obo/X_0000004",
      "lbl" : "wolf",
      "type" : "CLASS",
      "meta" : {
        "definition" : {
          "val" : "A wild dog."
        },
        "synonyms" : [ {
          "pred" : "hasExactSynonym",
          "val" : "grey wolf"
        } ]
      }
    } ],
    "edges" :"""
    edge = """    }, {
      "sub" : "http://purl.obolibrary.org/obo/X_0000004",
      "pred" : "is_a",
      "obj" : "http://purl.obolibrary.org/obo/X_0000002"
    } ],
    "logicalDefinitionAxioms\""""
    assert new == TEXT.replace('    } ],\n    "edges" :', node).replace(
        '    } ],\n    "logicalDefinitionAxioms"', edge
    )


def test_a_graph_without_edges_gets_a_list_of_them(tmp_path: Path) -> None:
    text = '{"graphs": [{"nodes": [{"id": "X:1", "lbl": "a", "type": "CLASS"}]}]}'
    new = json.loads(extended(tmp_path, Additions([Concept("X:2", "b")], [("X:1", "X:2")]), text))
    assert new["graphs"] == [
        {
            "nodes": [
                {"id": "X:1", "lbl": "a", "type": "CLASS"},
                {"id": "X:2", "lbl": "b", "type": "CLASS"},
            ],
            "edges": [{"sub": "X:2", "pred": "is_a", "obj": "X:1"}],
        }
    ]


def test_a_move_changes_one_edge(tmp_path: Path) -> None:
    moves = [Move(DOG, ANIMAL, WOLF.id)]
    new = extended(tmp_path, Additions([WOLF], [(ANIMAL, WOLF.id)], moves=moves))
    edges = json.loads(new)["graphs"][0]["edges"]
    assert edges[0] == {"sub": DOG, "pred": "is_a", "obj": WOLF.id}
    assert edges[1] == {"sub": ANIMAL, "pred": PART_OF, "obj": DOG}


def test_an_annotated_edge_is_not_moved(tmp_path: Path) -> None:
    text = TEXT.replace('"pred" : "is_a",', '"pred" : "is_a", "meta" : {"xrefs" : ["x"]},')
    moves = [Move(DOG, ANIMAL, WOLF.id)]
    with pytest.raises(FormatError, match="has a 'meta' of its own"):
        extended(tmp_path, Additions([WOLF], [(ANIMAL, WOLF.id)], moves=moves), text)


@pytest.mark.parametrize("id", [ANIMAL, DOG, CAT])
def test_a_synonym_is_added_to_an_existing_class(tmp_path: Path, id: str) -> None:
    new = extended(tmp_path, Additions([], [], synonyms=[(id, "pet")]))
    nodes = {node["id"]: node for node in json.loads(new)["graphs"][0]["nodes"]}
    assert nodes[id]["meta"]["synonyms"][-1] == {"pred": "hasExactSynonym", "val": "pet"}


@pytest.mark.parametrize(
    ("nodes", "edges", "ids"),
    [
        ([(DOG, "CLASS")], [(DOG, f"{OBO}Y_1")], (DOG, f"{OBO}Y_1")),
        ([("x:1", ""), ("x:2", "")], [("x:2", "x:1")], ("x:1", "x:2")),
        (
            [(DOG, "CLASS"), (PART_OF, "PROPERTY"), ("x:p", "PROPERTY"), ("x:untyped", "")],
            [(DOG, "http://www.w3.org/2002/07/owl#Thing"), (PART_OF, "x:p")],
            (DOG,),
        ),
    ],
    ids=["only-in-an-edge", "no-types", "properties-and-owl-thing"],
)
def test_classes_are_concepts(
    tmp_path: Path, nodes: list[tuple[str, str]], edges: list[tuple[str, str]], ids: tuple[str, ...]
) -> None:
    written = [{"id": id, "lbl": id} | ({"type": type} if type else {}) for id, type in nodes]
    taxonomy = read(tmp_path, *((sub, "is_a", obj) for sub, obj in edges), nodes=written)
    assert taxonomy.ids == ids
    assert list(taxonomy.relations) == [(obj, sub) for sub, obj in edges if obj in ids]


def test_new_classes_need_a_list_of_nodes(tmp_path: Path) -> None:
    edge = {"sub": "http://food.org/apple", "pred": "is_a", "obj": "http://food.org/fruit"}
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"graphs": [{"id": "http://food.org/", "edges": [edge]}]}))
    file = TaxonomyFile.open(path, "obographs")
    assert len(file.taxonomy) == 2
    kiwi = Additions([Concept("kiwi", "kiwi")], [("http://food.org/fruit", "kiwi")])
    with pytest.raises(FormatError, match="no graph has a list of nodes"):
        file.write(kiwi, tmp_path / "out.json")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"sub" :', '"subject" :', "line 35: an object without 'sub'"),
        ('"lbl" : "dog"', '"lbl" : 1', "line 11: 'lbl' has the wrong type"),
        ('"edges" : [ {', '"edges" : [ 1, {', "an entry of a list has the wrong type"),
        ('"synonyms" : [ {', '"synonyms" : 1, "x" : [ {', r"write a list in \[…\]"),
        ('"definition" : {', '"synonyms" : {}, "x" : {', "the key 'synonyms' is used twice"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = TEXT.replace(old, new)
    with pytest.raises(FormatError, match=message):
        opened(tmp_path, text)


def test_obo_and_obo_graphs_convert_into_each_other(tmp_path: Path) -> None:
    obo = write_file(
        tmp_path / "x.obo",
        "format-version: 1.2\n\n[Term]\nid: X:1\nname: a\n\n[Term]\nid: X:2\nname: b\n"
        'def: "D." []\nsynonym: "c" EXACT []\nis_a: X:1 ! a\n',
    )
    done = convert(obo, Target(tmp_path / "x.json"), to="obographs")
    assert done.copy.parents(f"{OBO}X_2") == (f"{OBO}X_1",)
    assert TaxonomyFile.open(tmp_path / "x.json").taxonomy == done.copy
    assert done.copy.concept(f"{OBO}X_2").definition == "D."


def test_missing_labels_are_noted_unless_the_class_is_deprecated(tmp_path: Path) -> None:
    nodes = [
        {"id": DOG, "type": "CLASS"},
        {"id": CAT, "type": "CLASS", "meta": {"deprecated": True}},
    ]
    edges = [{"sub": DOG, "pred": "is_a", "obj": ANIMAL}]
    graph = {"graphs": [{"nodes": nodes, "edges": edges}]}
    notes = opened(tmp_path, json.dumps(graph)).notes
    assert {(note.code, note.id, note.message) for note in notes} == {
        ("missing-label", DOG, "no label; 'X_0000002' is used"),
        (
            "external-concept",
            ANIMAL,
            "only named in an edge; 'X_0000001' is used as its label",
        ),
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"graphs": [{"nodes": []}]}', True),
        ('{"graphs": [{"edges": []}]}', False),
        ('{"graphs": ["nodes"]}', False),
        ('[{"graphs": [{"nodes": []}]}]', False),
        ('{"nodes": []}', False),
        ('{"graphs": [{"nodes": [}', False),
    ],
)
def test_only_a_list_of_graphs_with_nodes_is_read(tmp_path: Path, text: str, found: bool) -> None:
    assert is_obo_graphs(TextFile.load(write_file(tmp_path / "x.json", text))) is found


def test_a_deprecated_class_is_written_as_such(tmp_path: Path) -> None:
    old_wolf = Concept(WOLF.id, "wolf", deprecated=True)
    graph = json.loads(extended(tmp_path, Additions([old_wolf], [(ANIMAL, WOLF.id)])))
    nodes = {node["id"]: node for node in graph["graphs"][0]["nodes"]}
    assert nodes[WOLF.id]["meta"] == {"deprecated": True}


def test_a_graph_without_is_a_edges_is_noted_with_its_other_edges(tmp_path: Path) -> None:
    value = json.loads(TEXT)
    for edge in value["graphs"][0]["edges"]:
        edge["pred"] = PART_OF
    (note,) = TaxonomyFile.open(write_file(tmp_path / "x.json", json.dumps(value))).notes
    assert "no class has an edge 'is_a'" in note.message
    assert "'BFO_0000050'" in note.message


def test_other_edges_of_classes_without_is_a_edges_are_noted(tmp_path: Path) -> None:
    nodes = [{"id": id, "lbl": id, "type": "CLASS"} for id in "abc"]
    pairs = [("b", "is_a", "a"), ("c", PART_OF, "a"), ("b", "other", "c")]
    edges = [{"sub": sub, "pred": pred, "obj": obj} for sub, pred, obj in pairs]
    value = {"graphs": [{"nodes": nodes, "edges": edges}]}
    (note,) = opened(tmp_path, json.dumps(value)).notes
    assert "'BFO_0000050' (1 edges), which are not read" in note.message
