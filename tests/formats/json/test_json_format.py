from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FileCycleError, FormatError
from taxoexpan.formats.format import Target
from taxoexpan.formats.json.schema import KEYS
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.expanded_files import KIWI, under
from tests.support.strategies import Growth, growths, names, quickly, taxonomies

FRUIT = Taxonomy([Concept("f", "fruit"), Concept("a", "apple")], [("f", "a")])
RICH = Concept("k", "kiwi", ("actinidia", "kiwifruit"), "green,\nand hairy", deprecated=True)


def source(text: str, name: str = "food.json") -> TextFile:
    return TextFile(Path(name), text)


def read(text: str) -> Taxonomy:
    return FORMATS["json"].read(source(text)).taxonomy


def refusal(text: str) -> str:
    with pytest.raises(FormatError) as caught:
        FORMATS["json"].read(source(text))
    return str(caught.value).removeprefix("food.json")


def extended(text: str, additions: Additions) -> str:
    """Return the expanded file."""
    old = source(text)
    (insertions,) = FORMATS["json"].extend(old, read(text).expanded(additions), additions).values()
    return old.apply(insertions).decode("utf-8")


def expanded_text(text: str, additions: Additions) -> str:
    """Return the expanded file, after reading it back (in full if the file has ids)."""
    new, expanded = extended(text, additions), read(text).expanded(additions)
    taxonomy = read(new)
    if "ids" in FORMATS["json"].supported_fields(source(text)):
        assert taxonomy == expanded
    assert len(taxonomy) == len(expanded)
    return new


def expansion_refusal(text: str, additions: Additions) -> str:
    with pytest.raises(FormatError) as caught:
        extended(text, additions)
    return str(caught.value).removeprefix("food.json")


# Reading


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "f", "label": "fruit", "children": [{"id": "a", "label": "apple"}]}',
        '[{"uri": "f", "prefLabel": "fruit", "narrower": [{"uri": "a", "prefLabel": "apple"}]}]',
        '{"items": [{"key": "f", "title": "fruit", "items": [{"key": "a", "title": "apple"}]}]}',
        '{"name": "Foods", "concepts": [{"id": "f", "label": "fruit", '
        '"children": [{"id": "a", "label": "apple"}]}], "licence": {"name": "free"}}',
        '[{"code": "f", "term": "fruit"}, {"code": "a", "term": "apple", "parent": "f"}]',
        '[{"id": "a", "name": "apple", "parents": ["f"]}, {"id": "f", "name": "fruit"}]',
        '{"version": 2, "terms": [{"id": "f", "name": "fruit", "broader": null}, '
        '{"id": "a", "name": "apple", "broader": ["f"]}]}',
        '{"nodes": [{"id": "f", "label": "fruit"}, {"id": "a", "label": "apple"}], '
        '"edges": [{"parent": "f", "child": "a"}]}',
        '{"links": [{"target": "a", "source": "f", "weight": 1}], '
        '"vertices": [{"id": "f", "label": "fruit"}, {"id": "a", "label": "apple"}]}',
        '{"concepts": [{"id": "f", "label": "fruit"}, {"id": "a", "label": "apple"}], '
        '"relations": [["f", "a"]]}',
        '[{"alias": "f", "title": "fruit", "parents": []}, '
        '{"alias": "a", "title": "apple", "parents": ["f"]}]',
        '[{"id": "f", "name": "fruit", "child_ids": ["a"]}, {"id": "a", "name": "apple"}]',
        '[{"id": "f", "label": "fruit", "narrower": ["a"]}, '
        '{"id": "a", "label": "apple", "narrower": []}]',
    ],
)
def test_every_schema_is_read(text: str) -> None:
    assert FORMATS["json"].can_read(source(text, "food"))
    assert read(text) == FRUIT


def test_all_accepted_keys_are_read() -> None:
    text = """[{"id": 1, "label": " fruit ", "description": "sweet", "aliases": "obst"},
        {"id": 2, "label": "apple", "parent_id": 1, "altLabels": ["pomme", "", "malus"],
         "definition": null, "deprecated": true}]"""
    assert set(read(text).concepts) == {
        Concept("1", "fruit", ("obst",), "sweet"),
        Concept("2", "apple", ("pomme", "malus"), "", True),
    }


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (
            '{"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}',
            ("a", "a > b", "a > b > c"),
        ),
        ('[{"name": "a"}, {"name": "b", "parent": "a"}]', ("a", "b")),
        ('{"name": "a", "children": [{"id": 7, "name": "c"}, {"name": "b"}]}', ("a", "7", "b")),
    ],
    ids=["paths", "labels", "labels-where-ids-are-missing"],
)
def test_objects_without_ids_are_named_by_their_paths_or_labels(
    text: str, ids: tuple[str, ...]
) -> None:
    taxonomy = read(text)
    assert taxonomy.ids == ids
    assert taxonomy.parents(ids[1]) == ("a",)


