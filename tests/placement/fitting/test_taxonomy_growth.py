from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter
from random_growth import grown

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.placement.fitting.taxonomy_growth import NO_GROWTH, RETRAINING_SHARE, TaxonomyGrowth
from taxoexpan.placement.fitting.updating import growth_between
from taxoexpan.taxonomy.difference import Difference
from taxoexpan.taxonomy.version_rows import VersionRows


def between(old: Taxonomy, new: Taxonomy) -> TaxonomyGrowth:
    return growth_between(VersionRows.match(old, new))


@pytest.mark.parametrize("seed", range(3))
def test_the_growth_is_the_difference_of_the_versions(model: TaxoExpan, seed: int) -> None:
    old = model.taxonomy
    new = grown(old, seed)
    growth, difference = between(old, new), Difference(old, new)
    assert growth.added == {concept.id for concept in difference.added}
    assert growth.removed == {concept.id for concept in difference.removed}
    assert growth.changed == {change.new.id for change in difference.changed}
    assert growth.relations_added == set(difference.relations_added)
    assert growth.relations_removed == set(difference.relations_removed)


@pytest.mark.parametrize("seed", range(3))
def test_two_updates_add_up_to_the_difference_since_the_training(
    model: TaxoExpan, seed: int
) -> None:
    first = model.taxonomy
    second = grown(first, seed)
    third = grown(second, 100 + seed)
    total = between(first, second).followed_by(between(second, third))
    direct = between(first, third)
    assert total.added == direct.added
    assert total.removed == direct.removed
    assert total.relations_added == direct.relations_added
    assert total.relations_removed == direct.relations_removed
    assert direct.changed <= total.changed  # a change that was taken back still counts


def test_what_comes_and_goes_again_leaves_no_trace(model: TaxoExpan) -> None:
    smaller = model.taxonomy.without(["oat milk"])
    there, back = between(smaller, model.taxonomy), between(model.taxonomy, smaller)
    assert not there.followed_by(back)
    returned = back.followed_by(there)
    assert returned == TaxonomyGrowth(changed=frozenset({"oat milk"}))


def test_training_is_advised_from_a_share_of_added_concepts_on() -> None:
    added = frozenset(f"c{i}" for i in range(round(1000 * RETRAINING_SHARE)))
    assert TaxonomyGrowth(added=added).is_training_advised(1000)
    assert not TaxonomyGrowth(added=added).is_training_advised(1001)
    assert not NO_GROWTH.is_training_advised(0)


def test_it_survives_json_and_describes_itself() -> None:
    growth = TaxonomyGrowth(
        frozenset("ab"), frozenset("c"), frozenset("d"), frozenset({("x", "a")}), frozenset()
    )
    assert TypeAdapter(TaxonomyGrowth).validate_json(json.dumps(growth.as_dict())) == growth
    text = (
        "2 concepts added (2.0\N{NO-BREAK SPACE}%), 1 removed, 1 changed (1.0\N{NO-BREAK SPACE}%)"
    )
    assert growth.sentence(100) == f"{text}; 1 relation added, 0 removed"
    assert growth.figures(100, 50)["relations_added_share"] == 0.02
