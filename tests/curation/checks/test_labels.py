from __future__ import annotations

import pytest
from labeled_taxonomies import REMEDY, build, siblings

from taxoexpan.curation.checks import Finding
from taxoexpan.curation.checks.all_checks import check_taxonomy
from taxoexpan.taxonomy import Concept, Taxonomy


def codes(taxonomy: Taxonomy) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in check_taxonomy(taxonomy)]


def test_a_label_of_several_concepts_is_an_info() -> None:
    taxonomy = build({"a": "food", "b": "tool", "c": "date", "d": " date"}, "ac", "bd")
    message = "'date' is the label of 2 concepts (also: c)"
    assert check_taxonomy(taxonomy) == [Finding("repeated-label", "info", "d", message)]


def test_a_label_of_several_siblings_is_a_warning() -> None:
    labels = {"a": "food", "b": "tool", "c": "date", "d": "date"}
    taxonomy = build(labels, "ab", "ac", "ad")
    message = (
        "'date' is the label of 2 children of 'food' (a); merge them or give them different "
        "labels (also: c)"
    )
    assert check_taxonomy(taxonomy) == [Finding("repeated-sibling", "warning", "d", message)]


def test_siblings_with_the_same_label_are_reported_even_if_others_have_it_too() -> None:
    labels = {"a": "food", "b": "fruit", "c": "date", "d": "date", "e": "date"}
    found = check_taxonomy(build(labels, "ab", "ac", "bd", "be"))
    assert [(f.code, f.place) for f in found] == [
        ("repeated-sibling", "e"),
        ("repeated-label", "e"),
    ]


def test_siblings_with_two_common_parents_are_reported_once() -> None:
    labels = {"r": "all", "a": "food", "b": "gift", "c": "date", "d": "date"}
    taxonomy = build(labels, "ra", "rb", "ac", "ad", "bc", "bd")
    assert codes(taxonomy) == [("repeated-sibling", "warning")]


def test_roots_with_the_same_label_are_not_siblings() -> None:
    taxonomy = build({"a": "food", "b": "food", "c": "fig", "d": "date"}, "ac", "bd")
    assert codes(taxonomy) == [("repeated-label", "info")]


def test_only_some_of_many_concepts_with_the_same_label_are_listed() -> None:
    assert check_taxonomy(siblings(*"xxxxxxxx"))[0].message.endswith("(also: a, b, c, d, e, …)")


def test_blank_labels_are_not_the_same_name() -> None:
    assert check_taxonomy(siblings("", "", " ")) == []
    assert check_taxonomy(siblings("-", "_", "--")) == []


def test_a_deprecated_concept_may_have_the_label_of_another() -> None:
    concepts = [Concept("r", "food"), Concept("a", "fig"), Concept("b", "fig", deprecated=True)]
    assert check_taxonomy(Taxonomy(concepts, [("r", "a"), ("r", "b")])) == []


def named(*relations: str, **synonyms: str) -> Taxonomy:
    labels = {"r": "food", "s": "drink", "a": "soda", "b": "pop", "c": "cola"}
    concepts = [
        Concept(id, label, tuple(synonyms[id].split("|")) if id in synonyms else ())
        for id, label in labels.items()
    ]
    return Taxonomy(concepts, [(pair[0], pair[1]) for pair in relations])


def test_a_label_that_is_a_synonym_elsewhere_is_an_info() -> None:
    found = check_taxonomy(named("rs", "ra", "sb", "bc", b="Soda|fizz"))
    message = "the synonym 'Soda' of 'pop' is also the label of 'soda' (a)"
    assert found == [Finding("label-is-synonym", "info", "b", message)]
    found = check_taxonomy(named("rs", "ra", "sb", "bc", a="Pop"))
    message = "'pop' is also a synonym of 'soda' (a)"
    assert found == [Finding("label-is-synonym", "info", "b", message)]


@pytest.mark.parametrize(
    ("relations", "relation"),
    [
        (("rs", "ra", "rb", "bc"), "'soda' (a), and both are children of 'food' (r)"),
        (("rs", "ra", "ab", "bc"), "'soda' (a), which is its parent"),
        (("rs", "ba", "rb", "bc"), "'soda' (a), which is its child"),
    ],
)
def test_a_label_that_is_a_synonym_of_a_neighbor_is_a_warning(
    relations: tuple[str, ...], relation: str
) -> None:
    for synonyms in ({"b": "soda"}, {"a": "pop"}):
        (finding,) = check_taxonomy(named(*relations, **synonyms))
        found = (finding.code, finding.severity, finding.place)
        assert found == ("label-is-synonym", "warning", "b")
        assert f"{relation}; {REMEDY}, or remove the synonym" in finding.message


def test_a_label_that_is_a_synonym_of_several_concepts_is_reported_once() -> None:
    (finding,) = check_taxonomy(named("rs", "ra", "sb", "sc", b="soda", c="soda|SODA"))
    message = "the synonym 'soda' of 'cola' is also the label of 'soda' (a)"
    assert finding.message == f"{message} (and a synonym of 1 more)"


def test_a_concept_may_have_its_own_label_as_a_synonym() -> None:
    assert check_taxonomy(named("rs", "ra", "rb", "bc", a="Soda")) == []