def test_ids_are_labels_if_no_object_has_a_label() -> None:
    document = FORMATS["json"].read(source('{"id": "f", "children": [{"id": "a"}]}'))
    assert (document.taxonomy.labels, document.notes) == (("f", "a"), ())


def test_objects_with_the_same_id_are_one_concept() -> None:
    text = """[{"id": "f", "label": "fruit", "children": [{"id": "a", "label": "apple",
                 "children": [{"id": "g", "label": "gala"}]}]},
               {"id": "r", "label": "red", "children": [{"id": "a"}, {"id": "g", "label": "gala"}]}]
        """
    taxonomy = read(text)
    assert (len(taxonomy), taxonomy.parents("a"), taxonomy.parents("g")) == (
        4,
        ("f", "r"),
        ("a", "r"),
    )


def test_a_subtree_may_be_repeated() -> None:
    apple = '{"id": "a", "label": "apple", "children": [{"id": "g", "label": "gala"}]}'
    document = FORMATS["json"].read(source(f'[{{"id": "f", "children": [{apple}]}}, {apple}]'))
    assert [note.message for note in document.notes] == ["'f' has no label; its id is used instead"]
    assert document.taxonomy.parents("g") == ("a",)


def test_a_concept_without_a_label_is_noted_with_its_line() -> None:
    text = '{"id": "f", "label": "fruit", "children": [\n{"id": "a"}]}'
    (note,) = FORMATS["json"].read(source(text)).notes
    assert (note.line, note.id) == (2, "a")


def test_a_relation_named_by_both_concepts_is_read_once() -> None:
    text = '[{"id": "f", "narrower": ["a"]}, {"id": "a", "broader": ["f"], "narrower": []}]'
    document = FORMATS["json"].read(source(text))
    assert (list(document.taxonomy.relations), document.notes) == ([("f", "a")], ())


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "f"},\n{"id": "a", "parents": ["f", "f"]}]',
        '{"nodes": [{"id": "f"}, {"id": "a"}], "edges": [["f", "a"],\n["f", "a"]]}',
    ],
)
def test_a_repeated_relation_is_noted(text: str) -> None:
    (note,) = FORMATS["json"].read(source(text)).notes
    assert (note.line, note.message) == (2, "'a' under 'f' occurs more than once")


def test_unknown_keys_are_counted() -> None:
    document = FORMATS["json"].read(
        source('[{"id": 1, "level": 0}, {"id": 2, "level": 1, "source": ""}]')
    )
    assert document.ignored == {"level": 2, "source": 1}


@pytest.mark.parametrize("depth", [200, 3000])
def test_deep_nesting_is_read_and_written(depth: int) -> None:
    inner = "".join(f'{{"id": {n}, "name": "n{n}", "children": [' for n in range(depth))
    text = inner + "]}" * depth
    assert read(text).depth == depth
    assert f'"children": [{{"id": {depth}, ' in expanded_text(
        text, under(str(depth - 1), concept=Concept(str(depth), "kiwi"))
    )


