from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from taxoexpan import Concept, TaxoExpanError, Taxonomy
from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.taxonomy.records import new_concepts

ROWS = [
    {"id": "1", "label": "food"},
    {"id": "2", "label": "drink", "parents": "1", "synonyms": "beverage|potable"},
    {"id": "3", "label": "tea", "parents": ["2"], "definition": "an infusion", "deprecated": True},
    {"id": "3", "label": "tea", "parent": "1"},
]


def test_records_become_concepts_and_relations() -> None:
    taxonomy = Taxonomy.from_records(ROWS)
    assert list(taxonomy.concepts) == [
        Concept("1", "food"),
        Concept("2", "drink", ("beverage", "potable")),
        Concept("3", "tea", (), "an infusion", deprecated=True),
    ]
    assert taxonomy.parents("3") == ("2", "1")


def test_keys_may_have_other_names() -> None:
    rows = [{"name": "food", "broader": None}, {"name": "drink", "broader": "food"}]
    taxonomy = Taxonomy.from_records(rows, {"label": "name", "parents": "broader"})
    assert list(taxonomy.relations) == [("food", "drink")]
    with pytest.raises(ConfigurationError, match="title"):
        Taxonomy.from_records(rows, {"title": "name"})


def test_a_parent_without_a_record_is_a_root_if_there_are_no_ids() -> None:
    assert Taxonomy.from_records([{"label": "tea", "parent": "drink"}]).roots == ("drink",)
    with pytest.raises(TaxonomyError, match=r"record 2.*'9'"):
        Taxonomy.from_records([ROWS[0], {"id": "2", "label": "drink", "parent": "9"}])


@pytest.mark.parametrize(
    ("records", "place"),
    [
        ([{"label": "a"}, {"id": "b"}], "record 2"),
        ([{"label": "a"}, "b"], "record 2"),
        ([{"id": "1", "label": "a"}, {"id": "1", "label": "b"}], "record 2"),
        ([{"label": "a", "parent": "b"}, {"label": "b", "parent": "a"}], "a"),
    ],
)
def test_wrong_records_are_refused_with_their_number(records: list[object], place: str) -> None:
    with pytest.raises(TaxoExpanError, match=place):
        Taxonomy.from_records(records)  # type: ignore[arg-type]


def test_what_are_no_records_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="records"):
        Taxonomy.from_records(None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="data frame"):
        Taxonomy.from_pandas([{"label": "a"}])
    with pytest.raises(ConfigurationError, match="columns"):
        Taxonomy.from_records(ROWS, "label")  # type: ignore[arg-type]


def test_a_data_frame_is_a_list_of_records() -> None:
    assert list(Taxonomy.from_pandas(pd.DataFrame(ROWS)).concepts) == list(
        Taxonomy.from_records(ROWS).concepts
    )
    edges = pd.DataFrame({"child": ["tea", "mate"], "parent": ["drink", float("nan")]})
    assert Taxonomy.from_pandas(edges, {"label": "child"}).roots == ("mate", "drink")


def test_missing_values_of_a_data_frame_are_no_texts() -> None:
    frame = pd.DataFrame({"label": ["a", "b"], "definition": [pd.NA, "d"], "parents": [None, "a"]})
    first, second = Taxonomy.from_pandas(frame).concepts
    assert (first.definition, second.definition) == ("", "d")


def test_the_example_is_the_file_of_the_package() -> None:
    assert len(Taxonomy.example("food")) == 2432
    with pytest.raises(ConfigurationError, match="drinks"):
        Taxonomy.example("drinks")  # type: ignore[arg-type]


def test_new_concepts_are_given_in_many_ways() -> None:
    tea = Concept("t", "tea", ("chai",))
    assert new_concepts("tea") == [Concept("", "tea")]
    assert new_concepts(tea) == [tea]
    assert new_concepts(["milk", tea]) == [Concept("", "milk"), tea]
    assert new_concepts(label for label in ("a", "b")) == [Concept("", "a"), Concept("", "b")]
    record = {"label": "tea", "definition": "an infusion"}
    expected = [Concept("", "tea", (), "an infusion")]
    assert new_concepts(record) == new_concepts([record]) == expected
    frame = pd.DataFrame([record])
    assert new_concepts(frame) == expected
    assert new_concepts(frame["label"]) == [Concept("", "tea")]
    assert new_concepts([]) == []


@pytest.mark.parametrize("wrong", [3, None, "", " ", Concept("t", ""), {"tea": 1}, "a\ud800"])
def test_a_wrong_new_concept_is_refused_with_its_position(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=r"number 2|record 2"):
        new_concepts(["milk", wrong])  # type: ignore[list-item]
    with pytest.raises(ConfigurationError):
        new_concepts(wrong)  # type: ignore[arg-type]


def test_keys_that_are_not_read_are_named() -> None:
    with pytest.warns(UserWarning, match="parnets"):
        Taxonomy.from_records([{"label": "a"}, {"label": "b", "parnets": ["a"]}])
    with pytest.warns(UserWarning, match="'synonym'"):
        new_concepts([{"label": "tea", "synonym": ["chai"]}])


def test_both_keys_of_parents_count() -> None:
    rows = [{"label": "a"}, {"label": "b"}, {"label": "c", "parents": ["a"], "parent": "b"}]
    assert Taxonomy.from_records(rows).parents("c") == ("a", "b")


def test_records_of_one_concept_are_joined() -> None:
    rows = [
        {"label": "tea", "synonyms": ["chai", "cha"]},
        {"label": "tea", "synonyms": "cha|herb tea", "definition": "an infusion"},
    ]
    expected = Concept("tea", "tea", ("chai", "cha", "herb tea"), "an infusion")
    assert list(Taxonomy.from_records(rows).concepts) == [expected]
    with pytest.raises(TaxonomyError, match=r"record 3.*definition"):
        Taxonomy.from_records([*rows, {"label": "tea", "definition": "a plant"}])


def test_an_unclear_deprecation_is_refused() -> None:
    rows = [{"label": value, "deprecated": value} for value in ("no", "True", "0.0", "1")]
    assert Taxonomy.from_records(rows).deprecated == {1, 3}
    with pytest.raises(ConfigurationError, match=r"record 1.*maybe"):
        Taxonomy.from_records([{"label": "a", "deprecated": "maybe"}])


def test_whole_numbers_and_arrays_of_a_data_frame_are_ids() -> None:
    frame = pd.DataFrame({"id": [1, 2], "label": ["a", "b"], "parents": [np.nan, 1]})
    assert list(Taxonomy.from_pandas(frame).relations) == [("1", "2")]
    frame["parents"] = [np.array([]), np.array([1.0])]
    assert list(Taxonomy.from_pandas(frame).relations) == [("1", "2")]
    with pytest.raises(ConfigurationError, match="data frame"):
        Taxonomy.from_pandas(frame["label"])


@pytest.mark.parametrize("concept", [Concept("1", None), Concept("1", "a", "syn")])  # type: ignore[arg-type]
def test_a_concept_with_other_types_is_refused(concept: Concept) -> None:
    with pytest.raises(ConfigurationError, match="text"):
        new_concepts([concept])


def test_a_taxonomy_is_not_a_list_of_new_concepts() -> None:
    with pytest.raises(ConfigurationError, match="taxonomy"):
        new_concepts(Taxonomy([Concept("1", "tea")]))
