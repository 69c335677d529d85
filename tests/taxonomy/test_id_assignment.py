from __future__ import annotations

import pytest
from hypothesis import given

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy
from taxoexpan.taxonomy.id_assignment import PROVISIONAL, final_ids, with_ids
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy, IdTemplate
from tests.support.strategies import Growth, growths, quickly

NUMBERED = Taxonomy([Concept(f"F:{number:04}", f"food {number}") for number in range(1, 21)])
CODED = Taxonomy(
    [Concept("hg", "home"), *(Concept(f"hg-{n}", f"thing {n}") for n in range(1, 7))],
    [("hg", f"hg-{n}") for n in range(1, 7)],
)


def made(taxonomy: Taxonomy, policy: IdPolicy, *labels: str) -> list[str]:
    concepts = [Concept("", label) for label in labels]
    return [concept.id for concept in with_ids(taxonomy, concepts, policy)]


def resolve_ids(
    taxonomy: Taxonomy, additions: Additions, policy: IdPolicy = DEFAULT_IDS
) -> tuple[Additions, dict[str, str]]:
    """The additions with their final ids, and these by the provisional ones."""
    new = final_ids(taxonomy, additions.concepts, additions.relations, policy)
    return additions.with_ids(new), new


def placed(policy: IdPolicy, *relations: tuple[str, str]) -> list[tuple[str, str]]:
    """Relations of new concepts, by label, with their final ids."""
    concepts = with_ids(CODED, [Concept("", child) for _, child in relations], policy)
    ids = {concept.label: concept.id for concept in concepts}
    pairs = [(ids.get(parent, parent), ids[child]) for parent, child in relations]
    additions, _ = resolve_ids(CODED, Additions(concepts, pairs), policy)
    CODED.expanded(additions)
    return list(additions.relations)


def test_numbers_come_from_a_range() -> None:
    assert made(NUMBERED, IdPolicy(first=500), "kiwi", "fig") == ["F:0500", "F:0501"]
    assert made(NUMBERED, IdPolicy(first=19, last=40), "kiwi") == ["F:0021"]
    assert made(NUMBERED, IdPolicy(first=0, last=40), "kiwi", "fig") == ["F:0000", "F:0021"]
    assert made(CODED, IdPolicy(first=500), "kiwi") == ["hg-500"]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (IdPolicy(first=19, last=21), "numbers from 19 to 21: 1; give a larger"),
        (IdPolicy(first=19, last=22), "numbers from 19 to 22: 2; give a larger"),
        (IdPolicy(first=3, last=9), "numbers from 3 to 9: 0; give a larger"),
        (IdPolicy(IdTemplate("F:{number:04}"), last=22), "numbers up to 22: 2"),
    ],
)
def test_a_range_that_is_too_small_is_an_error(policy: IdPolicy, message: str) -> None:
    with pytest.raises(TaxonomyError, match=f"^new ids needed: 3; .*{message}"):
        made(NUMBERED, policy, "kiwi", "fig", "date")


def test_a_range_below_a_parent_that_is_too_small_is_an_error() -> None:
    policy = IdPolicy(IdTemplate("{parent}-{number}"), first=7, last=7)
    assert placed(policy, ("hg", "kiwi"), ("hg-2", "fig")) == [("hg", "hg-7"), ("hg-2", "hg-2-7")]
    with pytest.raises(TaxonomyError, match="no id is free below 'hg' for 'fig'"):
        placed(policy, ("hg", "kiwi"), ("hg", "fig"))


def test_a_range_needs_numbered_ids() -> None:
    named = Taxonomy([Concept("fruit", "Fruit"), Concept("fig", "Fig")])
    with pytest.raises(ConfigurationError, match="give a template"):
        made(named, IdPolicy(first=5), "kiwi")
    template = IdPolicy(IdTemplate("N{number:03}"), first=5)
    assert made(named, template, "kiwi") == ["N005"]


def test_a_template_continues_its_own_numbers() -> None:
    assert made(NUMBERED, IdPolicy(IdTemplate("F:{number:04}")), "kiwi") == ["F:0021"]
    assert made(NUMBERED, IdPolicy(IdTemplate("G:{number:04}")), "kiwi") == ["G:0001"]


def test_a_slug_that_is_used_gets_a_number() -> None:
    policy = IdPolicy(IdTemplate("x/{slug}"))
    assert made(NUMBERED, policy, "Red Kiwi", "red-kiwi") == ["x/red-kiwi", "x/red-kiwi-2"]


def test_given_ids_are_kept() -> None:
    concepts = with_ids(CODED, [Concept("own", "kiwi")], IdPolicy(IdTemplate("x{number}")))
    additions = Additions(concepts, [("hg", "own")])
    assert resolve_ids(CODED, additions) == (additions, {})