def test_paths_that_need_too_much_memory_are_refused() -> None:
    leaves = ",".join(f'{{"name": "{n}"}}' for n in range(5000))
    text = f'{{"name": "{"x" * 5000}", "children": [{leaves}]}}'
    assert "too much memory" in refusal(text)


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("[]", None, "no concept"),
        ('"fruit"', 1, "not a taxonomy"),
        ('\n{"type": "FeatureCollection"}', 2, "no concepts found"),
        ('[{"id": 1},\n"apple"]', 2, "write an object"),
        ('[{"id": 1},\n{"colour": "red"}]', 2, "neither an id nor a label"),
        ('[{\n"label": ["a"]}]', 2, "write text"),
        ('[{\n"label": 7}]', 2, "write text"),
        ('[{\n"id": {}}]', 2, "write an id"),
        ('[{\n"id": true}]', 2, "write an id"),
        ('{"label": "a",\n"children": "b"}', 2, "write a list"),
        ('{"label": "a", "children": [\nnull]}', 2, "write an id"),
        ('{"label": "a", "children": [\n"b"]}', 2, "no concept has the id 'b'"),
        ('{"nodes": [],\n"edges": {}}', 2, "write a list"),
        ('{"nodes": [{"id": 1}], "edges": [\n{"parent": 1}]}', 2, "an edge needs two ids"),
        ('{"nodes": [{"id": 1}], "edges": [\n[1, ""]]}', 2, "an edge needs two ids"),
        ('{"nodes": [{"id": 1}], "edges": [\n[1, 1, 1]]}', 2, "an edge needs two ids"),
        ('{"nodes": [{"id": 1}], "edges": [\n[1, 2]]}', 2, "no concept has the id '2'"),
        ('[{"id": 1, "label": "a"},\n{"id": 2, "parents": [\n"a"]}]', 3, "the label of '1'"),
        ('[{"id": 1,\n"parent": [{}]}]', 2, "write an object with an id"),
        ('[{"id": 1,\n"synonyms": [7]}]', 2, "write text"),
        ('[{"id": 1,\n"deprecated": "no"}]', 2, "write true or false"),
        ('[{"id": 1,\n"definition": []}]', 2, "write text"),
        ('[{"id": 1, "label": "a"},\n{"id": 1, "label": "b"}]', 2, "two values for the label"),
        ('[{"name": "a", "children": [{"name": "b"},\n{"name": "b"}]}]', 2, "'a > b' is already"),
        ('[{"id": 1,\n"children": [{"id": 1}]}]', 2, "its own parent"),
        ('[{"id": 1,\n"id": 2}]', 2, "the key 'id' is used twice"),
        ('[{"id": 1}', 1, "not valid JSON"),
        ('[{"id": "\\ud800"}]', None, "invalid character"),
        ('[{"id": "\\u0000"}]', None, "invalid character"),
    ],
)
def test_an_invalid_file_is_refused_with_the_line(text: str, line: int | None, word: str) -> None:
    place = f", line {line}: " if line else ": "
    assert refusal(text).startswith(place)
    assert word in refusal(text)


def test_a_cycle_is_refused_with_its_lines() -> None:
    with pytest.raises(FileCycleError) as caught:
        read('[{"id": "a", "children": [\n{"id": "b", "children": [\n{"id": "a"}]}]}]')
    assert str(caught.value).endswith("lines 2, 3)")


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ('{"@context": {}, "label": "a"}', "food.json", False),
        ('{"label": "a", "@graph": []}', "food.json", False),
        ('[{"@id": "http://a", "label": "a"}]', "food.json", False),
        ('{"@context": ', "food.json", False),
        ("[Term]\nid: 1\n", "food.obo", False),
        ("[] a <http://www.w3.org/2004/02/skos/core#ConceptScheme> .", "food.ttl", False),
        ("{ <a> <b> <c> }", "food.trig", False),
        ("child,parent\nfruit,\n", "food.json", False),
        ("", "food.json", False),
        ('"fruit"', "food.json", False),
        ('{"label": "a", "about": {"@id": "http://a"}}', "food", True),
        ("{'label': 'a'}", "food.JSON", True),
        ('\r\n[ {"label"', "food", True),
        ("{}", "food", True),
        (" [ ] ", "food", True),
    ],
)
def test_json_is_recognized(text: str, name: str, expected: bool) -> None:
    assert FORMATS["json"].can_read(source(text, name)) is expected


# Extending

