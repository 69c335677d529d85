from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan import read_taxonomy
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.static import StaticEncoder
from taxoexpan.placement.learned.duplicates import (
    DuplicateDetector,
    Embed,
    distinct_names,
    letter_similarity,
)
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.thresholds import MIN_FOR_DUPLICATES

FOOD = Path(str(resources.files("taxoexpan").joinpath("data/food.csv")))


def name_vectors(encoder: Encoder) -> Embed:
    """Return a function that embeds the names and definitions of concepts."""
    return lambda concepts: embed_concepts(encoder, concepts)[0]


@pytest.fixture(scope="module")
def food() -> tuple[Taxonomy, list[tuple[int, Concept]]]:
    """The foods, where one synonym of every third concept was made a new concept."""
    whole = read_taxonomy(FOOD)
    several = [i for i, c in enumerate(whole.concepts) if len(distinct_names(c)) > 1][::3]
    concepts, taken = list(whole.concepts), []
    for index in several:
        concept = concepts[index]
        *rest, last = concept.synonyms
        concepts[index] = replace(concept, synonyms=tuple(rest))
        taken.append((index, Concept("", last, definition=concept.definition)))
    return Taxonomy(concepts, whole.relations), taken


def test_taken_synonyms_are_found_and_get_higher_odds_than_new_concepts(
    food: tuple[Taxonomy, list[tuple[int, Concept]]],
) -> None:
    taxonomy, taken = food
    smaller = taxonomy.without(taxonomy.leaves[::5])
    embed = name_vectors(StaticEncoder())
    detector = DuplicateDetector.learn(smaller, embed(list(smaller.concepts)), embed)
    assert detector is not None
    asked = [(taxonomy.ids[i], c) for i, c in taken if taxonomy.ids[i] in smaller]
    found = detector.candidates([c for _, c in asked], embed([c for _, c in asked]))
    right = np.array(
        [smaller.ids[i] == id for i, (id, _) in zip(found.indices, asked, strict=True)]
    )
    # Names alone are weak evidence: nobody could guess that a marrow is a courgette.
    assert np.mean(right) > 0.35
    known = {normalize_name(name) for c in smaller.concepts for name in distinct_names(c)}
    leaves = [taxonomy.concept(id) for id in taxonomy.leaves[::5]]
    new = [leaf for leaf in leaves if normalize_name(leaf.label) not in known]
    others = detector.candidates(new, embed(new)).log_odds
    assert np.mean(found.log_odds[right][:, None] > others) > 0.75


def test_the_same_seed_learns_the_same(food: tuple[Taxonomy, list[tuple[int, Concept]]]) -> None:
    taxonomy, _ = food
    embed = name_vectors(StaticEncoder())
    vectors = embed(list(taxonomy.concepts))
    one, same, other = (
        DuplicateDetector.learn(taxonomy, vectors, embed, seed) for seed in (1, 1, 2)
    )
    assert one is not None
    assert same is not None
    assert other is not None
    assert np.array_equal(one.weights, same.weights)
    assert not np.array_equal(one.weights, other.weights)


def test_nothing_is_learned_from_few_synonyms() -> None:
    concepts = [
        Concept(
            str(i), f"thing {i}", synonyms=(f"gadget {i}",) if i < MIN_FOR_DUPLICATES - 1 else ()
        )
        for i in range(50)
    ]
    taxonomy = Taxonomy(concepts, [("0", str(i)) for i in range(1, 50)])
    embed = name_vectors(StaticEncoder())
    assert DuplicateDetector.learn(taxonomy, embed(concepts), embed) is None


@given(st.text(max_size=12), st.text(max_size=12))
def test_letter_similarity_is_symmetric_and_1_for_equal_names(one: str, other: str) -> None:
    assert 0 <= letter_similarity(one, other) <= 1
    assert letter_similarity(one, other) == letter_similarity(other, one)
    assert (
        letter_similarity(
            one, one.upper() if normalize_name(one.upper()) == normalize_name(one) else one
        )
        == 1
    )


def test_letter_similarity_of_two_spellings() -> None:
    # "  payor ": __p _pa pay ayo yor or_; of six each, __p _pa pay are in both.
    assert letter_similarity("payor", "Payer") == pytest.approx(3 / 6)
    assert letter_similarity("payor", "gasket") == 0


def test_distinct_names_differ_in_more_than_case_and_hyphens() -> None:
    assert distinct_names(Concept("1", "Red Wine", synonyms=("red-wine", "vino"))) == (
        "Red Wine",
        "vino",
    )