def test_hierarchical_codes_wait_for_the_parent() -> None:
    (kiwi,) = with_ids(CODED, [Concept("", "Kiwi")])
    assert kiwi.id == f"{PROVISIONAL}kiwi"
    assert placed(IdPolicy(), ("hg", "kiwi"), ("hg-2", "fig"), ("hg-2", "date")) == [
        ("hg", "hg-7"),
        ("hg-2", "hg-2-1"),
        ("hg-2", "hg-2-2"),
    ]


def test_a_new_parent_gets_its_code_first() -> None:
    relations = placed(IdPolicy(), ("exotic", "kiwi"), ("hg", "exotic"))
    assert relations == [("hg-7", "hg-7-1"), ("hg", "hg-7")]


def test_the_first_of_several_parents_counts() -> None:
    (kiwi,) = with_ids(CODED, [Concept("", "kiwi")])
    additions = Additions([kiwi], [("hg-2", kiwi.id), ("hg", kiwi.id)])
    resolved, new = resolve_ids(CODED, additions)
    assert new == {kiwi.id: "hg-2-1"}
    assert list(resolved.relations) == [("hg-2", "hg-2-1"), ("hg", "hg-2-1")]


def test_moves_follow_the_new_ids() -> None:
    (kiwi,) = with_ids(CODED, [Concept("", "kiwi")])
    moves = [Move("hg-1", "hg", kiwi.id)]
    resolved, _ = resolve_ids(CODED, Additions([kiwi], [("hg", kiwi.id)], moves=moves))
    assert list(resolved.moves) == [Move("hg-1", "hg", "hg-7")]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(IdPolicy(), "F:0022"), (IdPolicy(IdTemplate("G{number}")), "G1")],
)
def test_provisional_ids_of_another_policy_are_replaced(policy: IdPolicy, expected: str) -> None:
    by_parent = IdPolicy(IdTemplate("{parent}-{number}"))
    kiwi, fig = with_ids(NUMBERED, [Concept("", "kiwi"), Concept("F:0021", "fig")], by_parent)
    assert kiwi.id == "new:kiwi"
    additions = Additions([kiwi, fig], [("F:0001", kiwi.id), (kiwi.id, fig.id)])
    resolved, new = resolve_ids(NUMBERED, additions, policy)
    assert new == {"new:kiwi": expected}
    assert list(resolved.relations) == [("F:0001", expected), (expected, "F:0021")]


def test_a_file_may_use_the_prefix_of_provisional_ids() -> None:
    taxonomy = Taxonomy([Concept(f"new:{number}", str(number)) for number in range(3)])
    additions = Additions([Concept("new:3", "three")], [("new:0", "new:3")])
    assert resolve_ids(taxonomy, additions) == (additions, {})


def test_a_template_may_use_the_parent() -> None:
    policy = IdPolicy(IdTemplate("{parent}.{number:02}"), first=50)
    assert placed(policy, ("hg", "kiwi"), ("hg", "fig"), ("hg-2", "date")) == [
        ("hg", "hg.50"),
        ("hg", "hg.51"),
        ("hg-2", "hg-2.50"),
    ]


def test_a_template_with_a_parent_may_use_the_label() -> None:
    policy = IdPolicy(IdTemplate("{parent}/{slug}"))
    relations = ("hg", "Red Kiwi"), ("hg", "red kiwi"), ("hg-2", "fig")
    ids = [child for _, child in placed(policy, *relations)]
    assert ids == ["hg/red-kiwi", "hg/red-kiwi-2", "hg-2/fig"]


def test_numbers_below_a_parent_continue_those_of_the_siblings_with_other_labels() -> None:
    policy = IdPolicy(IdTemplate("{parent}-{slug}-{number}"))
    ids = [child for _, child in placed(policy, ("hg", "kiwi"), ("hg", "fig"), ("hg-2", "date"))]
    assert ids == ["hg-kiwi-1", "hg-fig-2", "hg-2-date-1"]


def test_labels_that_look_like_codes_are_still_labels() -> None:
    codes = Taxonomy([Concept(c.id, c.id) for c in CODED.concepts], CODED.relations)
    assert made(codes, IdPolicy(), "kiwi") == ["kiwi"]


@quickly
@given(growths())
def test_new_ids_never_clash(growth: Growth) -> None:
    taxonomy, additions = growth.old, growth.additions
    unnamed = [Concept("", concept.label) for concept in additions.concepts]
    for policy in (IdPolicy(), IdPolicy(IdTemplate("{parent}-{number}"))):
        concepts = with_ids(taxonomy, unnamed, policy)
        pairs = [(taxonomy.ids[0], concept.id) for concept in concepts]
        resolved, _ = resolve_ids(taxonomy, Additions(concepts, pairs), policy)
        ids = [concept.id for concept in resolved.concepts]
        assert len({*ids}) == len(ids)
        assert not {*ids} & {*taxonomy, *taxonomy.reserved}