BERRY = Concept("b", "berry")
CHAIN = Additions([KIWI, BERRY], [("f", "b"), ("b", "kiwi")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{"id":"f","name":"fruit","children":[{"id":"a","name":"é"}]}',
            '{"id":"f","name":"fruit","children":[{"id":"a","name":"é"},'
            '{"id":"b","name":"berry","children":[{"id":"kiwi","name":"kiwi"}]}]}',
        ),
        (
            '{"id": "f"}',
            '{"id": "f", "children": [{"id": "b", "label": "berry", '
            '"children": [{"id": "kiwi", "label": "kiwi"}]}]}',
        ),
        (
            '[\n\t{"id": "f", "label": "fruit", "children": [ ]}\n]',
            '[\n\t{"id": "f", "label": "fruit", "children": [\n'
            '\t\t{"id": "b", "label": "berry", "children": [\n'
            '\t\t\t{"id": "kiwi", "label": "kiwi", "children": []}\n\t\t]}\n\t ]}\n]',
        ),
        (
            '{\r\n  "id": "f",\r\n  "label": "fruit"\r\n}\r\n',
            '{\r\n  "id": "f",\r\n  "label": "fruit",\r\n  "children": [\r\n    {\r\n'
            '      "id": "b",\r\n      "label": "berry",\r\n      "children": [\r\n        {\r\n'
            '          "id": "kiwi",\r\n          "label": "kiwi"\r\n        }\r\n      ]\r\n'
            "    }\r\n  ]\r\n}\r\n",
        ),
        (
            '{"nodes": [\n  {"id": "f"}\n], "links": [\n]}',
            '{"nodes": [\n  {"id": "f"},\n  {"id": "kiwi", "label": "kiwi"},\n'
            '  {"id": "b", "label": "berry"}\n], "links": [\n'
            '  {"parent": "f", "child": "b"},\n  {"parent": "b", "child": "kiwi"}\n\n]}',
        ),
        (
            '{"nodes": [{"id": "f"}, {"id": "a"}], "links": [{"target": "a", "source": "f"}]}',
            '{"nodes": [{"id": "f"}, {"id": "a"}, {"id": "kiwi", "label": "kiwi"}, '
            '{"id": "b", "label": "berry"}], "links": [{"target": "a", "source": "f"}, '
            '{"target": "b", "source": "f"}, {"target": "kiwi", "source": "b"}]}',
        ),
        (
            '{"nodes": [{"id": "f"}, {"id": "a"}], "edges": [["f", "a"] ] }',
            '{"nodes": [{"id": "f"}, {"id": "a"}, {"id": "kiwi", "label": "kiwi"}, '
            '{"id": "b", "label": "berry"}], "edges": [["f", "a"], ["f", "b"], ["b", "kiwi"] ] }',
        ),
        (
            '[{"id": "f", "narrower": ["a"]}, {"id": "a"}]',
            '[{"id": "f", "narrower": ["a", "b"]}, {"id": "a"}, {"id": "kiwi", "label": "kiwi"}, '
            '{"id": "b", "label": "berry", "narrower": ["kiwi"]}]',
        ),
    ],
)
def test_new_objects_follow_the_pattern_of_the_file(text: str, expected: str) -> None:
    assert expanded_text(text, CHAIN) == expected


def test_everything_that_is_known_is_texts() -> None:
    assert expanded_text('[{"id": "f"}]', under("f", concept=RICH)) == (
        '[{"id": "f"}, {"id": "k", "label": "kiwi", "parents": ["f"], '
        '"synonyms": ["actinidia", "kiwifruit"], "definition": "green,\\nand hairy", '
        '"deprecated": true}]'
    )


def test_a_second_parent_gets_a_short_object() -> None:
    text = '[{"id": "f", "label": "fruit", "children": []}, {"id": "g", "label": "green"}]'
    assert expanded_text(text, under("f", "g", concept=RICH)) == (
        '[{"id": "f", "label": "fruit", "children": [{"id": "k", "label": "kiwi", "children": [], '
        '"synonyms": ["actinidia", "kiwifruit"], "definition": "green,\\nand hairy", '
        '"deprecated": true}]}, '
        '{"id": "g", "label": "green", "children": [{"id": "k", "label": "kiwi"}]}]'
    )


def test_the_order_of_new_concepts_is_no_matter() -> None:
    additions = Additions([KIWI, BERRY], [("b", "kiwi"), ("f", "kiwi"), ("f", "b")])
    assert expanded_text('{"id": "f", "children": []}', additions) == (
        '{"id": "f", "children": [{"id": "kiwi", "label": "kiwi"}, {"id": "b", "children": '
        '[{"id": "kiwi", "children": [], "label": "kiwi"}], "label": "berry"}]}'
    )


@pytest.mark.parametrize("text", ['[{"id": 1}]', '{"id": 1, "parent": null}'])
def test_integer_ids_stay_integers(text: str) -> None:
    assert '"id": 2,' in expanded_text(text, under("1", concept=Concept("2", "kiwi")))
    assert "integers, but 'kiwi' is not" in expansion_refusal(text, under("1"))


def test_an_ascii_file_stays_ascii() -> None:
    pear = Concept("p", "pêche 🍑")
    assert expanded_text('[{"id": "f"}]', under("f", concept=pear)).isascii()
    assert "pêche 🍑" in expanded_text('[{"id": "é"}]', under("é", concept=pear))


def test_new_concepts_have_no_ids_in_a_file_without_ids() -> None:
    text = '{"name": "fruit", "children": [{"name": "apple"}]}'
    new = expanded_text(text, under("fruit > apple", concept=RICH))
    assert read(new).ids == ("fruit", "fruit > apple", "fruit > apple > kiwi")
    assert FORMATS["json"].supported_fields(source(text)) == {"labels", "synonyms", "definitions"}


