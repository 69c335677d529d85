from __future__ import annotations

from pathlib import Path

import pytest
from expanded_files import refusal, under, write_expanded, write_file

from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Concept


def relations(path: Path, text: str) -> list[tuple[str, str]]:
    return list(TaxonomyFile.open(write_file(path, text)).taxonomy.relations)


def refused(folder: Path, text: str) -> str:
    path = write_file(folder / "x.json", text)
    return refusal(path).removeprefix(str(path))


NODES = '[{"id": 1, "label": "a"}, {"id": 2, "label": "b"}]'


@pytest.mark.parametrize(
    "text",
    [
        '{"x": [{"nodes": %s, "edges": [{"parent": 1, "child": 2}]}]}',
        '{"graph": {"label": "g", "nodes": %s, "links": [{"source": 1, "target": 2}]}}',
    ],
)
def test_a_graph_inside_other_objects_keeps_its_edges(tmp_path: Path, text: str) -> None:
    path, output = tmp_path / "x.json", tmp_path / "new.json"
    assert relations(path, text % NODES) == [("1", "2")]
    write_expanded(path, under("2", concept=Concept("3", "c")), output)
    assert relations(path, output.read_text("utf-8")) == [("1", "2"), ("2", "3")]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"nodes": %s, "relationships": [{"super": 1, "sub": 2}]}', "relationships"),
        ('{"nodes": %s, "hierarchy": [[1, 2]]}', "hierarchy"),
        ('{"x": [{"nodes": %s, "edges": [{"above": 1, "below": 2}]}]}', "edges"),
    ],
)
def test_edges_under_unknown_keys_are_refused(tmp_path: Path, text: str, key: str) -> None:
    message = f", line 1: no relation is known, but '{key}' names other concepts; rename it to "
    assert refused(tmp_path, text % NODES).startswith(
        f'{message}"edges", with entries {{"parent": …'
    )


@pytest.mark.parametrize("value", ['"a"', '["a"]', '[{"type": "is_a", "target": "a"}]'])
def test_unknown_keys_that_name_other_concepts_are_refused(tmp_path: Path, value: str) -> None:
    text = f'[{{"id": "a"}}, {{"id": "b", "broaderTerm": {value}}}]'
    message = ", line 1: no relation is known, but 'broaderTerm' names other concepts; rename it"
    assert refused(tmp_path, text).startswith(
        f'{message} to "parents" or "children" if it names them'
    )


@pytest.mark.parametrize("key", ["Parent", "parentCategory"])
def test_a_key_of_relations_may_have_numbers(tmp_path: Path, key: str) -> None:
    text = f'[{{"id": 1}}, {{"id": 3}}, {{"id": 4}}, {{"id": 2, "{key}": 1}}]'
    assert f"no relation is known, but '{key}' names other concepts" in refused(tmp_path, text)
    assert relations(tmp_path / "x.json", text.replace(key, "level")) == []


def test_several_graphs_with_edges_are_refused(tmp_path: Path) -> None:
    graph = f'{{"nodes": {NODES}, "edges": [[1, 2]]}}'
    assert "2 objects have nodes and edges; write one graph" in refused(
        tmp_path, f'{{"x": [{graph}, {graph}]}}'
    )