def test_a_long_chain_of_new_concepts_is_refused() -> None:
    chain = [Concept(str(n), f"n{n}") for n in range(1000)]
    relations = [("f", "0"), *((str(n), str(n + 1)) for n in range(999))]
    message = expansion_refusal('{"id": "f", "children": []}', Additions(chain, relations))
    assert "nested in each other" in message


def test_empty_additions_change_nothing() -> None:
    assert expanded_text('[{"id": "f"}]', Additions([], [])) == '[{"id": "f"}]'


@pytest.mark.parametrize(
    ("text", "additions", "message"),
    [
        ('{"id": "f", "children": []}', Additions([KIWI], []), "only one root"),
        ('[{"name": "f", "children": []}, {"name": "g"}]', under("f", "g"), "has one parent"),
        (
            '[{"name": "f", "parent": null}]',
            under("f", concept=Concept("1", "f")),
            "the label 'f' is already used",
        ),
        (
            '[{"id": "f", "parent": null}, {"id": "g", "parent": "f"}]',
            under("f", "g"),
            "has one parent, but 'kiwi'",
        ),
        (
            '[{"id": "g", "children": [{"id": "a", "broader": {"id": "x", "name": "y"}}]}]',
            under("x"),
            "'x' has no object of its own",
        ),
    ],
)
def test_additions_that_would_not_read_back_are_refused(
    text: str, additions: Additions, message: str
) -> None:
    assert message in expansion_refusal(text, additions)


# Random taxonomies in random files


def described(taxonomy: Taxonomy, id: str) -> dict[str, Any]:
    concept = taxonomy.concept(id)
    texts = {"synonyms": concept.synonyms, "description": concept.definition}
    return {"id": id, "level": 1, "name": concept.label} | {k: v for k, v in texts.items() if v}


def nested(taxonomy: Taxonomy) -> Any:
    """Nest every concept in full in its first parent, and as an id in other parents."""
    objects = {id: described(taxonomy, id) for id in taxonomy}
    for parent, child in taxonomy.relations:
        first = taxonomy.parents(child)[0] == parent
        below = objects[parent].setdefault("items", [])
        below.append(objects[child] if first else {"id": child})
    return [objects[id] for id in taxonomy.roots]


def flat(taxonomy: Taxonomy) -> Any:
    concepts = [described(taxonomy, id) | {"broader": taxonomy.parents(id)} for id in taxonomy]
    return {"date": "today", "concepts": concepts, "more": []}


def graph(taxonomy: Taxonomy) -> Any:
    nodes = [described(taxonomy, id) for id in taxonomy]
    return {"links": [{"source": p, "target": c} for p, c in taxonomy.relations], "nodes": nodes}


def pairs(taxonomy: Taxonomy) -> Any:
    nodes = [described(taxonomy, id) for id in taxonomy]
    return {"nodes": nodes, "edges": list(taxonomy.relations)}


def listing(taxonomy: Taxonomy) -> Any:
    return [described(taxonomy, id) | {"children": taxonomy.children(id)} for id in taxonomy]


SCHEMAS = [nested, flat, graph, pairs, listing]


@st.composite
def json_styles(draw: st.DrawFn) -> Callable[[Any], str]:
    """Return a function that formats JSON in some style."""
    indent = draw(st.sampled_from([None, 0, 2, "\t"]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]))
    ascii_only, newline = draw(st.booleans()), draw(st.sampled_from(["\n", "\r\n"]))
    around = draw(st.sampled_from(["", "\n", " \n\t"]))

    def dumps(value: Any) -> str:
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_only)
        return (around + text + around).replace("\n", newline)

    return dumps


@pytest.mark.parametrize("schema", SCHEMAS)
@given(growths(ids=names(breaks=True), labels=names(breaks=True), details=True), json_styles())
@quickly
def test_an_extended_file_reads_back_in_full(
    schema: Callable[[Taxonomy], Any], growth: Growth, dumps: Callable[[Any], str]
) -> None:
    text = dumps(schema(growth.old))
    assert read(text) == growth.old
    assert expanded_text(text, growth.additions).isascii() or not text.isascii()


@given(growths(ids=names(without=">"), most_parents=1, details=True), json_styles())
@quickly
def test_an_extended_file_without_ids_reads_back_by_paths(
    growth: Growth, dumps: Callable[[Any], str]
) -> None:
    def texts(taxonomy: Taxonomy) -> dict[tuple[str, ...], tuple[tuple[str, ...], str]]:
        return {taxonomy.path(c.id): (c.synonyms, c.definition) for c in taxonomy.concepts}

    text = dumps(_without_ids(nested(growth.old)))
    old = read(text)
    assert texts(old) == texts(growth.old)
    ids = dict(zip(old.labels, old.ids, strict=True))
    relations = [(ids.get(parent, parent), child) for parent, child in growth.additions.relations]
    additions = Additions(growth.additions.concepts, relations)
    new = expanded_text(text, additions)
    assert texts(read(new)) == texts(growth.old.expanded(growth.additions))


def _without_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_ids(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _without_ids(entry) for key, entry in value.items() if key != "id"}
    return value


@given(taxonomies(), st.sampled_from(["food.json", "food"]))
@quickly
def test_a_copy_reads_back_in_full(taxonomy: Taxonomy, name: str) -> None:
    copy = FORMATS["json"].write(taxonomy, Target(Path(name)))
    text = copy.files[Path(name)]
    assert FORMATS["json"].can_read(source(text, name))
    assert read(text) == taxonomy
    assert read(text).ids == taxonomy.ids


def test_a_copy_has_one_concept_per_line() -> None:
    taxonomy = Taxonomy([Concept("f", "früit"), RICH], [("f", "k")])
    assert FORMATS["json"].write(taxonomy, Target(Path("food.json"))).files == {
        Path("food.json"): (
            '{\n  "concepts": [\n    {"id": "f", "label": "früit"},\n'
            '    {"id": "k", "label": "kiwi", "parents": ["f"], '
            '"synonyms": ["actinidia", "kiwifruit"], "definition": "green,\\nand hairy", '
            '"deprecated": true}\n  ]\n}\n'
        )
    }


def test_extending_a_copy_adds_one_line_per_concept() -> None:
    text = FORMATS["json"].write(FRUIT, Target(Path("food.json"))).files[Path("food.json")]
    old, new = text.splitlines(), expanded_text(text, under("f")).splitlines()
    assert new == [
        *old[:3],
        old[3] + ",",
        '    {"id": "kiwi", "label": "kiwi", "parents": ["f"]}',
        *old[4:],
    ]


KEYS = st.sampled_from(sorted({key for keys in KEYS.values() for key in keys} | {"else"}))
IDS = st.sampled_from([None, True, 0, 1, 2, 1.5, "a", "b", " a ", "", "1", "a > b"])
ODD = st.recursive(
    IDS | st.lists(IDS, max_size=2),
    lambda inner: st.lists(st.dictionaries(KEYS, inner, max_size=4) | inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(KEYS, ODD, min_size=1, max_size=5), min_size=1, max_size=3))
@quickly
def test_random_objects_are_read_or_refused(entries: list[Any]) -> None:
    for value in (entries, entries[0], {"nodes": entries, "edges": [["a", "b"]]}):
        text = json.dumps(value)
        FORMATS["json"].can_read(source(text))
        with suppress(FormatError):
            read(text)


def corrupted(text: str, rng: random.Random) -> str:
    """Return a text with some slices removed, repeated, moved or replaced."""
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 1, 1, 2, 5, 20]))
        other = rng.randrange(len(text) + 1)
        piece = rng.choice(
            [
                "",
                text[start:end] * 2,
                text[other : other + 9],
                rng.choice('{}[],:"\\ \n\t0-e.'),
                rng.choice(["null", "[]", "{}", "1", '"id"', '"children"', '"\\u0000"', "NaN"]),
            ]
        )
        text = text[:start] + piece + text[end:]
    return text


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_corrupted_file_is_read_and_extended_or_refused(
    schema: Callable[[Taxonomy], Any],
) -> None:
    rng = random.Random(0)
    third = Concept("3", "wild apple", ("crab",), "sour")
    taxonomy = Taxonomy([*FRUIT.concepts, third], [*FRUIT.relations, ("f", "3"), ("a", "3")])
    texts = [json.dumps(schema(taxonomy), indent=indent) for indent in (None, 2)]
    for _ in range(400):
        text = corrupted(rng.choice(texts), rng)
        FORMATS["json"].can_read(source(text))
        try:
            additions = under(read(text).ids[0], concept=Concept("kiwi", "kiwi", ("k",)))
            extended(text, additions)
        except FormatError:
            continue
        expanded_text(text, additions)
